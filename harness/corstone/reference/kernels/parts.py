"""Kernels that take parts of a tensor: slices, splits, rows by index.

Source: ExecuTorch, kernels/portable/cpu, the ``op_*.cpp`` of each name. An index outside of its dimension is refused on
the device; here it is numpy's ``IndexError``. Leaves out writing into parts of a tensor in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, Kernel, one


def _span(start: int | None, end: int | None, length: int) -> tuple[int, int]:
    """Start and end of a slice as Python clips them."""
    first, last, _ = slice(start, end).indices(length)
    return first, max(first, last)


def _along(x: Array, dim: int, part: Any) -> Any:
    """An index that takes ``part`` of dimension ``dim`` and all of the others."""
    index: list[Any] = [slice(None)] * x.ndim
    index[dim] = part
    return tuple(index)


def _slice_index(x: Array, dim: int, start: int | None, end: int | None, step: int) -> Any:
    first, last = _span(start, end, x.shape[dim])
    return _along(x, dim, slice(first, last, step))


def _slice(args: Sequence[Any], _out: TensorValue) -> Array:
    x, dim, start, end, step = args[:5]
    return np.asarray(x[_slice_index(x, dim, start, end, step)])


def _slice_scatter(args: Sequence[Any], _out: TensorValue) -> Array:
    x, source, dim, start, end, step = args[:6]
    made = x.copy()
    made[_slice_index(x, dim, start, end, step)] = source
    return np.asarray(made)


def _select(args: Sequence[Any], _out: TensorValue) -> Array:
    x, dim, index = args[:3]
    return np.asarray(np.take(x, index, dim))


def _select_scatter(args: Sequence[Any], _out: TensorValue) -> Array:
    x, source, dim, index = args[:4]
    made = x.copy()
    made[_along(x, dim, index)] = source
    return np.asarray(made)


def _narrow(args: Sequence[Any], _out: TensorValue) -> Array:
    x, dim, start, length = args[:4]
    first = start + x.shape[dim] if start < 0 else start
    return np.asarray(x[_along(x, dim, slice(first, first + length))])


def _index_select(args: Sequence[Any], _out: TensorValue) -> Array:
    x, dim, index = args[:3]
    return np.asarray(np.take(x, index.reshape(-1), dim)) if x.ndim else x


def _index(args: Sequence[Any], _out: TensorValue) -> Array:
    """Advanced indexing; None takes a whole dimension, as in numpy, where the result's dimensions lie alike."""
    x, indices = args[:2]
    return np.asarray(x[tuple(slice(None) if i is None else i for i in indices)])


def _gather(args: Sequence[Any], out: TensorValue) -> Array:
    x, dim, index = args[:3]
    if not x.ndim:
        return np.broadcast_to(x, out.shape)
    grid = list(np.ogrid[tuple(slice(n) for n in index.shape)])
    grid[dim] = index
    return np.asarray(x[tuple(grid)])


def _embedding(args: Sequence[Any], _out: TensorValue) -> Array:
    weight, indices = args[:2]
    return np.asarray(weight[indices])


def _unfold(args: Sequence[Any], _out: TensorValue) -> Array:
    x, dim, size, step = args[:4]
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return np.asarray(windows[_along(x, dim, slice(None, None, step))])


def _split_at(x: Array, dim: int, sizes: Sequence[int]) -> tuple[Array, ...]:
    ends = np.cumsum(sizes)
    return tuple(x[_along(x, dim, slice(end - n, end))] for n, end in zip(sizes, ends, strict=True))


def _split(args: Sequence[Any], _outs: Sequence[TensorValue]) -> tuple[Array, ...]:
    x, size, dim = args[:3]
    length = x.shape[dim]
    starts = range(0, length, size) if length else range(1)
    return _split_at(x, dim, [min(size, length - start) for start in starts])


def _split_with_sizes(args: Sequence[Any], _outs: Sequence[TensorValue]) -> tuple[Array, ...]:
    x, sizes, dim = args[:3]
    return _split_at(x, dim, sizes)


def _unbind(args: Sequence[Any], _outs: Sequence[TensorValue]) -> tuple[Array, ...]:
    x, dim = args[:2]
    return tuple(np.moveaxis(x, dim, 0))


ROWS = {
    "aten::slice_copy.Tensor_out": one(_slice),
    "aten::slice_scatter.out": one(_slice_scatter),
    "aten::select_copy.int_out": one(_select),
    "aten::select_scatter.out": one(_select_scatter),
    "aten::narrow_copy.out": one(_narrow),
    "aten::index_select.out": one(_index_select),
    "aten::index.Tensor_out": one(_index),
    "aten::gather.out": one(_gather),
    "aten::embedding.out": one(_embedding),
    "aten::unfold_copy.out": one(_unfold),
    "aten::split_copy.Tensor_out": Kernel(_split),
    "aten::split_with_sizes_copy.out": Kernel(_split_with_sizes),
    "aten::unbind_copy.int_out": Kernel(_unbind),
}
