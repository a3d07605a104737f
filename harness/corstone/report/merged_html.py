"""The HTML report of a merged run: one self-contained page, opened from disk, that asks for nothing from a network.

The table of cases is in the page as it is; what is behind a case (curve, error map, transcript, attempts, versions)
lies compressed at the end and is unpacked when the case is opened, so that 3,000 cases open at once. Leaves out what a
row means (``corstone.ledger.model``) and history (``corstone.dashboard``).
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from corstone.causes import Outcome
from corstone.dashboard.charts import GLYPHS, number, tone
from corstone.dashboard.page import ASSETS
from corstone.dashboard.text import esc, visible
from corstone.ledger.model import Attempt, Merged, MergedCase, State
from corstone.report.curve import curve
from corstone.report.record import CaseRecord

FILTERS = ("state", "cell", "network", "board", "target", "bits", "policy", "provider")
SHOWN = 300
_CALM = (State.QUARANTINED, State.FLAKY, State.XPASS, State.PASSED, State.XFAIL, State.SKIPPED)
_CONSOLE_CAP = 48 * 1024
_REPORT = Path(__file__).with_name("assets")


def write_html(merged: Merged, path: Path, *, title: str = "Corstone") -> None:
    """Write the page beside its place and rename it."""
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with waiting.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            _page(merged, stream, title)
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def _page(merged: Merged, out: TextIO, title: str) -> None:
    style = (ASSETS / "style.css").read_text(encoding="utf-8") + (_REPORT / "report.css").read_text(encoding="utf-8")
    script = (_REPORT / "report.js").read_text(encoding="utf-8") + (ASSETS / "app.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    out.write(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>{esc(title)}</title><link rel="icon" href="data:,"><style>{style}</style></head><body>'
        '<a class="skip" href="#main">Skip to content</a>'
        f'<header><span class="brand">{esc(title)}</span>'
        '<button id="theme" type="button" aria-label="Switch between light and dark">◐</button></header>'
        '<main id="main" tabindex="-1">'
    )
    out.write(_head(merged))
    out.write(_filters(merged))
    head = "".join(f'<th scope="col"{c}>{t}</th>' for t, c in _COLUMNS)
    out.write(f'<div class="scroll" role="region" aria-label="Cases" tabindex="0"><table id="cases"><thead><tr>{head}')
    out.write("</tr></thead><tbody>")
    # What needs a look comes first; within a state the order stays that of the names.
    cases = sorted(merged.cases, key=lambda c: (not c.red, _CALM.index(c.state) if c.state in _CALM else -1))
    out.writelines(_row(case, i) for i, case in enumerate(cases))
    out.write('</tbody></table></div><p><button id="more" type="button" hidden>Show more</button></p>')
    out.write("<noscript><p>Filters and details need JavaScript; the table is complete without.</p></noscript></main>")
    out.write(
        '<dialog id="case" aria-labelledby="case-title"><form method="dialog" class="bar">'
        '<button type="button" id="previous">← Previous</button><button type="button" id="next">Next →</button>'
        '<button class="close">Close</button></form><div id="case-body"></div></dialog>'
    )
    # One line a case; base64 holds nothing that could end the element.
    out.write('<script type="text/plain" id="details">')
    out.writelines(_packed(details(case)) + "\n" for case in cases)
    out.write(f"</script><script>{script}</script></body></html>\n")


_N = ' class="n"'
_COLUMNS = (("State", ""), ("Case", ""), ("Cell", ""), ("Cause", ""), ("Worst LSB", _N), ("Share", _N), ("Seconds", _N))


def _head(merged: Merged) -> str:
    counts = merged.counts
    chips = "".join(
        f'<a href="#state={esc(s.value.replace(" ", "+"))}">{n} <span class="{tone(s.value)}">{esc(s.value)}</span></a>'
        for s, n in sorted(counts.items(), key=lambda x: -x[1])
    )
    red = sum(c.red for c in merged.cases)
    answer = "red" if merged.red else "green"
    problems = "".join(f'<p class="bad">{esc(p)}</p>' for p in merged.problems)
    facts = "".join(f"<span>{esc(k)} <b>{esc(v)}</b></span>" for k, v in sorted(merged.properties.items()))
    notes = "".join(f"<li>{esc(n)}</li>" for n in merged.notes)
    notes = f"<details><summary>{len(merged.notes)} notes</summary><ul>{notes}</ul></details>" if notes else ""
    return (
        f'<section class="hero {"red" if merged.red else ""}"><h1>{answer}: '
        f'<a href="#state=red">{red} red</a> of {len(merged.cases)} cases</h1><p class="chips">{chips}</p>'
        f'<p>{esc(merged.final_line)}</p>{problems}<p class="chips">{facts}</p>{notes}</section>'
    )


def _value(case: MergedCase, name: str) -> str:
    if name == "state":
        return case.state.value
    if name == "cell":
        return case.cell
    value = case.names.get(name, "")
    return "" if value in (0, None) else str(value)


def _filters(merged: Merged) -> str:
    parts = []
    for name in FILTERS:
        values = sorted({v for c in merged.cases if (v := _value(c, name))})
        if name == "state":
            values = ["red", *values]
        if len(values) > 1:
            options = "".join(f"<option>{esc(v)}</option>" for v in values)
            select = f'<select name="{name}"><option value="">any</option>{options}</select>'
            parts.append(f"<label>{'Verdict' if name == 'state' else name.capitalize()} {select}</label>")
    return (
        '<form id="filters" class="filters" role="search" aria-label="Filter cases">'
        f'<label>Search <input type="search" name="q" placeholder="name or cause"></label>{"".join(parts)}'
        '<button type="reset">Clear</button></form><p id="count" class="soft" role="status"></p>'
    )


def _row(case: MergedCase, i: int) -> str:
    data = "".join(f' data-{n}="{esc(v)}"' for n in FILTERS[1:] if (v := _value(case, n)))
    figures, cause, state = case.figures, "" if case.cause == "none" else case.cause, case.state.value
    return (
        f'<tr{" hidden" if i >= SHOWN else ""} data-state="{esc(state)}" data-red="{int(case.red)}"{data}>'
        f'<td><span class="s {tone(state)}" title="{esc(state)}">{GLYPHS.get(state, "?")}</span></td>'
        f'<td><a href="#case={i}" data-case="{i}"><bdi>{esc(case.test_id)}</bdi></a></td>'
        f'<td data-l="cell">{esc(case.cell)}</td><td data-l="cause">{esc(cause)}</td>'
        f'<td class="n" data-l="LSB">{number(figures.get("worst_lsb"))}</td>'
        f'<td class="n" data-l="share">{number(figures.get("share"))}</td>'
        f'<td class="n" data-l="s">{number(case.seconds)}</td></tr>\n'
    )


def details(case: MergedCase) -> dict[str, Any]:
    """What is behind a case, as plain data; text is already visible, and the page treats it as text all the same."""
    records = case.last.records() if case.last is not None else []
    data: dict[str, Any] = {
        "id": case.test_id,
        "state": case.state.value,
        "tone": tone(case.state.value),
        "reason": case.reason,
        "facts": [[k, str(v)] for k, v in case.names.items() if v not in ("", 0, None)],
        "attempts": [_attempt(a, n, case) for n, a in enumerate(case.attempts, start=1)],
        "records": [_record(r) for r in records],
    }
    if case.cell:
        data["facts"].append(["cell", case.cell])
    if case.quarantine:
        data["facts"] += [["quarantined until", case.quarantine["expires"]], ["owner", case.quarantine["owner"]]]
        data["facts"].append(["issue", case.quarantine["issue"]])
    return data


def _attempt(attempt: Attempt, n: int, case: MergedCase) -> dict[str, Any]:
    detail = attempt.detail()
    quiet = attempt.finished and attempt.outcome is Outcome.PASSED and case.state is State.PASSED
    return {
        "n": n,
        "outcome": attempt.outcome.value if attempt.finished else "aborted",
        "reason": attempt.reason,
        "seconds": round(attempt.seconds, 3),
        "worker": " ".join(p for p in (str(attempt.source.head.get("worker", "")), case.shard) if p),
        "text": detail["text"],
        # What a test printed is of interest where it did not simply pass; the board's console is in the record.
        "out": detail["out"][-4096:] if quiet else detail["out"],
        "err": detail["err"][-4096:] if quiet else detail["err"],
    }


def _record(record: CaseRecord) -> dict[str, Any]:
    verdict = record.verdict
    facts: Iterator[tuple[str, object]] = iter(
        [
            ("executed by", record.executor or "nothing"),
            ("runner", record.runner),
            ("seed", record.seed),
            ("first difference", verdict.first_difference),
            ("hint", verdict.hint),
        ]
    )
    return {
        "case": record.case_id,
        "outcome": verdict.outcome.value,
        "cause": verdict.cause.value,
        "reason": verdict.reason,
        "facts": [[k, str(v)] for k, v in facts if v not in ("", None)],
        "comparisons": [
            [
                c.reference,
                str(c.output),
                f"{c.differing} of {c.count}",
                number(c.max_lsb),
                "exact" if c.exact else number(c.budget_lsb),
                "" if c.budget_share is None else f"{c.budget_share:.0%}",
                "passed" if c.passed else "failed",
            ]
            for c in verdict.comparisons
        ],
        "worst": [
            [str(list(w.index)), number(w.input_value), number(w.expected), number(w.got), number(w.distance_lsb)]
            for c in verdict.comparisons
            for w in c.worst[:5]
        ],
        "versions": sorted(record.versions.items()),
        "counters": [[k, f"{v:,}"] for k, v in record.counters.items()],
        "seconds": [[k, f"{v:.3f}"] for k, v in record.seconds.items()],
        "notes": [*verdict.notes],
        "repro": record.repro,
        "console": _console(record),
        "curve": curve(record.capture),
    }


def _console(record: CaseRecord) -> str:
    path = Path(record.capture) / "console.log" if record.capture else None
    try:
        raw = path.read_bytes() if path is not None else b""
    except OSError:
        return ""
    if len(raw) > _CONSOLE_CAP:
        half = _CONSOLE_CAP // 2
        raw = raw[:half] + f"\n[... {len(raw) - 2 * half} bytes left out ...]\n".encode() + raw[-half:]
    return raw.decode("utf-8", "backslashreplace")


def _packed(data: dict[str, Any]) -> str:
    packer = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    raw = json.dumps(_visible(data), separators=(",", ":"), allow_nan=False).encode()
    return base64.b64encode(packer.compress(raw) + packer.flush()).decode()


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {k: _visible(v) for k, v in value.items()}
    if isinstance(value, Iterable):
        return [_visible(v) for v in value]
    return value
