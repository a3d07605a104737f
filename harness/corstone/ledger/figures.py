"""The few numbers and names of a case that history and filters need, taken from its records.

One test may run several programs: the figures are those of its worst or of their sum, as noted at each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from corstone.report.record import CaseRecord

# Names under which runners and the emulator count, most specific first.
_CYCLES = ("npu_total_cycles", "NPU TOTAL", "npu_cycles", "NPU CYCCNT", "NPU ACTIVE")
_COMMANDS = ("npu_commands", "commands")
_BYTES = ("npu_bytes", "bytes")


def _counter(counters: dict[str, int], names: Sequence[str]) -> int | None:
    for name in names:
        if name in counters:
            return int(counters[name])
    return None


def _total(records: Sequence[CaseRecord], names: Sequence[str]) -> int | None:
    found = [n for n in (_counter(r.counters, names) for r in records) if n is not None]
    return sum(found) if found else None


def _finite(values: Iterable[float | None]) -> list[float]:
    # NaN has no place in JSON; an infinite distance is kept as a very large one so that it still plots as worst.
    return [min(float(v), 1e30) for v in values if v is not None and v == v]


def figures(records: Sequence[CaseRecord]) -> dict[str, float]:
    """Worst LSB error and share of budget (largest of all), NPU cycles, commands and bytes (sums), boot seconds."""
    budgeted = [c for r in records for c in r.verdict.comparisons if not c.exact]
    every = [c for r in records for c in r.verdict.comparisons]
    result: dict[str, float] = {}
    if lsb := _finite(c.max_lsb for c in (budgeted or every)):
        result["worst_lsb"] = max(lsb)
    if share := _finite(c.budget_share for c in budgeted):
        result["share"] = max(share)
    for name, names in (("npu_cycles", _CYCLES), ("npu_commands", _COMMANDS), ("npu_bytes", _BYTES)):
        total = _total(records, names)
        if total is not None:
            result[name] = total
    if boots := _finite(r.seconds.get("boot") for r in records):
        result["boot_s"] = round(sum(boots), 4)
    return result


def case_names(records: Sequence[CaseRecord]) -> dict[str, Any]:
    """What a report filters by, from the worst record: network, bits, policy, target, board, provider, case id."""
    if not records:
        return {}
    record = min(records, key=lambda r: r.verdict.outcome.severity)
    return {
        "case_id": record.case_id,
        "network": record.network,
        "bits": record.bits,
        "policy": record.policy,
        "target": record.target,
        "board": record.board,
        "provider": record.executor.kind if record.executor else "",
        "executor": str(record.executor or ""),
    }
