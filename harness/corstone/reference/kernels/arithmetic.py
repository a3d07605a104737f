"""Arithmetic whose every float result is one correctly rounded operation, and integers, which wrap.

Source: ExecuTorch, kernels/portable/cpu, op_add.cpp, op_sub.cpp, op_mul.cpp, op_div.cpp, op_rsub.cpp, op_fmod.cpp and
the unary ones by name; the common dtype is that of ``row.common_dtype``. ``fmod`` rounds nothing: its result is exact.
Where add and sub have another alpha than one, GCC, with which Arm's runner images are built, fuses product and sum
(``fused``). Leaves out everything of the C library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.fused import fused
from corstone.reference.kernels.row import Array, Kernel, compute_dtype, elementwise, one, promoted


def _scaled(function: Callable[[Array, Array], Array], sign: int) -> Kernel:
    """``a + alpha * b`` or ``a - alpha * b``; the product and sum of floats are fused where alpha is not one."""

    def compute(args: Sequence[Any], out: TensorValue) -> Array:
        a, b = promoted(*args[:2])
        alpha = np.asarray(args[2]).astype(b.dtype)
        with np.errstate(all="ignore"):
            if a.dtype == np.float32 and alpha != 1:
                return fused(sign * alpha, *np.broadcast_arrays(b, a)).astype(np.dtype(out.dtype))
            return np.asarray(function(a, b if alpha == 1 else b * alpha)).astype(np.dtype(out.dtype))

    return one(compute)


def _add(a: Array, b: Array) -> Array:
    return np.asarray(a + b)


def _sub(a: Array, b: Array) -> Array:
    # numpy has no difference of bools; in C it is one of integers.
    return np.asarray(a ^ b if a.dtype == bool else a - b)


def _rsub(args: Sequence[Any], out: TensorValue) -> Array:
    """``number - alpha * x``."""
    x, number, alpha = args[:3]
    a, b = promoted(x, number)
    return _SUB.compute((b, a, alpha), (out,))[0]


def _real(*operands: Any) -> tuple[Array, ...]:
    """As ``promoted``, integers as float32: ``div`` and the kernels "to float"."""
    dtype = compute_dtype(*operands)
    if dtype.kind != "f":
        dtype = np.dtype(np.float32)
    return tuple(np.asarray(x).astype(dtype) for x in operands)


def _div(args: Sequence[Any], out: TensorValue) -> Array:
    with np.errstate(all="ignore"):
        a, b = _real(*args[:2])
        return np.asarray(a / b).astype(np.dtype(out.dtype))


def _fmod(args: Sequence[Any], out: TensorValue) -> Array:
    """Integers go through float64, which holds what networks count to."""
    a, b = args[:2]
    dtype = compute_dtype(a, b)
    wide = dtype if dtype == np.float32 else np.dtype(np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(np.fmod(np.asarray(a).astype(wide), np.asarray(b).astype(wide))).astype(np.dtype(out.dtype))


def _abs(x: Array) -> Array:
    """-0 stays."""
    return np.where(x < 0, np.negative(x), x) if x.dtype != bool else x


def _sign(x: Array) -> Array:
    """NaN stays; both zeros become +0."""
    signs = (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype) if x.dtype != bool else x
    return np.where(np.isnan(x), x, signs)


def _reciprocal(args: Sequence[Any], out: TensorValue) -> Array:
    """Divided in float64 and rounded to the output's float32: the same as one division in float32."""
    with np.errstate(all="ignore"):
        return np.asarray(1 / _real(args[0])[0]).astype(np.dtype(out.dtype))


def _sqrt(args: Sequence[Any], out: TensorValue) -> Array:
    with np.errstate(all="ignore"):
        return np.sqrt(_real(args[0])[0]).astype(np.dtype(out.dtype))


def _leaky_relu(args: Sequence[Any], out: TensorValue) -> Array:
    """A NaN is multiplied."""
    x, slope = args[:2]
    wide = promoted(x)[0]
    with np.errstate(all="ignore"):
        return np.asarray(np.where(wide >= 0, wide, wide * wide.dtype.type(slope)), np.dtype(out.dtype))


def _arange(args: Sequence[Any], out: TensorValue) -> Array:
    start, _, step = args[:3]
    return np.asarray(start + np.arange(out.shape[0], dtype=np.float64) * step).astype(np.dtype(out.dtype))


def _arange_from_zero(_args: Sequence[Any], out: TensorValue) -> Array:
    return np.arange(out.shape[0]).astype(np.dtype(out.dtype))


_SUB = _scaled(_sub, -1)
_UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": _abs,
    "neg": np.negative,
    "sign": _sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
ROWS = {
    **{f"aten::{name}.out": elementwise(function, 1) for name, function in _UNARY.items()},
    "aten::add.out": _scaled(_add, 1),
    "aten::add.Scalar_out": _scaled(_add, 1),
    "aten::sub.out": _SUB,
    "aten::sub.Scalar_out": _SUB,
    "aten::rsub.Scalar_out": one(_rsub),
    "aten::mul.out": elementwise(np.multiply),
    "aten::mul.Scalar_out": elementwise(np.multiply),
    "aten::div.out": one(_div),
    "aten::div.Scalar_out": one(_div),
    "aten::fmod.Tensor_out": one(_fmod),
    "aten::fmod.Scalar_out": one(_fmod),
    "aten::reciprocal.out": one(_reciprocal),
    "aten::sqrt.out": one(_sqrt),
    "aten::leaky_relu.out": one(_leaky_relu),
    "aten::arange.start_out": one(_arange),
    "aten::arange.out": one(_arange_from_zero),
}
