"""Tightens stored budgets to what was measured or derived, and never loosens one.

A budget that is used up to a third shows a drift only when it has grown three times; one that is used up to nine tenths
shows it at once. What captures used, with a tenth of room, is the new limit; where the table gives a bound for any
input at all, the limit stays at least there, since captures hold some inputs only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corstone.accuracy.budget_file import Row
from corstone.accuracy.derive_budget import rounded_up
from corstone.judge.budget import Budget, default_budget
from corstone.judge.verdict import RegionResult
from corstone.program import QParams

ROOM = 1.1
"""Over what was measured: inputs of another seed may be a little worse."""


@dataclass(frozen=True)
class Change:
    """One region: the limit before and after (equal: kept), what was measured, and a refusal in words."""

    region: str
    before: float
    after: float
    measured: float | None
    refused: str = ""

    @property
    def share(self) -> float | None:
        """Share of the new limit that is used; None where nothing was measured."""
        if self.measured is None:
            return None
        return self.measured / self.after if self.after else 0.0

    def __str__(self) -> str:
        if self.refused:
            return f"{self.region}: {self.refused}"
        limit = f"{self.before:g} kept" if self.after == self.before else f"{self.before:g} -> {self.after:g}"
        used = "" if self.share is None else f", {100 * self.share:.0f}% used (measured {self.measured:.4g})"
        return f"{self.region}: {limit} LSB{used}"


def measured_regions(results: Sequence[Sequence[RegionResult]]) -> dict[str, RegionResult]:
    """The worst of several captures' results, by region; regions that no input fell into are left out."""
    worst: dict[str, RegionResult] = {}
    for regions in results:
        for region in regions:
            old = worst.get(region.name)
            if region.count and (old is None or region.max_lsb > old.max_lsb):
                worst[region.name] = region
    return worst


def start_rows(output: QParams) -> tuple[Row, ...]:
    """Where nothing is stored: the default budget that the judge took."""
    return (Row(default_budget(output.qmin, output.qmax)),)


def tighten(
    rows: Sequence[Row],
    measured: Mapping[str, RegionResult],
    derived: Mapping[str, Row] | None = None,
    captures: int = 0,
) -> tuple[tuple[Row, ...], tuple[Change, ...]]:
    """New rows, and what changed in each region. Nothing gets looser: what was measured over a budget is refused.

    Parameters
    ----------
    derived: rows of the same regions by name, where the table gives a bound; their limit is the least one.
    captures: how many were measured, for the reason.
    """
    made, changes = [], []
    for row in rows:
        name, limit = row.budget.region.name, row.budget.max_lsb
        found, bound = measured.get(name), None if derived is None else derived.get(name)
        seen = None if found is None else found.max_lsb
        if seen is not None and seen > limit:
            refused = f"measured {seen:.4g} LSB, over the budget of {limit:g}: raising it is an edit by hand"
            made.append(row)
            changes.append(Change(name, limit, limit, seen, refused))
            continue
        if bound is not None:
            new = bound.budget.max_lsb
        elif seen is not None:
            new = rounded_up(seen * ROOM)
        else:
            new = limit
        if bound is not None and new > limit:
            refused = f"derived {new:g} LSB, over the budget of {limit:g}: raising it is an edit by hand"
            made.append(row)
            changes.append(Change(name, limit, limit, seen, refused))
            continue
        new = min(new, limit)
        made.append(_made(row, new, seen, bound, captures))
        changes.append(Change(name, limit, new, seen))
    return tuple(made), tuple(changes)


def _made(row: Row, limit: float, seen: float | None, bound: Row | None, captures: int) -> Row:
    reason = row.budget.reason
    if bound is None and seen is not None and reason.startswith(("default", "measured")):
        some = f"{captures} capture{'s' if captures != 1 else ''}"
        reason = f"measured: the largest error of {some} and a tenth, for rounding at every operator on the way"
    budget = Budget(row.budget.region, limit, reason)
    if bound is not None:
        row = replace(row, input_lsb=bound.input_lsb, table_lsb=bound.table_lsb)
    measured = row.measured_lsb if seen is None else max(seen, row.measured_lsb or 0.0)
    return replace(row, budget=budget, measured_lsb=None if measured is None else round(measured, 4))
