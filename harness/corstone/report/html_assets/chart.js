"use strict";
// Charts: SVG with axes in their units, drawn to the width there is, read by mouse, touch and arrow keys.
var Chart = (function () {
  var NS = "http://www.w3.org/2000/svg", tip = null;
  function el(tag, attrs, text) {
    var e = document.createElementNS(NS, tag);
    for (var k in attrs || {}) e.setAttribute(k, attrs[k]);
    if (text !== undefined) e.textContent = text;
    return e;
  }
  function num(v) {
    if (v === null || v === undefined) return "none";
    if (typeof v !== "number") return String(v);
    if (v === 0) return "0";
    var a = Math.abs(v);
    return a >= 1e6 || a < 1e-4 ? v.toExponential(2) : String(+v.toPrecision(a >= 1000 ? 6 : 4));
  }
  function ticks(lo, hi, wanted) {
    var raw = (hi - lo) / wanted || 1, p = Math.pow(10, Math.floor(Math.log10(raw))), r = raw / p;
    var step = (r > 7.07 ? 10 : r > 3.16 ? 5 : r > 1.41 ? 2 : 1) * p, out = [];
    for (var t = Math.ceil(lo / step - 1e-9) * step; t <= hi + step * 1e-9; t += step) out.push(Math.abs(t) < step * 1e-9 ? 0 : t);
    return out;
  }
  function tickText(v, list) {
    var step = list.length > 1 ? Math.abs(list[1] - list[0]) : Math.abs(v) || 1;
    if (Math.abs(v) >= 1e6) return v.toExponential(1);
    var d = Math.max(0, Math.min(8, -Math.floor(Math.log10(step) + 1e-9)));
    return v.toFixed(d).replace("-", "−");
  }
  // Symmetric logarithm: linear within one unit, a decade as wide as the next beyond.
  function symlog(v) { return v < 0 ? -Math.log10(1 - v) : Math.log10(1 + v); }
  function logTicks(limit) {
    var out = [0];
    for (var t = 1; t <= limit * 1.0001; t *= 10) { out.push(t); out.push(-t); }
    return out;
  }
  function reach(lists, keep) {
    var lo = Infinity, hi = -Infinity;
    lists.forEach(function (l) {
      (l || []).forEach(function (v) { if (v !== null) { if (v < lo) lo = v; if (v > hi) hi = v; } });
    });
    if (lo > hi) { lo = 0; hi = 1; }
    if (keep) { lo = Math.min(lo, keep[0]); hi = Math.max(hi, keep[1]); }
    if (lo === hi) { var pad = Math.abs(lo) * 0.1 || 1; lo -= pad; hi += pad; }
    return [lo, hi];
  }
  function line(x, y, px, py) {
    var d = "", pen = "M";
    for (var i = 0; i < y.length; i++) {
      if (y[i] === null || x[i] === null) { pen = "M"; continue; }
      d += pen + px(x[i]).toFixed(1) + " " + py(y[i]).toFixed(1);
      pen = "L";
    }
    return d;
  }
  // From the smallest to the largest value of each bucket, run by run where there are values.
  function band(x, lo, hi, px, py) {
    var d = "", run = [];
    function close() {
      if (!run.length) return;
      d += "M" + run.map(function (i) { return px(x[i]).toFixed(1) + " " + py(hi[i]).toFixed(1); }).join("L");
      d += "L" + run.slice().reverse().map(function (i) { return px(x[i]).toFixed(1) + " " + py(lo[i]).toFixed(1); }).join("L") + "Z";
      run = [];
    }
    for (var i = 0; i < x.length; i++) { if (lo[i] === null || hi[i] === null) close(); else run.push(i); }
    close();
    return d;
  }
  function step(x, allowed, px, py, sign) {
    var d = "";
    for (var i = 0; i < x.length; i++) {
      var a = i ? (x[i - 1] + x[i]) / 2 : x[i], b = i + 1 < x.length ? (x[i] + x[i + 1]) / 2 : x[i], v = py(sign * allowed[i]).toFixed(1);
      d += (i ? "L" : "M") + px(a).toFixed(1) + " " + v + "L" + px(b).toFixed(1) + " " + v;
    }
    return d;
  }
  // spec: label, x, xLabel, yLabel, height, log, zero, allowed, series [{name, cls, lo, hi, dots}], over, tell(i)
  function draw(svg, spec) {
    var W = Math.max(260, svg.clientWidth || svg.parentNode.clientWidth || 600), H = spec.height, L = 62, R = 12, T = 10, B = 40;
    var rx = reach([spec.x]), lists = [], pad = (rx[1] - rx[0]) * 0.012;
    rx = [rx[0] - pad, rx[1] + pad];
    spec.series.forEach(function (s) { lists.push(s.lo, s.hi); });
    var ry = reach(lists, spec.zero ? [0, 0] : null), margin = (ry[1] - ry[0]) * 0.07;
    if (spec.allowed) {
      var most = Math.max.apply(null, spec.allowed), size = Math.max(Math.abs(ry[0]), Math.abs(ry[1]));
      if (spec.log || most <= 3 * size) ry = [Math.min(ry[0], -most), Math.max(ry[1], most)];
    }
    ry = [ry[0] - margin, ry[1] + margin];
    var f = spec.log ? symlog : function (v) { return v; }, y0 = f(ry[0]), y1 = f(ry[1]);
    function px(v) { return L + (v - rx[0]) / (rx[1] - rx[0]) * (W - L - R); }
    function py(v) { return T + (y1 - Math.max(y0, Math.min(y1, f(v)))) / (y1 - y0) * (H - T - B); }
    svg.replaceChildren();
    svg.setAttribute("viewBox", "0 0 " + W + " " + H);
    svg.setAttribute("height", H);
    var tx = ticks(rx[0], rx[1], Math.max(2, Math.min(10, W / 90)));
    var ty = spec.log ? logTicks(Math.max(-ry[0], ry[1])).filter(function (t) { return t >= ry[0] && t <= ry[1]; }) : ticks(ry[0], ry[1], Math.max(2, H / 48));
    if (spec.allowed) {
      var up = step(spec.x, spec.allowed, px, py, 1), down = step(spec.x.slice().reverse(), spec.allowed.slice().reverse(), px, py, -1);
      svg.appendChild(el("path", { d: up + "L" + down.slice(1) + "Z", "class": "budget" }));
    }
    tx.forEach(function (t) {
      svg.appendChild(el("line", { x1: px(t), x2: px(t), y1: T, y2: H - B, "class": "grid" }));
      svg.appendChild(el("text", { x: px(t), y: H - B + 15, "text-anchor": "middle" }, tickText(t, tx)));
    });
    var labelled = Infinity;
    ty.forEach(function (t) {
      svg.appendChild(el("line", { x1: L, x2: W - R, y1: py(t), y2: py(t), "class": "grid" }));
      if (Math.abs(labelled - py(t)) < 12 && t !== 0) return;
      labelled = py(t);
      svg.appendChild(el("text", { x: L - 6, y: py(t) + 4, "text-anchor": "end" }, spec.log ? num(t).replace("-", "−") : tickText(t, ty)));
    });
    svg.appendChild(el("path", { d: "M" + L + " " + T + "V" + (H - B) + "H" + (W - R), "class": "axis", fill: "none" }));
    if (ry[0] < 0 && ry[1] > 0) svg.appendChild(el("line", { x1: L, x2: W - R, y1: py(0), y2: py(0), "class": "zero" }));
    if (spec.allowed) [1, -1].forEach(function (s) { svg.appendChild(el("path", { d: step(spec.x, spec.allowed, px, py, s), "class": "budget-edge" })); });
    svg.appendChild(el("text", { x: (L + W - R) / 2, y: H - 6, "text-anchor": "middle", "class": "label" }, spec.xLabel));
    svg.appendChild(el("text", { transform: "translate(13 " + (T + H - B) / 2 + ") rotate(-90)", "text-anchor": "middle", "class": "label" }, spec.yLabel));
    spec.series.forEach(function (s) {
      if (s.hi) svg.appendChild(el("path", { d: band(spec.x, s.lo, s.hi, px, py), "class": s.cls + " fill" }));
      else svg.appendChild(el("path", { d: line(spec.x, s.lo, px, py), "class": s.cls }));
      if (s.dots) s.lo.forEach(function (v, i) { if (v !== null) svg.appendChild(el("circle", { cx: px(spec.x[i]), cy: py(v), r: 2.6, "class": "dot" })); });
    });
    // Over budget: a cross, so that it is seen without colour.
    (spec.over || []).forEach(function (o) {
      var x = px(spec.x[o[0]]), y = py(o[1]);
      svg.appendChild(el("path", { d: "M" + (x - 4) + " " + (y - 4) + "l8 8m0 -8l-8 8", "class": "over" }));
    });
    var cross = el("line", { y1: T, y2: H - B, "class": "cross", visibility: "hidden" });
    svg.appendChild(cross);
    return { px: px, cross: cross, W: W, L: L, R: R };
  }
  function nearest(x, v) {
    var best = 0;
    for (var i = 1; i < x.length; i++) if (Math.abs(x[i] - v) < Math.abs(x[best] - v)) best = i;
    return best;
  }
  function make(spec) {
    var svg = el("svg", { "class": "chart", role: "img", tabindex: "0", "aria-label": spec.label, height: spec.height }), at = -1, place = null;
    function show(i) {
      at = Math.max(0, Math.min(spec.x.length - 1, i));
      var box = svg.getBoundingClientRect(), x = place.px(spec.x[at]);
      place.cross.setAttribute("x1", x);
      place.cross.setAttribute("x2", x);
      place.cross.setAttribute("visibility", "visible");
      tip = tip || document.getElementById("tip");
      tip.replaceChildren();
      spec.tell(at).forEach(function (pair) {
        var row = document.createElement("span"), b = document.createElement("b");
        row.appendChild(document.createTextNode(pair[0]));
        b.textContent = pair[1];
        row.appendChild(b);
        tip.appendChild(row);
      });
      tip.hidden = false;
      var sx = box.left + x * box.width / place.W, w = tip.offsetWidth;
      tip.style.left = (sx + 14 + w > innerWidth ? Math.max(4, sx - 14 - w) : sx + 14) + "px";
      tip.style.top = Math.max(4, Math.min(innerHeight - tip.offsetHeight - 4, box.top + 14)) + "px";
    }
    function hide() { if (place) place.cross.setAttribute("visibility", "hidden"); if (tip) tip.hidden = true; }
    svg.addEventListener("pointermove", function (e) {
      var box = svg.getBoundingClientRect(), p = (e.clientX - box.left) * place.W / box.width;
      var lo = place.px(spec.x[0]), hi = place.px(spec.x[spec.x.length - 1]), x0 = spec.x[0], x1 = spec.x[spec.x.length - 1];
      show(nearest(spec.x, x0 + (p - lo) / (hi - lo || 1) * (x1 - x0)));
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", function (e) {
      var jump = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 }[e.key];
      if (e.key === "Escape") hide();
      if (jump === undefined) return;
      e.preventDefault();
      e.stopPropagation();
      show((at < 0 ? (spec.x.length >> 1) : at) + jump);
    });
    function redraw() { if (svg.isConnected) { hide(); place = draw(svg, spec); } }
    new ResizeObserver(redraw).observe(svg);
    return { svg: svg, redraw: redraw };
  }
  return { make: make, num: num };
})();
