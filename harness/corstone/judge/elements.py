"""The worst elements of a comparison: where they are, what went in, what was expected and what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.codes import quantize, real_values
from corstone.judge.verdict import WorstElement
from corstone.program import QParams

Array = npt.NDArray[Any]
KEPT = 8


@dataclass(frozen=True)
class InputView:
    """The one input of an elementwise network, flat: its real values and, where it is quantized, its codes.

    ``values`` float64 [N]; ``codes`` int64 [N] or None.
    """

    values: npt.NDArray[np.float64]
    codes: npt.NDArray[np.int64] | None


def input_view(inputs: list[Array], qparams: QParams | None, count: int) -> InputView | None:
    """The input beside an output of ``count`` elements, or None when elements do not correspond.

    They correspond when there is one input with as many elements: the judge cannot see more from outside, so a
    network that permutes its elements shows inputs by position.
    """
    if not corresponds(inputs, count):
        return None
    flat = inputs[0].reshape(-1)
    return InputView(real_values(flat, qparams), input_codes(flat, qparams))


def corresponds(inputs: list[Array], count: int) -> bool:
    """Whether there is one input with an element for each of ``count`` (see ``input_view``)."""
    return len(inputs) == 1 and inputs[0].size == count and inputs[0].dtype.kind in "fiu"


def input_codes(flat: Array, qparams: QParams | None) -> npt.NDArray[np.int64] | None:
    """The input's codes, [N]; None where it has none."""
    if flat.dtype.kind in "iu":
        return flat.astype(np.int64)
    return None if qparams is None else quantize(flat, qparams)


def worst_elements(
    expected: Array,
    got: Array,
    distance: npt.NDArray[np.float64],
    shape: tuple[int, ...],
    view: InputView | None,
    qparams: QParams | None = None,
) -> tuple[WorstElement, ...]:
    """The ``KEPT`` elements with the largest distance, worst first, ties by index.

    ``expected``, ``got`` and ``distance`` are flat [N]; elements at distance 0 are left out. NaN in ``distance``
    counts as infinite. ``qparams`` are the output's.
    """
    distance = np.where(np.isnan(distance), np.inf, distance)
    moved = np.flatnonzero(distance > 0)
    order = moved[np.argsort(-distance[moved], kind="stable")][:KEPT]
    return tuple(
        WorstElement(
            index=tuple(int(i) for i in np.unravel_index(int(at), shape)) if shape else (),
            expected=float(expected[at]),
            got=float(got[at]),
            distance_lsb=float(distance[at]),
            input_value=None if view is None else float(view.values[at]),
            input_code=None if view is None or view.codes is None else int(view.codes[at]),
            expected_code=_code(expected[at], qparams),
            got_code=_code(got[at], qparams),
        )
        for at in order
    )


def _code(value: Any, qparams: QParams | None) -> int | None:
    """The output code a value stands for; None when it stands for none."""
    if qparams is None or not np.isfinite(value):
        return None
    if isinstance(value, np.integer):
        return int(value)
    steps = float(value) / qparams.scale + qparams.zero_point
    return round(steps) if abs(steps - round(steps)) < 1e-3 * max(1.0, abs(steps) * 1e-3) else None
