"""The drift rule: a figure that moved by more than its own noise, when it began, and which versions changed then.

A series is one figure of one case over the nights. The newest nights form a *step* when all of them lie on one side
of the nights before, outside their noise. Noise is the largest of: 4 robust standard deviations (1.4826 x the median
absolute deviation) of the nights before, the farthest any of them strayed from their median, and a floor below which
nobody cares. A duration must have stayed away for three nights, since hosts are noisy; an error in LSB is the same on
every host and needs one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

WINDOW = 30
LEAST_BEFORE = 5


@dataclass(frozen=True)
class Rule:
    """How one figure is watched: floors are absolute and relative to the median before."""

    figure: str
    unit: str
    nights: int
    floor: float
    floor_share: float


RULES = (
    Rule("worst_lsb", "LSB", nights=1, floor=0.01, floor_share=0.01),
    Rule("seconds", "s", nights=3, floor=0.05, floor_share=0.10),
)


@dataclass(frozen=True)
class Drift:
    """A step: the index of its first night in the series, the medians before and since, and the noise before."""

    rule: Rule
    first: int
    before: float
    since: float
    noise: float


def find_drift(values: Sequence[float | None], rule: Rule) -> Drift | None:
    """The step the newest values form, or None.

    Nights without a value are passed over. The step with the most nights wins: that is the first bad night.
    """
    known = [(i, v) for i, v in enumerate(values) if v is not None][-WINDOW:]
    if len(known) < LEAST_BEFORE + rule.nights:
        return None
    found = None
    for length in range(rule.nights, len(known) - LEAST_BEFORE + 1):
        before = [v for _, v in known[:-length]]
        since = known[-length:]
        middle = median(before)
        spread = [abs(v - middle) for v in before]
        noise = max(4 * 1.4826 * median(spread), max(spread), rule.floor, rule.floor_share * abs(middle))
        up = all(v - middle > noise for _, v in since)
        down = all(middle - v > noise for _, v in since)
        if up or down:
            found = Drift(rule, since[0][0], middle, median(v for _, v in since), noise)
    return found
