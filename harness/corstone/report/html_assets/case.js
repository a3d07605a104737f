"use strict";
// One case: what was decided and why, who executed it, curves, tables, transcript. Everything arrives as text.
var Case = (function () {
  var ICON = { PASSED: "✓", FAILED: "✗", CRASHED: "✸", TIMED_OUT: "◷", NO_OUTPUT: "∅", ERROR: "!", SKIPPED: "–",
    ABORTED: "†", NOT_RUN: "○", FLAKY: "≈", QUARANTINED: "⊘", XFAIL: "x", XPASS: "X" };
  // States of a test that are no failure; their evidence need not stand first.
  var CALM = ["PASSED", "SKIPPED", "FLAKY", "QUARANTINED", "XFAIL", "XPASS"];
  var num = Chart.num;
  function h(tag, cls, text) {
    var e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined && text !== null) e.textContent = text;
    return e;
  }
  function put(parent) { for (var i = 1; i < arguments.length; i++) if (arguments[i]) parent.appendChild(arguments[i]); return parent; }
  function word(v) { return v.replace("_", " "); }
  function name(row) { return row.name || [row.network, row.bits, row.policy].filter(Boolean).join(" ") || row.id; }
  // A test's id breaks at its joints; the file before the test stands back.
  function label(row) {
    var text = name(row), at = row.name ? text.split("[")[0].lastIndexOf("::") + 1 : 0, b = h("bdi");
    if (at > 0) put(b, joints(h("span", "path"), text.slice(0, at + 1)));
    return joints(b, text.slice(at > 0 ? at + 1 : 0));
  }
  function joints(parent, text) {
    text.split(/(?<=[_/:\-\]])(?=[^:])|(?=\[)/).forEach(function (part, i) {
      if (i) parent.appendChild(document.createElement("wbr"));
      parent.appendChild(document.createTextNode(part));
    });
    return parent;
  }
  function place(row, glue) { return [row.target, row.board].filter(Boolean).join(glue); }
  function pill(verdict, cause) { return h("span", "pill v-" + verdict, (ICON[verdict] || "?") + " " + word(verdict) + (cause && verdict !== "NOT_RUN" ? " · " + cause : "")); }
  function badge(row) {
    var text = row.by === "fvp" ? "ARM FVP" : row.by === "emulator" ? "EMULATOR" : row.by === "host" ? "NO BOARD" : "NOT EXECUTED";
    var b = h("span", "badge by-" + row.by, text);
    b.title = row.by === "emulator" ? "executed by our emulator, which is not an Arm product" : row.executor;
    return b;
  }
  function percent(v) { return typeof v === "number" ? (v < 0.0995 || (v > 0.99 && v < 1) ? (Math.floor(v * 1000) / 10).toFixed(1) : Math.round(v * 100)) + " %" : v === null ? "" : String(v); }
  function meter(share) {
    if (share === null) return null;
    var m = h("span", "meter" + (typeof share !== "number" || share > 1 ? " full" : "")), i = h("i");
    i.style.width = (typeof share === "number" ? Math.min(100, share * 100) : 100) + "%";
    m.setAttribute("aria-hidden", "true");
    return put(m, i);
  }
  function table(label, head, rows, numeric, bad) {
    var box = h("div", "scroll"), t = h("table"), th = h("tr"), body = h("tbody");
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", label);
    head.forEach(function (x, i) { var c = h("th", numeric.indexOf(i) >= 0 ? "n" : "", x); c.scope = "col"; th.appendChild(c); });
    rows.forEach(function (r) {
      var tr = h("tr");
      r.forEach(function (x, i) {
        var cls = (numeric.indexOf(i) >= 0 ? "n" : "") + (bad && bad(r, i) ? " bad" : "");
        tr.appendChild(h("td", cls, x === null || x === undefined ? "" : typeof x === "number" ? num(x) : x));
      });
      body.appendChild(tr);
    });
    return put(box, put(t, put(h("thead"), th), body));
  }
  function list(pairs) {
    var dl = h("dl");
    pairs.forEach(function (p) { put(dl, h("dt", "", p[0]), h("dd", "", p[1])); });
    return dl;
  }
  function section(box, title) { for (var i = 2, some = false; i < arguments.length; i++) some = some || arguments[i]; if (some) { box.appendChild(h("h3", "", title)); for (i = 2; i < arguments.length; i++) put(box, arguments[i]); } }
  function tile(box, name, value, more) { if (value !== null && value !== undefined && value !== "") put(box, put(h("div", "tile"), h("span", "", name), h("b", "", value), more ? h("small", "", more) : null)); }
  function key(cls, text, shape) {
    var k = h("span", "key"), ns = "http://www.w3.org/2000/svg", s = document.createElementNS(ns, "svg"), p = document.createElementNS(ns, shape === "box" ? "rect" : "path");
    s.setAttribute("viewBox", "0 0 26 12");
    s.setAttribute("aria-hidden", "true");
    if (shape === "box") { p.setAttribute("width", 26); p.setAttribute("height", 12); } else p.setAttribute("d", shape === "cross" ? "M9 2l8 8m0 -8l-8 8" : "M2 6H24");
    p.setAttribute("class", cls);
    return put(k, put(s, p), document.createTextNode(text));
  }
  function figure(title, keys, spec, toggle) {
    var f = h("figure", "figure"), cap = h("figcaption"), chart = Chart.make(spec);
    put(cap, h("span", "", title));
    keys.forEach(function (k) { cap.appendChild(k); });
    if (toggle) {
      var b = h("button", "", "");
      b.type = "button";
      var name = function () { b.textContent = spec.log ? "linear scale" : "logarithmic scale"; };
      b.addEventListener("click", function () { spec.log = !spec.log; spec.yLabel = toggle(spec.log); name(); chart.redraw(); });
      name();
      cap.appendChild(b);
    }
    return put(f, cap, chart.svg);
  }
  function allowedAt(budgets, x) {
    if (!budgets || !budgets.length) return null;
    var least = Math.min.apply(null, budgets.map(function (b) { return b[2]; }));
    return x.map(function (v) {
      for (var i = 0; i < budgets.length; i++) if ((budgets[i][0] === null || v >= budgets[i][0]) && (budgets[i][1] === null || v <= budgets[i][1])) return budgets[i][2];
      return least;
    });
  }
  function over(lo, hi, allowed) {
    var out = [];
    if (allowed) lo.forEach(function (v, i) {
      [v, hi ? hi[i] : null].forEach(function (e) { if (e !== null && Math.abs(e) > allowed[i]) out.push([i, e]); });
    });
    return out.length > 300 ? out.filter(function (_, i) { return i % Math.ceil(out.length / 300) === 0; }) : out;
  }
  function span(lo, hi) { return hi === undefined || hi === null || num(lo) === num(hi) ? num(lo) : num(lo) + " … " + num(hi); }
  function largest(lists) { return lists.reduce(function (m, l) { return (l || []).reduce(function (n, v) { return v === null ? n : Math.max(n, Math.abs(v)); }, m); }, 0); }
  function curves(box, c, row) {
    var where = c.by === "input" ? "input value" : "element index", many = c.D !== undefined, short = c.by === "input" ? "input" : "element";
    var keys = [key("s-float", "float64 network"), key("s-device", "device")];
    section(box, "Output over the " + (c.by === "input" ? "input" : "elements"), figure(
      "Device on float", keys,
      { label: "Device output and float output over the " + where, x: c.x, xLabel: where, yLabel: "output value", height: 300,
        series: [{ cls: "s-float", lo: c.f, hi: c.F }, { cls: "s-device", lo: c.d, hi: c.D }],
        tell: function (i) { return [[short, num(c.x[i])], ["float", span(c.f[i], c.F && c.F[i])], ["device", span(c.d[i], c.D && c.D[i])], ["error", span(c.e[i], c.E && c.E[i]) + " " + c.unit]]; } }));
    var allowed = allowedAt(c.budgets, c.x), peak = largest([c.e, c.E]), log = peak > 50;
    var unit = function (l) { return "error in " + c.unit + (l ? ", log scale" : ""); };
    var marks = [key("s-error", "device − float")];
    if (allowed) marks.push(key("budget", "budget", "box"), key("over", "over budget", "cross"));
    section(box, "Error over the whole domain", figure(
      (many ? "Smallest and largest error of " : "Error at each of ") + c.x.length + (many ? " buckets of " + c.count.toLocaleString("en") + " elements" : " elements"), marks,
      { label: "Error in " + c.unit + " over the " + where, x: c.x, xLabel: where, yLabel: unit(log), height: 240, zero: true, log: log, allowed: allowed,
        series: [{ cls: "s-error", lo: c.e, hi: c.E }], over: over(c.e, c.E, allowed),
        tell: function (i) { return [[short, num(c.x[i])], ["error", span(c.e[i], c.E && c.E[i]) + " " + c.unit]].concat(allowed ? [["budget", "± " + num(allowed[i])]] : []); } }, unit),
      within(c));
    if (c.bits) section(box, "Device against " + c.bits.reference, figure("Every bit should be equal: what is not zero is wrong", [key("s-error", "device − " + c.bits.reference)],
      { label: "Difference to " + c.bits.reference, x: c.bits.x, xLabel: where, yLabel: "difference in " + c.unit, height: 200, zero: true,
        series: [{ cls: "s-error", lo: c.bits.e, hi: c.bits.E }],
        tell: function (i) { return [[short, num(c.bits.x[i])], ["difference", span(c.bits.e[i], c.bits.E && c.bits.E[i])]]; } }));
    if (c.edges) edges(box, c, row);
  }
  function edges(box, c) {
    var pair = h("div", "pair");
    c.edges.forEach(function (e, n) {
      var name = n ? "Upper" : "Lower", few = e.x.length <= 40, allowed = allowedAt(c.budgets, e.x), log = false;
      function tell(i) {
        var rows = [["input", num(e.x[i])]];
        if (e.c) rows.push(["code", String(e.c[i])]);
        return rows.concat([["float", num(e.f[i])], ["device", num(e.d[i])], ["error", num(e.e[i]) + " " + c.unit]], allowed ? [["budget", "± " + num(allowed[i])]] : []);
      }
      var unit = function (l) { return "error in " + c.unit + (l ? ", log scale" : ""); };
      put(pair, put(h("div"), figure(name + " edge: " + (n ? "last " : "first ") + e.x.length + " elements", [], { label: name + " edge, output", x: e.x, xLabel: "input value", yLabel: "output value", height: 220,
        series: [{ cls: "s-float", lo: e.f }, { cls: "s-device", lo: e.d, dots: few }], tell: tell }),
      figure(name + " edge: error", [], { label: name + " edge, error", x: e.x, xLabel: "input value", yLabel: unit(log), height: 180, zero: true, log: log, allowed: allowed,
        series: [{ cls: "s-error", lo: e.e, dots: few }], over: over(e.e, null, allowed), tell: tell }, unit)));
    });
    section(box, "The edges, enlarged", pair);
  }
  function within(c) {
    if (!c.within.length) return null;
    return table("Elements within so many LSB of float", ["within"].concat(c.within.map(function (w) { return num(w[0]) + " LSB"; })),
      [["elements"].concat(c.within.map(function (w) { return w[1].toLocaleString("en") + " (" + percent(w[1] / c.count) + ")"; }))], [1, 2, 3, 4]);
  }
  function chain(stages) {
    if (!stages.length) return null;
    var box = h("div", "chain");
    box.appendChild(h("span", "", stages[0][0]));
    stages.forEach(function (s) {
      var i = h("i");
      put(i, h("b", "", num(s[2]) + " LSB"), document.createTextNode(s[3] ? s[3].toLocaleString("en") + " moved, first " + s[4] + (s[5] ? " of output " + s[5] : "") + " → " : "→"));
      put(box, i, h("span", "", s[1]));
    });
    return box;
  }
  function comparisons(all) {
    var rows = all.map(function (c) {
      return [c.reference, c.output, c.count.toLocaleString("en"), c.exact ? c.differing : "", c.lsb, c.exact ? "every bit" : c.budget, percent(c.share), c.passed ? "✓ passed" : "✗ failed", c.note];
    });
    return rows.length ? table("References", ["reference", "output", "elements", "differing", "worst LSB", "allowed LSB", "of budget", "result", "note"], rows, [1, 2, 3, 4, 5, 6], function (r, i) { return i === 7 && r[7][0] === "✗"; }) : null;
  }
  function regions(all) {
    var rows = [];
    all.forEach(function (c) { c.regions.forEach(function (r) { rows.push([r[0], r[1].toLocaleString("en"), r[2], r[3], percent(r[4]), r[5]]); }); });
    return rows.length ? table("Budget by region", ["region", "elements", "worst LSB", "budget LSB", "used", "why it is that large"], rows, [1, 2, 3, 4], function (r, i) { return i === 4 && (r[2] > r[3] || typeof r[2] === "string"); }) : null;
  }
  function log(title, text, open) {
    if (!text) return null;
    var d = h("details"), pre = h("pre", "", text);
    d.open = open;
    pre.tabIndex = 0;
    pre.setAttribute("aria-label", title);
    return put(d, h("summary", "", title + " (" + text.split("\n").length + " lines)"), pre);
  }
  function repro(text) {
    if (!text) return null;
    var box = h("div", "repro"), pre = h("pre", "", text), b = h("button", "", "Copy");
    b.type = "button";
    pre.tabIndex = 0;
    b.addEventListener("click", function () {
      var range = document.createRange();
      range.selectNodeContents(pre);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      var done = function () { b.textContent = "Copied"; };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, function () {}); else if (document.execCommand("copy")) done();
    });
    return put(box, pre, b);
  }
  function attempts(box, all, bad, said) {
    all.forEach(function (a) {
      var head = h("p", "sub");
      put(head, h("span", "", [a.seconds.toFixed(2) + " s", a.where].filter(Boolean).join(", ")), a.reason === said ? null : h("span", "", a.reason));
      var logs = [log("What failed", a.text, bad), log("Output", a.out, bad && !a.text), log("Error output", a.err, false)];
      section(box, "Attempt " + a.n + ": " + a.outcome, head, logs[0], logs[1], logs[2]);
    });
  }
  function render(box, row, d) {
    box.replaceChildren();
    var back = h("button", "back", "← All cases"), bad = CALM.indexOf(row.verdict) < 0, title = h("h2");
    back.type = "button";
    back.id = "back";
    title.id = "case-title";
    put(title, label(row));
    put(box, back, put(h("div", "titleline"), title, pill(row.verdict, row.cause)));
    if (row.by) put(box, put(h("p", "sub"), h("span", "", place(row, " on ")), badge(row), h("span", "", row.by === "emulator" ? row.executor + ", not an Arm product" : row.executor)));
    put(box, h("p", "reason", d.reason));
    if (d.hint) put(box, put(h("p", "callout" + (bad ? " bad" : "")), h("b", "", "What to do: "), document.createTextNode(d.hint)));
    if (d.first) put(box, put(h("p", "callout"), h("b", "", "First difference: "), document.createTextNode(d.first)));
    if (d.notes.length) { var ul = h("ul", "notes"); d.notes.forEach(function (n) { ul.appendChild(h("li", "", n)); }); box.appendChild(ul); }
    // One attempt that simply passed is no news; any other stands before the figures.
    var tries = d.attempts || [], calm = tries.length === 1 && row.verdict === "PASSED";
    if (!calm) attempts(box, tries, bad, d.reason);
    var tiles = h("div", "tiles"), exact = d.comparisons.filter(function (c) { return c.exact; });
    if (exact.length) tile(tiles, "Bits", exact.every(function (c) { return c.passed; }) ? "all equal" : Math.max.apply(null, exact.map(function (c) { return c.differing; })).toLocaleString("en") + " differ", exact[0].count.toLocaleString("en") + " elements against " + exact.map(function (c) { return c.reference; }).join(", "));
    if (row.lsb !== null) tile(tiles, "Worst error to float", num(row.lsb) + " LSB", d.curve && d.curve.lost ? d.curve.lost + (d.curve.lost === 1 ? " input has" : " inputs have") + " no float value" : "");
    if (row.share !== null) tile(tiles, "Budget used", percent(row.share));
    d.counters.filter(function (c) { return /active|total|cycle/i.test(c[0]); }).slice(0, 2).forEach(function (c) { tile(tiles, "NPU " + c[0].replace(/^NPU[ _]*/i, "").toLowerCase(), c[1], row.by === "emulator" ? "functional, not timing" : ""); });
    if (row.verdict !== "NOT_RUN") tile(tiles, "Time", row.s.toFixed(2) + " s");
    if (tiles.children.length) box.appendChild(tiles);
    if (bad && row.verdict !== "FAILED") { section(box, "Evidence", d.evidence.length ? list(d.evidence) : null); put(box, log("Console transcript", d.console, true)); }
    if (d.curve) curves(box, d.curve, row);
    section(box, "Worst elements", d.worst.length ? table("Worst elements", ["against", "output", "index", "input", "input code", "expected", "code", "got", "code", "LSB"], d.worst, [1, 2, 3, 4, 5, 6, 7, 8, 9]) : null);
    section(box, "From stage to stage", chain(d.stages));
    section(box, "References", comparisons(d.comparisons));
    section(box, "Budget", regions(d.comparisons));
    section(box, "Run it again", repro(d.repro));
    if (calm) attempts(box, tries, bad, d.reason);
    section(box, "Versions", d.versions.length ? list(d.versions) : null);
    var ran = d.facts.concat(d.seconds.map(function (s) { return ["seconds: " + s[0], s[1].toFixed(3)]; }));
    section(box, "Run", ran.length ? list(ran) : null);
    section(box, "NPU counters", d.counters.length ? list(d.counters) : null);
    if (!bad || row.verdict === "FAILED") section(box, "Evidence", d.evidence.length ? list(d.evidence) : null);
    if (!bad || row.verdict === "FAILED") put(box, log("Console transcript", d.console, false));
  }
  return { render: render, pill: pill, badge: badge, meter: meter, h: h, put: put, percent: percent, icon: ICON, word: word, name: name, label: label, place: place };
})();
