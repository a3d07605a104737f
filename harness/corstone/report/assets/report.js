"use strict";
// Opens a case: unpacks what lies behind it and shows it, everything as text.
(function () {
  var dialog = document.getElementById("case"), body = document.getElementById("case-body"), lines = null, at = -1;
  function el(tag, text, cls) {
    var e = document.createElement(tag);
    if (text !== undefined && text !== null) e.textContent = text;
    if (cls) e.className = cls;
    return e;
  }
  function add(tag, text, cls) { var e = el(tag, text, cls); body.appendChild(e); return e; }
  function chips(pairs) {
    if (!pairs.length) return;
    var p = add("p", null, "chips");
    pairs.forEach(function (pair) { var s = el("span", pair[0] + " "); s.appendChild(el("b", pair[1])); p.appendChild(s); });
  }
  function log(title, text, open) {
    if (!text) return;
    var d = el("details"), pre = el("pre", text);
    d.open = !!open;
    pre.tabIndex = 0;
    pre.setAttribute("aria-label", title);
    d.appendChild(el("summary", title));
    d.appendChild(pre);
    body.appendChild(d);
  }
  function table(head, rows) {
    if (!rows.length) return;
    var box = el("div", null, "scroll"), t = el("table"), h = el("thead"), b = el("tbody"), r = el("tr");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", head[0]);
    head.forEach(function (x) { var c = el("th", x); c.scope = "col"; r.appendChild(c); });
    h.appendChild(r);
    rows.forEach(function (row) { var tr = el("tr"); row.forEach(function (x) { tr.appendChild(el("td", x)); }); b.appendChild(tr); });
    t.appendChild(h);
    t.appendChild(b);
    box.appendChild(t);
    body.appendChild(box);
  }
  function range(values) {
    var known = values.filter(function (v) { return v !== null; });
    return known.length ? [Math.min.apply(null, known), Math.max.apply(null, known)] : [0, 1];
  }
  function plot(label, x, series) {
    var ns = "http://www.w3.org/2000/svg", svg = document.createElementNS(ns, "svg"), all = [];
    series.forEach(function (s) { all = all.concat(s.values); });
    if (series[0].zero) all.push(0);
    var rx = range(x), ry = range(all), wx = rx[1] - rx[0] || 1, wy = ry[1] - ry[0] || 1;
    function px(v) { return ((v - rx[0]) / wx * 1000).toFixed(1); }
    function py(v) { return (190 - (v - ry[0]) / wy * 180).toFixed(1); }
    svg.setAttribute("viewBox", "0 0 1000 200");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("class", "plot");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
    series.forEach(function (s) {
      var d = "", pen = "M";
      s.values.forEach(function (v, i) {
        if (v === null) { pen = "M"; return; }
        if (s.zero) d += "M" + px(x[i]) + " " + py(0) + "V" + py(v);
        else { d += pen + px(x[i]) + " " + py(v); pen = "L"; }
      });
      var path = document.createElementNS(ns, "path");
      path.setAttribute("d", d);
      path.setAttribute("class", s.cls);
      svg.appendChild(path);
    });
    add("p", label, "soft");
    body.appendChild(svg);
  }
  function shown(v) { return v === null ? "none" : String(+v.toPrecision(4)); }
  function curve(c) {
    var x = range(c.x), y = range(c.device), e = range(c.error), over = c.by === "input" ? "input" : "element";
    plot("Curve over " + over + " " + shown(x[0]) + " to " + shown(x[1]) + ": device (thin) on float (thick), values " +
      shown(y[0]) + " to " + shown(y[1]), c.x, [{ values: c.float, cls: "float" }, { values: c.device, cls: "device" }]);
    plot("Error map: device minus float, " + shown(e[0]) + " to " + shown(e[1]) + " " + c.unit + ", worst of each of " +
      c.x.length + " buckets of " + c.count + " elements", c.x, [{ values: c.error, cls: "error", zero: true }]);
  }
  function show(d) {
    body.replaceChildren();
    var title = add("h2");
    title.id = "case-title";
    title.appendChild(el("bdi", d.id));
    var p = add("p");
    p.appendChild(el("span", d.state, "s " + d.tone));
    p.appendChild(document.createTextNode(" " + d.reason));
    chips(d.facts);
    d.records.forEach(function (r) {
      if (d.records.length > 1) add("h3", r.case);
      if (r.reason && r.reason !== d.reason) add("p", r.outcome + " (" + r.cause + "): " + r.reason);
      chips(r.facts);
      if (r.curve) curve(r.curve);
      if (r.repro) { add("h3", "Run it again"); var pre = add("pre", r.repro); pre.tabIndex = 0; pre.setAttribute("aria-label", "Repro command"); }
      table(["Reference", "Output", "Differing", "Worst LSB", "Budget LSB", "Share of budget", "Verdict"], r.comparisons);
      if (r.worst.length) add("h3", "Worst elements");
      table(["Index", "Input", "Expected", "Got", "LSB"], r.worst);
      r.notes.forEach(function (n) { add("p", "Note: " + n, "warn"); });
      add("h3", "Versions and counters");
      chips(r.versions);
      chips(r.counters);
      chips(r.seconds.map(function (s) { return [s[0], s[1] + " s"]; }));
      log("Transcript", r.console, d.tone === "bad");
    });
    d.attempts.forEach(function (a) {
      add("h3", "Attempt " + a.n + ": " + a.outcome);
      add("p", [a.reason, a.seconds + " s", a.worker].filter(Boolean).join(" · "), "soft");
      log("What failed", a.text, d.tone === "bad");
      log("Output", a.out, false);
      log("Error output", a.err, false);
    });
  }
  function open(i) {
    lines = lines || document.getElementById("details").textContent.trim().split("\n");
    if (!(i >= 0 && i < lines.length)) return;
    at = i;
    var bytes = Uint8Array.from(atob(lines[i]), function (c) { return c.charCodeAt(0); });
    new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).json().then(function (d) {
      show(d);
      if (!dialog.open) dialog.showModal();
      dialog.scrollTop = 0;
      dialog.dataset.shown = i;
    });
  }
  function step(by) {
    var rows = document.getElementById("cases").tBodies[0].rows, i = at + by;
    while (i >= 0 && i < rows.length && rows[i].hidden) i += by;
    if (i >= 0 && i < rows.length) open(i);
  }
  document.getElementById("cases").addEventListener("click", function (e) {
    var a = e.target.closest("a[data-case]");
    if (a) { e.preventDefault(); open(+a.dataset.case); }
  });
  document.getElementById("previous").addEventListener("click", function () { step(-1); });
  document.getElementById("next").addEventListener("click", function () { step(1); });
  dialog.addEventListener("close", function () {
    var a = document.querySelector('a[data-case="' + at + '"]');
    if (a) a.focus();
  });
  dialog.addEventListener("keydown", function (e) {
    if (e.target.closest("pre, .scroll")) return;
    if (e.key === "ArrowLeft") step(-1);
    if (e.key === "ArrowRight") step(1);
  });
  var wanted = new URLSearchParams(location.hash.slice(1)).get("case");
  if (wanted !== null) open(+wanted);
})();
