"""How far each network's program may be from float64, in output steps (LSB), per width, policy and region.

The numbers are data, in ``budgets.json`` beside this file, each with its reason and what it was derived from: the
input's quantization step where the function is steep, and the table (rounding, interpolation, an end that is clipped).
They hold for any input inside the domain, not for codes alone. ``corstone budget tighten`` may lower them; raising one
is an edit by hand. ``observer`` and ``upstream`` are judged by the budgets of ``fixed``.
"""

from __future__ import annotations

import functools
from pathlib import Path

from corstone.accuracy.budget_file import JUDGED_AS, Rows, key, load
from corstone.errors import ConfigError
from corstone.judge.budget import Budget

FILE = Path(__file__).with_name("budgets.json")


def budgets(name: str, bits: int, policy: str) -> tuple[Budget, ...]:
    """Budgets of one network, the narrowest region first, as the judge takes them.

    Raises
    ------
    ConfigError: none was measured for this combination.
    """
    rows = _rows(FILE.stat().st_mtime_ns)
    found = rows.get(key(name, bits, policy)) or rows.get(key(name, bits, JUDGED_AS.get(policy, policy)))
    if not found:
        raise ConfigError(
            f"no budget was measured for {name} with {bits} bits and the policy {policy!r}",
            hint="measured: " + ", ".join(sorted(rows)) + "; `corstone budget derive` measures another",
        )
    return tuple(row.budget for row in found)


@functools.lru_cache(maxsize=4)
def _rows(stamp: int) -> Rows:
    """The file's rows; ``stamp`` is the time of its last change."""
    del stamp
    return load(FILE)
