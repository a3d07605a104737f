"""Comparisons, logic and choices: results that no rounding touches.

Source: ExecuTorch, kernels/portable/cpu/pattern/comparison_op.h, logical_op.h, op_where.cpp, op_masked_fill.cpp. Two
operands are compared in their common dtype, so a number is rounded to float32 first where the tensor is float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, Kernel, one, promoted


def _compared(function: Callable[[Array, Array], Array]) -> Kernel:
    def compare(args: Sequence[Any], out: TensorValue) -> Array:
        a, b = promoted(*args[:2])
        return np.asarray(function(a, b)).astype(np.dtype(out.dtype))

    return one(compare)


def _logical(function: Callable[[Array, Array], Array]) -> Kernel:
    """NaN counts as true."""

    def combine(args: Sequence[Any], out: TensorValue) -> Array:
        a, b = (np.asarray(x).astype(bool) for x in args[:2])
        return np.asarray(function(a, b)).astype(np.dtype(out.dtype))

    return one(combine)


def _where(args: Sequence[Any], out: TensorValue) -> Array:
    condition, yes, no = args[:3]
    return np.where(condition.astype(bool), yes, no).astype(np.dtype(out.dtype))


_COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_LOGIC: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.logical_and,
    "or": np.logical_or,
    "xor": np.logical_xor,
}
ROWS = {
    **{f"aten::{n}.{kind}_out": _compared(f) for n, f in _COMPARISONS.items() for kind in ("Tensor", "Scalar")},
    **{f"aten::logical_{n}.out": _logical(f) for n, f in _LOGIC.items()},
    "aten::where.self_out": one(_where),
}
