"""A unary function at every int16 code, in output steps, with an answer also where the function has none.

Outside its domain a function is held at the value of the nearest code inside, an infinity is the end of the output's
range, and a pole of two signs (1/x at 0) stands between its sides. Plain numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], npt.NDArray[Any]]


def real_inputs(scale: float) -> Floats:
    """What the codes -32768..32768 stand for, float64 [65537].

    The product is taken in float32, as the program's dequantize does: near a pole or an infinite slope that matters.
    """
    codes = np.arange(-32768, 32769).astype(np.float32)
    return np.asarray((codes * np.float32(scale)).astype(np.float64))


def sample_steps(
    function: Function, input_scale: float, output_scale: float, limits: tuple[int, int] = (-32768, 32767)
) -> Floats:
    """``function`` at codes -32768..32768 in output steps, clipped to ``limits``, float64 [65537].

    Raises
    ------
    ConfigError: the function has no value at any code.
    """
    with np.errstate(all="ignore"):
        values = np.asarray(function(real_inputs(input_scale)), np.float64)
    known = np.flatnonzero(~np.isnan(values[:-1]))
    if known.size == 0:
        raise ConfigError(
            f"the operator has no value at any code of the input scale {input_scale:g}",
            cause=Cause.OUT_OF_DOMAIN,
            hint="its whole input range lies outside its domain: look at the layer before it",
        )
    # The virtual code 32768 is never read alone: what it holds follows the last code that has a value.
    at = np.arange(values.size)
    after = known[np.minimum(np.searchsorted(known, at), known.size - 1)]
    before = known[np.maximum(np.searchsorted(known, at, side="right") - 1, 0)]
    nearest = np.where(np.abs(after - at) < np.abs(at - before), after, before)
    held = np.where(np.isnan(values), values[nearest], values)
    for pole in np.flatnonzero(np.isinf(held[1:-1])) + 1:
        left, right = held[pole - 1], held[pole + 1]
        if np.isfinite(left) and np.isfinite(right) and np.sign(left) != np.sign(right):
            held[pole] = 0.0
    with np.errstate(over="ignore"):
        return np.asarray(np.clip(held / output_scale, *limits))
