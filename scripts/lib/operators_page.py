"""The table of docs/operators.md: each operator and head, width and policy, booted on three NPUs and judged.

A row holds for the NPUs that are named in it, which answered alike. Leaves out the sweep's curves.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corstone.causes import Outcome
from corstone.judge.stored import judge_folder
from corstone.pipeline import CheckRequest, check_all
from corstone.quantize.domains import UNARY

TARGETS: Mapping[str, str] = {"ethos-u55-128": "U55", "ethos-u65-256": "U65", "ethos-u85-256": "U85"}
OPERATORS = (*(name for name, row in UNARY.items() if row.restricted), "pow03")
HEADS = ("fisher-z", "joint-angle", "orientation")
POLICIES = ((8, "edge_exact"), (8, "fixed"), (8, "observer"), (16, "fixed"), (16, "observer"), (16, "segmented"))
ROUNDED = 1e-4
"""Of an output step: what float32 makes of an answer that is exactly one step off."""


@dataclass(frozen=True)
class Row:
    """What one boot came to; ``within`` of ``codes`` are at most 1 LSB off; ``share`` is of the bound or budget."""

    within: int
    codes: int
    worst: float
    share: float
    outcome: Outcome
    cause: str

    def cells(self) -> str:
        share = "over" if self.share > 1 else f"{self.share:.0%}".replace("%", " %")
        verdict = str(self.outcome) if self.outcome is Outcome.PASSED else f"**{self.outcome}** ({self.cause})"
        return f"{self.within:,} of {self.codes:,} | {self.worst:,.2f} | {share} | {verdict}"


def operators_page() -> str:
    """Boots all of them; the lines of the table."""
    asked = [(n, b, p) for n in sorted((*OPERATORS, *HEADS)) for b, p in POLICIES]
    lines = [
        "| network | bits | policy | NPUs | within 1 LSB | worst LSB | share | verdict |",
        "|---|---:|---|---|---:|---:|---:|---|",
    ]
    with tempfile.TemporaryDirectory() as out:
        requests = [
            CheckRequest(n, bits=b, policy=p, target=t, provider="emulator", out=Path(out))
            for n, b, p in asked
            for t in TARGETS
        ]
        records = check_all(requests, lambda case, what: print(f"{what:9} {case}", file=sys.stderr))
        found: dict[tuple[str, int, str], list[tuple[str, Row]]] = {}
        for record in records:
            key = (record.network, record.bits, record.policy)
            found.setdefault(key, []).append((record.target, _row(Path(out) / "cases" / record.case_id)))
        for name, bits, policy in asked:
            for npus, alike in _grouped(found[name, bits, policy]):
                lines.append(f"| {name} | {bits} | {policy} | {npus} | {alike.cells()} |")
    return "\n".join(lines) + "\n"


def _row(folder: Path) -> Row:
    _, program, question, verdict = judge_folder(folder)
    taken = program and program.output_qparams[0]
    assert taken
    against_float = next(c for c in verdict.comparisons if not c.exact)
    exact = np.load(folder / "ref-float-0.npy").reshape(-1)
    given = np.fromfile(folder / "in-0.bin", np.float32).astype(np.float64)
    counted = np.isfinite(exact)
    if question.bound is not None and given.size == exact.size:
        exact = question.bound.limits(given).towards_pole(exact)
        once = np.zeros(given.size, np.bool_)  # elements beyond the codes are filled with codes again
        once[np.unique(given, return_index=True)[1]] = True
        counted = np.isfinite(exact) & question.domain.holds(given) & once
    off = np.abs(np.fromfile(folder / "out-0.bin", np.float32) - exact)[counted] / taken.scale
    within = int((off <= 1 + ROUNDED).sum())
    share = round(against_float.budget_share or 0.0, 4)
    return Row(within, off.size, round(against_float.max_lsb, 4), share, verdict.outcome, str(verdict.cause))


def _grouped(rows: Sequence[tuple[str, Row]]) -> Iterator[tuple[str, Row]]:
    for alike in dict.fromkeys(row for _, row in rows):
        yield ", ".join(TARGETS[target] for target, row in rows if row == alike), alike
