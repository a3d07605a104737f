"use strict";
// Theme, chart readings and the case filter. Everything is there without this script but the three.
(function () {
  var root = document.documentElement;
  function stored(value) {
    try { if (value === undefined) return localStorage.getItem("theme"); localStorage.setItem("theme", value); } catch (e) { return null; }
    return null;
  }
  if (stored()) root.dataset.theme = stored();
  var button = document.getElementById("theme");
  if (button) button.addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    stored(root.dataset.theme);
  });

  // The newest night is at the right end: on a narrow screen that end is shown first.
  document.querySelectorAll(".matrix").forEach(function (t) { t.parentNode.scrollLeft = t.parentNode.scrollWidth; });

  // Charts: the value under the pointer, or walked through with the cursor keys.
  document.querySelectorAll(".chart svg").forEach(function (svg) {
    var values = svg.dataset.v.split(","), at = values.length - 1, out = svg.parentNode.querySelector(".reading");
    var cursor = svg.querySelector(".cursor"), step = 720 / Math.max(1, values.length - 1);
    function show(i) {
      at = Math.min(values.length - 1, Math.max(0, i));
      var night = (window.NIGHTS || [])[at] || "night " + at;
      out.textContent = night + ": " + (values[at] === "" ? "no value" : values[at] + " " + svg.dataset.unit);
      cursor.setAttribute("d", "M" + at * step + " 0v120");
    }
    svg.addEventListener("pointermove", function (e) {
      var box = svg.getBoundingClientRect();
      show(Math.round(((e.clientX - box.left) / box.width * 728 - 4) / step));
    });
    svg.addEventListener("keydown", function (e) {
      var move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -7, PageDown: 7, Home: -1e6, End: 1e6 }[e.key];
      if (move) { show(at + move); e.preventDefault(); }
    });
    svg.addEventListener("pointerleave", function () { out.textContent = ""; cursor.setAttribute("d", ""); });
  });

  // Cases: selects and a search box; the state of the filter lives in the address, so it can be shared.
  var table = document.getElementById("cases"), form = document.getElementById("filters");
  if (!table || !form) return;
  var rows = Array.prototype.slice.call(table.tBodies[0].rows), count = document.getElementById("count");
  var fields = Array.prototype.slice.call(form.elements).filter(function (e) { return e.name; });
  function read() {
    var params = new URLSearchParams(location.hash.slice(1));
    fields.forEach(function (f) { f.value = params.get(f.name) || ""; });
  }
  var page = 300, limit = page, more = document.getElementById("more");
  function apply() {
    var params = new URLSearchParams(), matching = 0, wanted = {};
    fields.forEach(function (f) { if (f.value) { params.set(f.name, f.value); wanted[f.name] = f.value.toLowerCase(); } });
    var names = Object.keys(wanted);
    rows.forEach(function (row) {
      var ok = names.every(function (name) {
        if (name === "q") return row.textContent.toLowerCase().indexOf(wanted.q) >= 0;
        if (name === "state" && wanted.state === "red") return row.dataset.red === "1";
        return (row.dataset[name] || "").toLowerCase() === wanted[name];
      });
      if (ok) matching++;
      var hide = !ok || matching > limit;
      if (row.hidden !== hide) row.hidden = hide;
    });
    count.textContent = matching + " of " + rows.length + " cases" + (matching > limit ? ", the first " + limit + " shown" : "");
    more.hidden = matching <= limit;
    history.replaceState(null, "", "#" + params.toString());
  }
  more.addEventListener("click", function () { limit += page; apply(); });
  form.addEventListener("input", function () { limit = page; apply(); });
  form.addEventListener("reset", function () { setTimeout(apply, 0); });
  form.addEventListener("submit", function (e) { e.preventDefault(); });
  window.addEventListener("hashchange", function () { read(); apply(); });
  read();
  apply();
})();
