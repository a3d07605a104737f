"""A Markdown summary for a job page: what ran where, a table, and each case that did not pass with its reason.

Cell text is escaped, so that a hostile name stays text on GitHub and GitLab.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from corstone.causes import Outcome
from corstone.report import terminal
from corstone.report.record import CaseRecord

_MARK = {Outcome.PASSED: "✅", Outcome.SKIPPED: "⏭️", Outcome.FAILED: "❌"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>!|~@&$])")  # list and heading signs have no effect inside a line
_ROWS = 200
_DETAILS = 20


def text(value: str) -> str:
    """Plain text for a cell or a sentence: one line, Markdown and HTML without effect."""
    return _SPECIAL.sub(r"\\\1", terminal.safe(" ".join(value.split()))).replace("\\<", "&lt;").replace("\\>", "&gt;")


def markdown(records: Sequence[CaseRecord]) -> str:
    """The whole summary; long runs show their worst ``_ROWS`` cases and say how many are left out."""
    ordered = sorted(records, key=lambda r: (r.verdict.outcome.severity, r.case_id))
    green = bool(records) and all(r.verdict.outcome is Outcome.PASSED for r in records)
    parts = [
        f"## {'✅' if green else '❌'} Corstone: {terminal.summary(records)}",
        "",
        "; ".join(filter(None, (terminal.ran_on_device(records), terminal.from_cache(records)))) + ".",
        "",
        "| verdict | network | bits | policy | target | board | executed by | worst LSB to float | budget used |",
        "|---|---|---|---|---|---|---|---:|---:|",
    ]
    parts += [_row(record) for record in ordered[:_ROWS]]
    if len(ordered) > _ROWS:
        parts.append(f"\n{len(ordered) - _ROWS} more cases are in the report.")
    bad = [r for r in ordered if r.verdict.outcome not in (Outcome.PASSED, Outcome.SKIPPED)]
    for record in bad[:_DETAILS]:
        parts += ["", *_details(record)]
    if len(bad) > _DETAILS:
        parts += ["", f"{len(bad) - _DETAILS} more cases did not pass; the report has them all."]
    versions = {name: value for record in records for name, value in record.versions.items()}
    if versions:
        parts += ["", "Versions: " + ", ".join(f"{text(n)} {text(v)}" for n, v in sorted(versions.items())) + "."]
    return "\n".join(parts) + "\n"


def write_markdown(path: Path, records: Sequence[CaseRecord]) -> None:
    """Write ``markdown(records)``."""
    path.write_text(markdown(records), encoding="utf-8")


def _row(record: CaseRecord) -> str:
    floats = [c for c in record.verdict.comparisons if not c.exact]
    shares = [c.budget_share for c in floats if c.budget_share is not None]
    cells = [
        f"{_MARK.get(record.verdict.outcome, '💥')} {text(terminal.label(record.verdict))}",
        text(record.network),
        terminal.width(record),
        text(record.policy),
        text(record.target),
        text(record.board),
        text(terminal.executed_by(record)),
        f"{max(c.max_lsb for c in floats):.4g}" if floats else "",
        f"{max(shares):.0%}" if shares else "",
    ]
    return "| " + " | ".join(cells) + " |"


def _details(record: CaseRecord) -> list[str]:
    verdict = record.verdict
    parts = [f"**{text(record.case_id)}**: {text(terminal.label(verdict))}. {text(verdict.reason)}"]
    if verdict.hint:
        parts.append(f"What to do: {text(verdict.hint)}")
    if verdict.first_difference:
        parts.append(f"First difference: {text(verdict.first_difference)}")
    if record.repro:
        fence = "`" * (max((len(run) for run in re.findall("`+", record.repro)), default=0) + 1)
        parts.append(f"Again: {fence} {terminal.safe(record.repro)} {fence}")
    return ["  \n".join(parts)]
