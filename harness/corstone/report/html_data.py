"""The data of the HTML report: a short row per case for the list, and all there is to show when a case is opened.

All text is made visible here (control and direction characters escaped); the page shows it as text and never as markup.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corstone.causes import Outcome
from corstone.judge.verdict import Comparison, Verdict, WorstElement
from corstone.report import terminal
from corstone.report.html_curve import MOST_DRAWN, UNDRAWN, Detail, curve
from corstone.report.record import CaseRecord

_CONSOLE_CAP = 48 * 1024
_WORST = 8
UNDRAWN_NOTE = (
    f"no curve and no transcript here: this page draws its first {MOST_DRAWN:,} cases, the worst first; "
    "a report of fewer ledgers (of one cell) draws the others"
)
_NO_TEXT = frozenset({float, int, bool, type(None)})


def row(record: CaseRecord) -> dict[str, Any]:
    """What the list shows and filters by."""
    verdict = record.verdict
    floats = [c for c in verdict.comparisons if not c.exact]
    shares = [c.budget_share for c in floats if c.budget_share is not None]
    shown: dict[str, Any] = visible(
        {
            "id": record.case_id,
            "verdict": str(verdict.outcome),
            "cause": "" if verdict.outcome is Outcome.PASSED else str(verdict.cause),
            "network": record.network,
            "bits": terminal.width(record),
            "policy": record.policy,
            "target": record.target,
            "board": record.board,
            "by": "none" if record.executor is None else record.executor.kind,
            "executor": "" if record.executor is None else str(record.executor),
            "lsb": figure(max((c.max_lsb for c in floats), default=None)),
            "share": figure(max(shares, default=None)),
            "s": round(record.seconds.get("total", sum(record.seconds.values())), 3),
        }
    )
    return shown


def detail(record: CaseRecord, drawn: Detail) -> dict[str, Any]:
    """What an opened case shows."""
    verdict = record.verdict
    shown: dict[str, Any] = visible(
        {
            "id": record.case_id,
            "reason": verdict.reason,
            "hint": verdict.hint,
            "first": verdict.first_difference,
            "notes": [*verdict.notes, *([UNDRAWN_NOTE] if drawn == UNDRAWN else [])],
            "evidence": [[name, value] for name, value in verdict.evidence.items()],
            "stages": [
                [s.earlier, s.later, figure(s.max_lsb), s.differing, s.first_index, s.first_output]
                for s in verdict.stages
            ],
            "comparisons": [comparison(c) for c in verdict.comparisons],
            "worst": worst(verdict),
            "versions": sorted(record.versions.items()),
            "counters": [[name, f"{count:,}"] for name, count in record.counters.items()],
            "seconds": [[name, round(value, 4)] for name, value in record.seconds.items()],
            "facts": facts(record),
            "repro": record.repro,
            "console": "" if drawn == UNDRAWN else console(record),
            "curve": curve(record.capture, drawn),
        }
    )
    return shown


def nothing() -> dict[str, Any]:
    """The detail of a case of which there is no record: every field there, all empty."""
    lists = ("notes", "evidence", "stages", "comparisons", "worst", "versions", "counters", "seconds", "facts")
    texts = ("id", "reason", "hint", "first", "repro", "console")
    return {name: [] for name in lists} | dict.fromkeys(texts, "") | {"curve": None}


def facts(record: CaseRecord) -> list[list[str]]:
    """What a reader needs to find the case again."""
    pairs = [
        ("stimulus", record.stimulus),
        ("seed", str(record.seed)),
        ("program", {"cache": "from the cache", "compiled": "compiled in this run"}.get(record.program, "")),
        ("runner", record.runner),
        ("runner sha256", record.runner_sha256),
        ("capture", record.capture),
    ]
    return [[name, value] for name, value in pairs if value]


def comparison(c: Comparison) -> dict[str, Any]:
    """One reference, with the regions of the budget where there is one."""
    return {
        "reference": c.reference,
        "output": c.output,
        "count": c.count,
        "differing": c.differing,
        "lsb": figure(c.max_lsb),
        "exact": c.exact,
        "passed": c.passed,
        "budget": figure(c.budget_lsb),
        "share": figure(c.budget_share),
        "note": c.note,
        "regions": [
            [r.name, r.count, figure(r.max_lsb), figure(r.budget_lsb), figure(r.share), r.reason] for r in c.regions
        ],
    }


def worst(verdict: Verdict) -> list[list[Any]]:
    """Worst elements: of comparisons that failed, else of the float comparison."""
    chosen = [c for c in verdict.comparisons if not c.passed] or [c for c in verdict.comparisons if not c.exact]
    return [[c.reference, c.output, *_element(w)] for c in chosen for w in c.worst[:_WORST]]


def _element(w: WorstElement) -> list[Any]:
    place = ", ".join(map(str, w.index)) or "-"
    codes = [w.input_code, w.expected_code, w.got_code]
    return [
        place,
        figure(w.input_value),
        codes[0],
        figure(w.expected),
        codes[1],
        figure(w.got),
        codes[2],
        figure(w.distance_lsb),
    ]


def console(record: CaseRecord) -> str:
    """The transcript; bytes that are no UTF-8 as escapes, the middle left out when it is long."""
    path = Path(record.capture) / "console.log" if record.capture else None
    try:
        raw = path.read_bytes() if path is not None else b""
    except OSError:
        return ""
    if len(raw) > _CONSOLE_CAP:
        half = _CONSOLE_CAP // 2
        raw = raw[:half] + f"\n[... {len(raw) - 2 * half} bytes left out ...]\n".encode() + raw[-half:]
    return raw.decode("utf-8", "backslashreplace").replace("\r\n", "\n")


def figure(value: float | None) -> float | str | None:
    """A number that JSON has, or a word; the page shows both."""
    if value is None:
        return None
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    return float(f"{value:.6g}")


def visible(value: Any) -> Any:
    """The same data with every text made visible."""
    if isinstance(value, str):
        return terminal.safe(value)
    if isinstance(value, dict):
        return {name: visible(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        # Most of a page are numbers.
        return [item if type(item) in _NO_TEXT else visible(item) for item in value]
    return value
