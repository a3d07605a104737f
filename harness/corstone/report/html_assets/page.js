"use strict";
// The page: summary, filters, list, and opening a case. The address says what is shown, so that it can be sent.
(function () {
  var $ = function (id) { return document.getElementById(id); }, h = Case.h, put = Case.put;
  var data = JSON.parse($("index").textContent), cases = data.cases, lines = null, shown = [], drawn = 0, at = -1, CHUNK = 200;
  var ORDER = ["ERROR", "CRASHED", "TIMED_OUT", "NO_OUTPUT", "FAILED", "ABORTED", "NOT_RUN", "XPASS", "FLAKY", "QUARANTINED", "SKIPPED", "XFAIL", "PASSED"];
  var FIELDS = [["verdict", "Verdict"], ["cause", "Cause"], ["network", "Network"], ["bits", "Bits"], ["policy", "Policy"], ["target", "Target"], ["board", "Board"], ["by", "Executed by"], ["cell", "Cell"], ["red", "Red or fine"]];
  var NAMES = { fvp: "Arm FVP", emulator: "emulator", none: "nothing" };
  var form = $("filters");
  document.title = data.title;
  $("title").textContent = data.title;
  $("made").textContent = data.made + " · corstone-harness " + data.harness;

  function counts() { var n = {}; cases.forEach(function (c) { n[c.verdict] = (n[c.verdict] || 0) + 1; }); return n; }
  function summary() {
    var n = counts(), passed = n.PASSED || 0, total = cases.length, rest = total - passed;
    $("answer").textContent = !total ? "Nothing ran" : rest === 0 ? (total === 1 ? "The case passed" : "All " + total.toLocaleString("en") + " cases passed") : rest.toLocaleString("en") + " of " + total.toLocaleString("en") + " did not pass";
    ORDER.forEach(function (v) {
      if (!n[v]) return;
      var b = h("button", "v-" + v, Case.icon[v] + " " + n[v].toLocaleString("en") + " " + Case.word(v));
      b.type = "button";
      b.style.flexGrow = n[v];
      b.addEventListener("click", function () { form.elements.verdict && (form.elements.verdict.value = form.elements.verdict.value === v ? "" : v); apply(true); });
      $("bar").appendChild(b);
    });
    var names = {};
    cases.forEach(function (c) { if (c.by) names[c.by + "|" + c.executor] = (names[c.by + "|" + c.executor] || 0) + 1; });
    Object.keys(names).sort().forEach(function (k) {
      var i = k.indexOf("|"), by = k.slice(0, i), name = k.slice(i + 1);
      put($("who"), Case.badge({ by: by, executor: name }), h("span", "", names[k].toLocaleString("en") + " on " + (by === "none" ? "no device" : name + (by === "emulator" ? ", not an Arm product" : ""))));
    });
    $("who").appendChild(h("span", "soft", data.device));
    if (data.answer) $("answer").textContent = data.answer;
    (data.problems || []).forEach(function (p) { $("who").parentNode.appendChild(h("p", "callout bad", p)); });
    (data.facts || []).forEach(function (f) { $("who").appendChild(h("span", "soft", f[0] + " " + f[1])); });
    if ((data.notes || []).length) {
      var d = h("details"), ul = h("ul", "notes");
      data.notes.forEach(function (n) { ul.appendChild(h("li", "", n)); });
      put($("who").parentNode, put(d, h("summary", "", data.notes.length + " notes"), ul));
    }
  }
  function selects() {
    FIELDS.forEach(function (f) {
      var values = Array.from(new Set(cases.map(function (c) { return c[f[0]]; }))).filter(Boolean);
      if (f[0] === "verdict") values.sort(function (a, b) { return ORDER.indexOf(a) - ORDER.indexOf(b); }); else values.sort();
      if (values.length < 2) return;
      var s = h("select"), l = h("label", "", f[1] + " ");
      s.name = f[0];
      s.appendChild(new Option("any", ""));
      values.forEach(function (v) { s.appendChild(new Option(f[0] === "by" ? NAMES[v] : f[0] === "verdict" ? Case.word(v) : v, v)); });
      put($("selects"), put(l, s));
    });
  }
  function row(i) {
    var c = cases[i], li = h("li"), a = h("a"), first = h("span", "l"), second = h("span", "l");
    a.href = "#" + address(i);
    a.dataset.i = i;
    first.classList.add("t");
    put(first, Case.pill(c.verdict, c.cause), put(h("b"), Case.label(c)));
    // A cell is often named after its target.
    var cell = c.cell && c.target.slice(-c.cell.length) === c.cell ? "" : c.cell;
    put(second, h("small", "", [cell, Case.place(c, " · ")].filter(Boolean).join(" · ")), c.by ? Case.badge(c) : null);
    var more = h("small", "m"), figures = c.lsb === null ? "" : Chart.num(c.lsb) + " LSB";
    if (c.share !== null) { put(more, Case.meter(c.share), document.createTextNode(Case.percent(c.share) + " · " + figures)); more.title = "share of the budget, and largest error to float"; }
    else more.textContent = figures || (c.verdict === "NOT_RUN" ? "" : c.s.toFixed(2) + " s");
    if (i === at) a.setAttribute("aria-current", "true");
    return put(li, put(a, first, second, more));
  }
  function more() {
    var part = document.createDocumentFragment();
    shown.slice(drawn, drawn + CHUNK).forEach(function (i) { part.appendChild(row(i)); });
    drawn = Math.min(shown.length, drawn + CHUNK);
    $("rows").appendChild(part);
    $("more").hidden = drawn >= shown.length;
  }
  function state() {
    var s = {};
    Array.prototype.forEach.call(form.elements, function (e) { if (e.name && e.value) s[e.name] = e.value; });
    return s;
  }
  function address(i) {
    var p = new URLSearchParams(state());
    if (i >= 0) p.set("case", cases[i].id);
    return p.toString();
  }
  function apply(write) {
    var s = state(), words = (s.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    shown = [];
    cases.forEach(function (c, i) {
      for (var f in s) if (f !== "q" && c[f] !== s[f]) return;
      var text = (c.id + " " + c.cause + " " + c.verdict).toLowerCase();
      if (words.every(function (w) { return text.indexOf(w) >= 0; })) shown.push(i);
    });
    drawn = 0;
    $("rows").replaceChildren();
    more();
    $("count").textContent = shown.length === cases.length ? cases.length.toLocaleString("en") + " cases" : shown.length.toLocaleString("en") + " of " + cases.length.toLocaleString("en") + " cases";
    Array.prototype.forEach.call($("bar").children, function (b) { b.setAttribute("aria-pressed", String(b.className === "v-" + s.verdict)); });
    if (write) history.replaceState(null, "", "#" + address(at));
  }
  function mark() {
    Array.prototype.forEach.call(document.querySelectorAll("#rows a"), function (a) { if (+a.dataset.i === at) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current"); });
  }
  // JSON, a NUL, then all series: the first bytes of each float32, the second ones and so on (html_pack.py).
  function unpack(raw) {
    var end = raw.indexOf(0), planes = raw.subarray(end + 1), count = planes.length / 4, bytes = new DataView(new ArrayBuffer(planes.length));
    for (var k = 0; k < 4; k++) for (var n = 0; n < count; n++) bytes.setUint8(4 * n + k, planes[k * count + n]);
    return JSON.parse(new TextDecoder().decode(raw.subarray(0, end)), function (name, value) {
      if (!value || !value.f32) return value;
      return Array.from({ length: value.f32[1] }, function (none, n) {
        var v = bytes.getFloat32(4 * (value.f32[0] + n), true);
        return isFinite(v) ? v : null;
      });
    });
  }
  function open(i, focus) {
    lines = lines || $("details").textContent.trim().split("\n");
    if (!(i >= 0 && i < lines.length)) return;
    at = i;
    mark();
    var bytes = Uint8Array.from(atob(lines[i]), function (c) { return c.charCodeAt(0); });
    new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer().then(function (raw) {
      if (at !== i) return;
      var d = unpack(new Uint8Array(raw));
      Case.render($("case"), cases[i], d);
      $("case").scrollTop = 0;
      $("case").dataset.shown = i;
      if (focus) { document.body.classList.add("open"); scrollTo(0, 0); $("case").focus({ preventScroll: true }); }
    });
  }
  function close() {
    document.body.classList.remove("open");
    var a = document.querySelector('#rows a[data-i="' + at + '"]');
    if (a) { a.focus(); a.scrollIntoView({ block: "center" }); }
    history.replaceState(null, "", "#" + address(-1));
  }
  function step(by) {
    var n = shown.indexOf(at), next = shown[n < 0 ? 0 : n + by];
    if (next === undefined) return;
    while (shown.indexOf(next) >= drawn) more();
    history.replaceState(null, "", "#" + address(next));
    open(next, document.body.classList.contains("open"));
    var a = document.querySelector('#rows a[data-i="' + next + '"]');
    if (a) { a.scrollIntoView({ block: "nearest" }); if ($("rows").contains(document.activeElement)) a.focus(); }
  }
  function read() {
    var p = new URLSearchParams(location.hash.slice(1));
    Array.prototype.forEach.call(form.elements, function (e) { if (e.name) e.value = p.get(e.name) || ""; });
    apply(false);
    var wanted = p.get("case"), i = cases.findIndex(function (c) { return c.id === wanted; });
    if (i >= 0) { while (shown.indexOf(i) >= drawn && drawn < shown.length) more(); open(i, true); }
    else { document.body.classList.remove("open"); if (shown.length && at < 0) open(shown[0], false); }
  }
  form.addEventListener("input", function () { apply(true); });
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  form.addEventListener("reset", function () { setTimeout(function () { apply(true); }); });
  $("more").addEventListener("click", more);
  new IntersectionObserver(function (e) { if (e[0].isIntersecting && drawn < shown.length) more(); }).observe($("more"));
  document.addEventListener("click", function (e) { if (e.target.closest("#back")) close(); });
  document.addEventListener("keydown", function (e) {
    if (e.target.closest("input, select, pre, .scroll, svg.chart") || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "j" || (e.key === "ArrowDown" && $("rows").contains(e.target))) { e.preventDefault(); step(1); }
    if (e.key === "k" || (e.key === "ArrowUp" && $("rows").contains(e.target))) { e.preventDefault(); step(-1); }
    if (e.key === "/") { e.preventDefault(); form.elements.q.focus(); }
    if (e.key === "Escape" && document.body.classList.contains("open")) close();
  });
  addEventListener("hashchange", read);
  $("theme").addEventListener("click", function () {
    var dark = getComputedStyle(document.documentElement).colorScheme === "dark", theme = dark ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("corstone-theme", theme); } catch (ignored) { /* a page from disk may have no storage */ }
  });
  try { var kept = localStorage.getItem("corstone-theme"); if (kept) document.documentElement.dataset.theme = kept; } catch (ignored) { /* as above */ }
  summary();
  selects();
  read();
})();
