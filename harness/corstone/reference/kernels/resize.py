"""Nearest and bilinear resizing of float images.

Source: ExecuTorch, kernels/portable/cpu/op_upsample_nearest2d.cpp, op_upsample_bilinear2d.cpp and util/upsample_util.h:
the scale in float64, then float32 throughout. Where a product is
added to, GCC, with which Arm's runner images are built, fuses the first product and the sum (``fused``); compared with
the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.fused import fused
from corstone.reference.kernels.row import Array, one

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]


def _scale(axis: int, x: Array, out: TensorValue, size: Any, factors: Any, corners: bool) -> np.float32:
    """Input steps for one output step along ``axis`` (2 or 3): rounded to float32 when it reaches the kernel."""
    given, made = x.shape[axis], out.shape[axis]
    if corners:
        return np.float32((given - 1) / (made - 1) if made > 1 else 0.0)
    return np.float32(1.0 / (factors[axis - 2] if factors else size[axis - 2] / given))


def _nearest(args: Sequence[Any], out: TensorValue) -> Array:
    x, size, factors = args[:3]
    index = []
    for axis in (2, 3):
        scale = _scale(axis, x, out, size, factors, corners=False)
        steps = np.floor(np.arange(out.shape[axis], dtype=np.float32) * scale).astype(np.int64)
        index.append(np.minimum(steps, x.shape[axis] - 1))
    return np.asarray(x[:, :, index[0][:, None], index[1][None, :]])


def _sources(
    axis: int, x: Array, out: TensorValue, scale: np.float32, corners: bool
) -> tuple[Ints, Ints, Floats, Floats]:
    """Lower and upper source index of each output index along an axis, and their weights."""
    given, made = x.shape[axis], out.shape[axis]
    index = np.arange(made)
    if given == made:
        return index, index, np.ones(made, np.float32), np.zeros(made, np.float32)
    steps = index.astype(np.float32)
    real = scale * steps if corners else fused(np.full(made, scale), steps + np.float32(0.5), np.float32(-0.5))
    real = np.maximum(real, np.float32(0))
    lower = np.minimum(np.floor(real).astype(np.int64), given - 1)
    upper = lower + (lower < given - 1)
    weight = np.clip(real - lower.astype(np.float32), np.float32(0), np.float32(1))
    return lower, upper, np.float32(1) - weight, weight


def _bilinear(args: Sequence[Any], out: TensorValue) -> Array:
    x, size, corners, factors = args[:4]
    top, bottom, top_weight, bottom_weight = _sources(2, x, out, _scale(2, x, out, size, factors, corners), corners)
    left, right, left_weight, right_weight = _sources(3, x, out, _scale(3, x, out, size, factors, corners), corners)

    def row(rows: Ints) -> Array:
        first, second = x[:, :, rows[:, None], left[None, :]], x[:, :, rows[:, None], right[None, :]]
        return _mixed(first, left_weight, second, right_weight)

    return _mixed(row(top), top_weight[:, None], row(bottom), bottom_weight[:, None])


def _mixed(a: Array, a_weight: Array, b: Array, b_weight: Array) -> Array:
    return fused(a, a_weight, b * b_weight)


ROWS = {
    "aten::upsample_nearest2d.vec_out": one(_nearest),
    "aten::upsample_bilinear2d.vec_out": one(_bilinear),
}
