"""Codes and values: the affine map between them, in the arithmetic the device's CPU kernels use.

``quantize`` multiplies by a float32 reciprocal and rounds half to even, as ExecuTorch's ``quantize_per_tensor`` does;
``dequantize`` is one float32 product. Both saturate and never wrap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.program import QParams


def quantize(values: npt.NDArray[Any], qparams: QParams) -> npt.NDArray[np.int64]:
    """Codes of real values, clamped to ``qmin``..``qmax``; NaN becomes the zero point, infinities the ends."""
    inverse = np.float32(1.0) / np.float32(qparams.scale)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.rint(values.astype(np.float32) * inverse).astype(np.float64) + qparams.zero_point
    steps = np.nan_to_num(steps, nan=float(qparams.zero_point), posinf=qparams.qmax, neginf=qparams.qmin)
    codes: npt.NDArray[np.int64] = np.clip(steps, qparams.qmin, qparams.qmax).astype(np.int64)
    return codes


def dequantize(codes: npt.NDArray[Any], qparams: QParams) -> npt.NDArray[np.float32]:
    """Real values of codes, float32."""
    steps = codes.astype(np.int64) - qparams.zero_point
    return steps.astype(np.float32) * np.float32(qparams.scale)


def real_values(array: npt.NDArray[Any], qparams: QParams | None) -> npt.NDArray[np.float64]:
    """What an input or output tensor means, float64: integers go through their scale where they have one."""
    if qparams is not None and array.dtype.kind in "iu":
        return dequantize(array, qparams).astype(np.float64)
    return array.astype(np.float64)
