"""Where the answer changed: float, fake-quantized, TOSA or table, command stream, device.

Two questions, both answered from stored arrays: how far each stage is from the one before it, and, for the element the
verdict is about, at which stage it first left what was allowed.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.accuracy import error_lsb, saturated
from corstone.judge.codes import real_values
from corstone.judge.verdict import StageDistance
from corstone.program import QParams

Array = npt.NDArray[Any]
STREAM = "command stream"
ORDER = ("float", "fake-quantized", "table", "tosa", "vgf", STREAM, "device")


def stage_distances(
    answers: Mapping[str, Sequence[Array]], qparams: Sequence[QParams | None], dtypes: Sequence[np.dtype[Any]]
) -> tuple[StageDistance, ...]:
    """Distance of each stage to the one before it, for the stages there are, in the order of ``ORDER``.

    ``answers`` maps a stage's name to its outputs; ``device`` must be there. The largest step over all outputs counts.
    """
    present = [name for name in ORDER if name in answers]
    return tuple(_distance(earlier, later, answers, qparams, dtypes) for earlier, later in itertools.pairwise(present))


def _distance(
    earlier: str,
    later: str,
    answers: Mapping[str, Sequence[Array]],
    qparams: Sequence[QParams | None],
    dtypes: Sequence[np.dtype[Any]],
) -> StageDistance:
    largest, largest_abs, moved = 0.0, 0.0, 0
    where: tuple[int | None, int] = (None, 0)
    first: tuple[int | None, int] = (None, 0)
    for number, (before, after, q, dtype) in enumerate(
        zip(answers[earlier], answers[later], qparams, dtypes, strict=True)
    ):
        a = saturated(real_values(before.reshape(-1), q), q)
        b = saturated(real_values(after.reshape(-1), q), q)
        error = error_lsb(a, b, dtype, q)
        # Float references have no value outside a domain; every later stage has some code there.
        error = np.where(np.isnan(a) & (earlier == "float"), 0.0, error)
        differs = error > 0.5
        if differs.any() and first[0] is None:
            first = (int(differs.argmax()), number)
        moved += int(np.count_nonzero(differs))
        if error.size and error.max() > largest:
            largest, where = float(error.max()), (int(error.argmax()), number)
            with np.errstate(invalid="ignore"):
                largest_abs = float(abs(a[where[0]] - b[where[0]]))
    return StageDistance(earlier, later, largest, largest_abs, moved, *where, *first)


def first_over_budget(
    values: Mapping[str, Array],
    at: int,
    allowed: float,
    qparams: QParams | None,
    dtype: np.dtype[Any],
) -> str:
    """The first stage whose value at flat element ``at`` is further from float than ``allowed`` LSB; "" if none."""
    float_value = saturated(values["float"].reshape(-1)[at : at + 1].astype(np.float64), qparams)
    for name in ORDER[1:]:
        if name in values:
            value = real_values(values[name].reshape(-1)[at : at + 1], qparams)
            if error_lsb(float_value, value, dtype, qparams)[0] > allowed:
                return name
    return ""
