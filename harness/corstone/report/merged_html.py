"""The HTML report of a merged run: the page of ``html_report`` with a row for each test, its state and its attempts.

A test that ran several device cases shows the worst of them, and names the others. Leaves out how the page looks
(``html_report`` and its assets) and history (``corstone.dashboard``).
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from corstone.causes import Outcome
from corstone.ledger.model import Attempt, Merged, MergedCase, State
from corstone.report import html_data, terminal
from corstone.report.html_curve import Detail, detail_for
from corstone.report.html_report import Entry, write_entries
from corstone.report.record import CaseRecord

# After what is red: what needs a look next comes first.
_CALM = (State.QUARANTINED, State.FLAKY, State.XPASS, State.PASSED, State.XFAIL, State.SKIPPED)
_QUIET_OUTPUT = 4096


def write_html(merged: Merged, path: Path, *, title: str = "Corstone") -> None:
    """Write the page.

    Raises
    ------
    OSError: the folder cannot be written.
    """
    cases = sorted(merged.cases, key=lambda c: (not c.red, _CALM.index(c.state) if c.state in _CALM else -1))
    entries: list[Entry] = [
        (row(case), functools.partial(detail, case, detail_for(len(cases), place))) for place, case in enumerate(cases)
    ]
    red = sum(c.red for c in cases)
    head = {
        "title": title,
        "device": f"{merged.final_line}. {_device(cases)}",
        "answer": _answer(merged, red),
        "problems": merged.problems,
        "notes": merged.notes,
        "facts": [[k, v] for k, v in sorted(merged.properties.items())],
    }
    write_entries(path, entries, head, "\n".join(_line(c) for c in cases) or "nothing ran")


def _answer(merged: Merged, red: int) -> str:
    count, passed = len(merged.cases), merged.counts[State.PASSED]
    if merged.red:
        return f"Red: {red:,} of {count:,} tests {'is' if red == 1 else 'are'} red"
    return f"Green: all {count:,} tests passed" if passed == count else f"Green: none of {count:,} tests is red"


def _device(cases: list[MergedCase]) -> str:
    ran = [str(c.names["provider"]) for c in cases if c.names.get("provider")]
    return terminal.device_line(len(ran), len(cases), ran.count("fvp"), ran.count("emulator"))


def _line(case: MergedCase) -> str:
    return terminal.safe(f"{case.state.value:<12} {case.cell} {case.test_id}  {case.reason}").replace("\n", " ")


def row(case: MergedCase) -> dict[str, Any]:
    """What the list shows and filters by; names are those of ``html_data.row``."""
    names, figures = case.names, case.figures
    executor = ""
    if names and case.last is not None:
        executor = str(names.get("executor", "")) or str(names.get("provider", ""))
    shown: dict[str, Any] = html_data.visible(
        {
            "id": " ".join(p for p in (case.run if case.cell == "" else case.cell, case.test_id) if p),
            "name": case.test_id,
            "verdict": case.state.value.upper().replace(" ", "_").replace("-", "_"),
            "red": "red" if case.red else "fine",
            "cause": "" if case.cause == "none" else case.cause,
            "cell": case.cell,
            "network": names.get("network", ""),
            "bits": f"int{names['bits']}" if names.get("bits") else "",
            "policy": names.get("policy", ""),
            "target": names.get("target", ""),
            "board": names.get("board", ""),
            "by": (names.get("provider") or "none") if names else "",
            "executor": executor,
            "lsb": html_data.figure(figures.get("worst_lsb")),
            "share": html_data.figure(figures.get("share")),
            "s": round(case.seconds, 3),
        }
    )
    return shown


def detail(case: MergedCase, drawn: Detail) -> dict[str, Any]:
    """What an opened case shows: its worst record, then attempt by attempt what was printed; the first log included."""
    records = sorted(_records(case), key=lambda r: r.verdict.outcome.severity)
    shown = html_data.detail(records[0], drawn) if records else html_data.nothing()
    reason = case.reason or shown["reason"]
    notes = list(shown["notes"])
    if records and case.reason and shown["reason"] not in case.reason:
        notes.append(f"{records[0].verdict.outcome} ({records[0].verdict.cause}): {shown['reason']}")
    notes += [f"also ran {r.case_id}: {r.verdict.outcome} ({r.verdict.cause}) {r.verdict.reason}" for r in records[1:]]
    if case.quarantine:
        entry = case.quarantine
        notes.append(f"quarantined until {entry['expires']} by {entry['owner']}, {entry['issue']}: {entry['reason']}")
    recorded = case.last.detail()["props"] if case.last is not None else []
    more = {
        "id": case.test_id,
        "facts": [*shown["facts"], *recorded],
        "reason": reason,
        "notes": notes,
        "attempts": [_attempt(a, n, case) for n, a in _numbered(case)],
    }
    return shown | dict(html_data.visible(more))


def _numbered(case: MergedCase) -> list[tuple[int, Attempt]]:
    return list(enumerate(case.attempts, start=1))


def _records(case: MergedCase) -> list[CaseRecord]:
    return case.last.records() if case.last is not None else []


def _attempt(attempt: Attempt, n: int, case: MergedCase) -> dict[str, Any]:
    found = attempt.detail()
    # What a test printed is of interest where it did not simply pass; the board's console is in the record.
    quiet = attempt.finished and attempt.outcome is Outcome.PASSED and case.state is State.PASSED
    cut = slice(-_QUIET_OUTPUT, None) if quiet else slice(None)
    return {
        "n": n,
        "outcome": attempt.outcome.value if attempt.finished else "never finished",
        "reason": attempt.reason,
        "seconds": round(attempt.seconds, 3),
        "where": " ".join(p for p in (str(attempt.source.head.get("worker", "")), case.shard) if p),
        "text": found["text"],
        "out": found["out"][cut],
        "err": found["err"][cut],
    }
