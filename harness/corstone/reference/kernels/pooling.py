"""Kernels that take the largest or smallest of many, or add many up in a fixed order.

Source: ExecuTorch, kernels/portable/cpu/util/kernel_ops_util.h (windows), util/reduce_util.h (dimensions, from the
innermost), and the ``op_*.cpp`` of each name. Of equal values the first one counts, which also decides the sign of a
zero. Sums are running float32 sums in the kernel's own order, as Arm's runner image computes them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, Kernel, one

Ints = npt.NDArray[np.int64]


def _pair(values: Sequence[int], default: Sequence[int]) -> tuple[int, int]:
    chosen = values or default
    return (chosen[0], chosen[0]) if len(chosen) == 1 else (chosen[0], chosen[1])


def _windows(
    x: Array, out: TensorValue, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Any
) -> Iterator[tuple[Ints, Ints, npt.NDArray[np.bool_]]]:
    """For each place of a window, row by row: rows [OH, 1] and columns [1, OW] of the input, where they lie in it."""
    (kh, kw), (sh, sw) = _pair(kernel, ()), _pair(stride, kernel)
    (ph, pw), (dh, dw) = _pair(padding, (0,)), _pair(dilation, (1,))
    top = np.arange(out.shape[-2])[:, None] * sh - ph
    left = np.arange(out.shape[-1])[None, :] * sw - pw
    for y in range(kh):
        for w in range(kw):
            rows, columns = top + y * dh, left + w * dw
            inside = (rows >= 0) & (rows < x.shape[-2]) & (columns >= 0) & (columns < x.shape[-1])
            yield rows, columns, inside


def _at(x: Array, rows: Ints, columns: Ints) -> Array:
    return np.asarray(x[..., rows.clip(0, x.shape[-2] - 1), columns.clip(0, x.shape[-1] - 1)])


def _max_pool2d(args: Sequence[Any], outs: Sequence[TensorValue]) -> tuple[Array, Array]:
    """Largest of each window and its index in the plane. A NaN counts only where it comes first, and then stays."""
    x, kernel, stride, padding, dilation = args[:5]
    best = np.zeros(outs[0].shape, x.dtype)
    index = np.zeros(outs[0].shape, np.int64)
    started = np.zeros(outs[0].shape[-2:], bool)
    for rows, columns, inside in _windows(x, outs[0], kernel, stride, padding, dilation):
        value = _at(x, rows, columns)
        better = inside & (~started | (value > best))
        best = np.where(better, value, best)
        index = np.where(better, rows * x.shape[-1] + columns, index)
        started |= inside
    return best, index


def _avg_pool2d(args: Sequence[Any], out: TensorValue) -> Array:
    """Sum of each window, divided by its count: with ``count_include_pad`` that of the padded window."""
    x, kernel, stride, padding, _, include, divisor = args[:7]
    total, started = np.zeros(out.shape, x.dtype), np.zeros(out.shape[-2:], bool)
    for rows, columns, inside in _windows(x, out, kernel, stride, padding, ()):
        value = _at(x, rows, columns)
        total = np.where(inside, np.where(started, value + total, value), total)
        started |= inside
    (kh, kw), (sh, sw), (ph, pw) = _pair(kernel, ()), _pair(stride, kernel), _pair(padding, (0,))
    height = _spans(out.shape[-2], kh, sh, ph, x.shape[-2], include)[:, None]
    width = _spans(out.shape[-1], kw, sw, pw, x.shape[-1], include)[None, :]
    counts = np.asarray(height * width if divisor is None else divisor)
    return np.asarray(total / counts.astype(x.dtype)).astype(x.dtype)


def _spans(count: int, kernel: int, stride: int, padding: int, length: int, include: bool) -> Ints:
    first = np.arange(count) * stride - padding
    last = np.minimum(first + kernel, length + padding)
    return np.asarray(last - first if include else np.minimum(last, length) - np.maximum(first, 0))


def _flat(x: Array, dims: Sequence[int]) -> Array:
    """The dimensions ``dims`` (all, where there is none) as one, the last."""
    axes = sorted(d % x.ndim for d in dims) if dims else list(range(x.ndim))
    kept = [d for d in range(x.ndim) if d not in axes]
    return np.asarray(x.transpose(kept + axes).reshape(*(x.shape[d] for d in kept), -1))


def _dims(dim: int | None) -> tuple[int, ...]:
    return () if dim is None else (dim,)


def _index_of(find: Callable[..., Any]) -> Kernel:
    """``argmax``, ``argmin``: the first of equal ones, or the first NaN; of no dimension, in all elements."""

    def compute(args: Sequence[Any], out: TensorValue) -> Array:
        return np.asarray(find(_flat(args[0], _dims(args[1])), -1)).astype(np.int64).reshape(out.shape)

    return one(compute)


def _extreme(x: Array, dims: Sequence[int], find: Callable[..., Any]) -> tuple[Array, Array]:
    flat = _flat(x, dims)
    index = np.asarray(find(flat, -1))
    return np.take_along_axis(flat, index[..., None], -1)[..., 0], index


def _extreme_and_index(find: Callable[..., Any]) -> Kernel:
    def compute(args: Sequence[Any], outs: Sequence[TensorValue]) -> tuple[Array, Array]:
        value, index = _extreme(args[0], _dims(args[1]), find)
        return value.reshape(outs[0].shape), index.astype(np.int64).reshape(outs[1].shape)

    return Kernel(compute, out_args=2)


def _extreme_alone(find: Callable[..., Any]) -> Kernel:
    """``amax``, ``amin`` over a list of dimensions; ``max``, ``min`` of everything."""

    def compute(args: Sequence[Any], out: TensorValue) -> Array:
        dims = args[1] if len(args) > 1 else ()
        return np.asarray(_extreme(args[0], dims, find)[0]).reshape(out.shape).astype(np.dtype(out.dtype))

    return one(compute)


def _any(args: Sequence[Any], out: TensorValue) -> Array:
    dims = args[1] if len(args) > 1 and args[1] is not None else ()
    dims = (dims,) if isinstance(dims, int) else dims
    return np.asarray(_flat(args[0], dims).astype(bool).any(-1)).reshape(out.shape).astype(np.dtype(out.dtype))


def _running_sum(args: Sequence[Any], out: TensorValue) -> Array:
    flat = _flat(args[0], args[1] or ()).astype(np.dtype(out.dtype))
    total = np.zeros(flat.shape[:-1], flat.dtype)
    for i in range(flat.shape[-1]):
        total = total + flat[..., i]
    return total.reshape(out.shape)


def _mean(args: Sequence[Any], out: TensorValue) -> Array:
    """The running sum, divided by the count."""
    count = args[0].size // max(int(np.prod(out.shape)), 1)
    total = _running_sum(args, out)
    return np.asarray(total / total.dtype.type(count))


def _cumsum(args: Sequence[Any], out: TensorValue) -> Array:
    x = np.moveaxis(args[0].astype(np.dtype(out.dtype)), args[1], 0).copy()
    for i in range(1, x.shape[0]):
        x[i] = x[i] + x[i - 1]
    return np.moveaxis(x, 0, args[1])


ROWS = {
    "aten::max_pool2d_with_indices.out": Kernel(_max_pool2d, out_args=2),
    "aten::avg_pool2d.out": one(_avg_pool2d),
    "aten::argmax.out": _index_of(np.argmax),
    "aten::argmin.out": _index_of(np.argmin),
    "aten::max.dim_max": _extreme_and_index(np.argmax),
    "aten::min.dim_min": _extreme_and_index(np.argmin),
    "aten::max.unary_out": _extreme_alone(np.argmax),
    "aten::min.unary_out": _extreme_alone(np.argmin),
    "aten::amax.out": _extreme_alone(np.argmax),
    "aten::amin.out": _extreme_alone(np.argmin),
    "aten::any.out": one(_any),
    "aten::any.dims_out": one(_any),
    "aten::any.all_out": one(_any),
    "aten::sum.IntList_out": one(_running_sum),
    "aten::mean.out": one(_mean),
    "aten::cumsum.out": one(_cumsum),
}
