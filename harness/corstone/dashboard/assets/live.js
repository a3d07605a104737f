"use strict";
// Follows a run: asks for its state once a second and shows it. Everything from the run goes in as text.
(function () {
  var tones = { passed: "ok", running: "mute", waiting: "mute", skipped: "mute", xfail: "mute", flaky: "warn", xpass: "warn", quarantined: "warn" };
  function el(tag, text, cls) {
    var e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (cls) e.className = cls;
    return e;
  }
  function span(s) {
    if (s < 90) return s + " s";
    return Math.floor(s / 60) + " min " + s % 60 + " s";
  }
  function list(id, cases, none) {
    var box = document.getElementById(id), table = el("table"), body = el("tbody");
    cases.forEach(function (c) {
      var row = el("tr"), mark = el("td"), name = el("td"), bdi = el("bdi", c.id);
      mark.appendChild(el("span", id === "running" ? "running" : c.state, "s " + (id === "running" ? "mute" : tones[c.state] || "bad")));
      name.appendChild(bdi);
      row.appendChild(mark);
      row.appendChild(name);
      row.appendChild(el("td", [c.cell, c.worker].filter(Boolean).join(", "), "soft"));
      row.appendChild(el("td", id === "running" ? "" : c.reason));
      body.appendChild(row);
    });
    table.appendChild(body);
    box.replaceChildren(cases.length ? table : el("p", none, "soft"));
    box.className = cases.length ? "scroll" : "";
  }
  function show(s) {
    if (s.empty) return;
    var red = Object.keys(s.words).some(function (w) { return !tones[w]; });
    document.getElementById("title").textContent = s.done + " of " + s.total + " cases" + (s.busy ? "" : ", run over");
    document.getElementById("title").className = red ? "bad" : "ok";
    var line = ["run " + s.run];
    if (s.elapsed_s !== null) line.push("running for " + span(s.elapsed_s));
    if (s.left_s !== null) line.push("about " + span(s.left_s) + " left");
    document.getElementById("line").textContent = line.join(" · ");
    var bar = document.getElementById("bar");
    bar.max = s.total || 1;
    bar.value = s.done;
    document.getElementById("words").replaceChildren.apply(document.getElementById("words"), Object.keys(s.words).map(function (w) {
      var chip = el("span", w + " ");
      chip.appendChild(el("b", s.words[w], tones[w] || "bad"));
      return chip;
    }));
    list("running", s.running, "Nothing is on a board.");
    list("notable", s.notable, "Every case so far passed.");
    list("recent", s.recent, "No case has ended yet.");
  }
  function ask() {
    fetch("state.json").then(function (r) { return r.json(); }).then(show).catch(function () {
      document.getElementById("line").textContent = "The server has stopped.";
    }).finally(function () { setTimeout(ask, 1000); });
  }
  ask();
})();
