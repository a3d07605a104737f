"""Comparisons, logic, bits and choices: results that no rounding touches.

Source: ExecuTorch, kernels/portable/cpu/pattern/comparison_op.h, logical_op.h, bitwise_op.h, op_where.cpp. Two
operands are compared in their common dtype, so a number is rounded to float32 first where the tensor is float32. NaN
counts as true.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, elementwise, one


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
_BITS: dict[str, Callable[[Array, Array], Array]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_QUESTIONS: dict[str, Callable[[Array], Array]] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "bitwise_not": np.invert,
    "logical_not": np.logical_not,
}
_KINDS = ("Tensor", "Scalar")
ROWS = {
    **{f"aten::{n}.{kind}_out": elementwise(f) for n, f in _COMPARISONS.items() for kind in _KINDS},
    **{f"aten::bitwise_{n}.{kind}_out": elementwise(f) for n, f in _BITS.items() for kind in _KINDS},
    **{f"aten::logical_{n}.out": elementwise(f) for n, f in _LOGIC.items()},
    **{f"aten::{n}.out": elementwise(f, 1) for n, f in _QUESTIONS.items()},
    "aten::where.self_out": one(_where),
}
