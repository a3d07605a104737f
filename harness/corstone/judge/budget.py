"""Budgets: how far the device may be from the float64 network, per region of the input, each with its reason.

A budget is data beside a network. The judge never loosens one; bits have no budget at all. Leaves out the budgets
themselves (``corstone_models``) and their use (``corstone.judge.accuracy``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Region:
    """A closed interval of real input values (not codes), by name: ``Region(-0.9, 0.9, "interior")``.

    ``lo`` may be ``-inf`` and ``hi`` ``inf``. Raises ValueError when the interval is empty or NaN.
    """

    lo: float
    hi: float
    name: str

    def __post_init__(self) -> None:
        if not self.lo <= self.hi:
            raise ValueError(f"region {self.name!r}: expected lo <= hi, got [{self.lo}, {self.hi}]")


@dataclass(frozen=True)
class Budget:
    """The largest distance to float, in steps of the output's scale, inside one region, and why it is that large.

    Where regions overlap, the first budget that holds the input value counts: list narrow regions (edges) before wide
    ones. An input in no region is judged by the smallest budget of the list, so a gap never hides an error.
    Raises ValueError for a negative or NaN budget and for an empty reason.
    """

    region: Region
    max_lsb: float
    reason: str

    def __post_init__(self) -> None:
        if not self.max_lsb >= 0:
            raise ValueError(f"budget of region {self.region.name!r}: expected max_lsb >= 0, got {self.max_lsb}")
        if not self.reason.strip():
            raise ValueError(f"budget of region {self.region.name!r}: a budget needs its reason")


EVERYWHERE = Region(-math.inf, math.inf, "everywhere")

DEFAULT_SHARE = 1 / 16


def default_budget(qmin: int, qmax: int) -> Budget:
    """The budget of a network that brought none: one sixteenth of the output's codes (16 at int8, 4,096 at int16).

    Wide enough for the rounding a whole network gathers, narrow enough to catch an answer that is plainly wrong (a
    table that holds 0 at the edge of acos is half the range off). The verdict says that it was used.
    """
    return Budget(
        EVERYWHERE,
        (qmax - qmin + 1) * DEFAULT_SHARE,
        "default, since the network brought no budget: one sixteenth of the output's code range",
    )
