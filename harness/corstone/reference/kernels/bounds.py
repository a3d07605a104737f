"""The smaller or larger of two: minimum, maximum, clamp, hardtanh, relu.

Source: ExecuTorch, kernels/portable/cpu/util/math_util.h (``min_override``, ``max_override``), op_clamp.cpp,
op_hardtanh.cpp, op_relu.cpp. A NaN wins, the first operand's before the second's; of equal values, which are only told
apart by the sign of zero, the first stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, compute_dtype, elementwise, one


def larger(a: Array, b: Array) -> Array:
    """``max_override``: NaN of ``a``, then of ``b``, then the larger, ``a`` where equal."""
    return np.where(np.isnan(a), a, np.where(np.isnan(b) | (a < b), b, a))


def smaller(a: Array, b: Array) -> Array:
    """``min_override``, alike."""
    return np.where(np.isnan(a), a, np.where(np.isnan(b) | (b < a), b, a))


def _clamp(args: Sequence[Any], out: TensorValue) -> Array:
    """Each bound a number, a tensor, or None."""
    given = [x for x in args[:3] if x is not None]
    dtype = compute_dtype(*given)
    x = args[0].astype(dtype)
    if args[1] is not None:
        x = larger(x, np.asarray(args[1]).astype(dtype))
    if args[2] is not None:
        x = smaller(x, np.asarray(args[2]).astype(dtype))
    return np.asarray(x, np.dtype(out.dtype))


def _hardtanh(args: Sequence[Any], _out: TensorValue) -> Array:
    """The bounds are cast to the input's dtype."""
    x, low, high = args[:3]
    return smaller(larger(x, x.dtype.type(low)), x.dtype.type(high))


def _relu(args: Sequence[Any], _out: TensorValue) -> Array:
    """NaN and -0 stay."""
    x = args[0]
    return np.where(np.isnan(x) | (x >= 0), x, x.dtype.type(0))


ROWS = {
    "aten::maximum.out": elementwise(larger),
    "aten::minimum.out": elementwise(smaller),
    "aten::clamp.out": one(_clamp),
    "aten::clamp.Tensor_out": one(_clamp),
    "aten::hardtanh.out": one(_hardtanh),
    "aten::relu.out": one(_relu),
}
