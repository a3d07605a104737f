"""Kernels that move elements without looking at them: copies, views, permutations, repetition, padding.

Source: ExecuTorch, kernels/portable/cpu, the ``op_*.cpp`` of each name. Logical values only: where a portable kernel
takes the default dimension order alone, the device refuses another by itself. Leaves out taking parts of a tensor
(``parts``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, Kernel, one


def _copy(args: Sequence[Any], out: TensorValue) -> Array:
    """Another memory layout or dtype; logical values stay. Floats go to integers by truncation, as in C."""
    return np.asarray(args[0]).astype(np.dtype(out.dtype))


def _copy_into(args: Sequence[Any], out: TensorValue) -> Array:
    """``copy.out``: the second operand, spread over the first one's shape."""
    return np.broadcast_to(_copy(args[1:], out), out.shape)


def _reshape(args: Sequence[Any], out: TensorValue) -> Array:
    return np.asarray(args[0].reshape(out.shape))


def _expand(args: Sequence[Any], out: TensorValue) -> Array:
    return np.broadcast_to(args[0], out.shape)


def _permute(args: Sequence[Any], _out: TensorValue) -> Array:
    return np.asarray(args[0].transpose(args[1]))


def _transpose(args: Sequence[Any], _out: TensorValue) -> Array:
    x = args[0]
    return x if x.ndim == 0 else np.swapaxes(x, args[1], args[2])


def _t(args: Sequence[Any], _out: TensorValue) -> Array:
    return np.asarray(args[0].T)


def _same_dtype(tensors: Sequence[Array], out: TensorValue) -> None:
    # op_cat.cpp copies the bytes of another dtype of the same size: nothing that a network means.
    if any(x.dtype != np.dtype(out.dtype) for x in tensors):
        raise ConfigError(
            f"cat or stack of {', '.join(sorted({str(x.dtype) for x in tensors}))} into {out.dtype} has no reference",
            cause=Cause.UNSUPPORTED,
            hint="convert the tensors to one dtype first",
        )


def _cat(args: Sequence[Any], out: TensorValue) -> Array:
    _same_dtype(args[0], out)
    # Empty tensors of rank 1 fit anything, whatever their rank (op_cat.cpp skips all that are empty).
    kept = [x for x in args[0] if x.size or x.ndim == len(out.shape)]
    return np.concatenate(kept, args[1]) if kept else np.zeros(out.shape, np.dtype(out.dtype))


def _stack(args: Sequence[Any], out: TensorValue) -> Array:
    _same_dtype(args[0], out)
    return np.stack(args[0], args[1])


def _repeat(args: Sequence[Any], _out: TensorValue) -> Array:
    return np.tile(args[0], args[1])


def _flip(args: Sequence[Any], _out: TensorValue) -> Array:
    return np.flip(args[0], tuple(args[1]))


def _roll(args: Sequence[Any], _out: TensorValue) -> Array:
    x, shifts, dims = args[:3]
    return np.roll(x, tuple(shifts), tuple(dims))


def _widths(x: Array, pad: Sequence[int]) -> list[tuple[int, int]]:
    """Of every dimension, before and after; ``pad`` lists the last dimension first."""
    pairs = [(pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]


def _pad(args: Sequence[Any], out: TensorValue) -> Array:
    """A constant around; negative widths, which crop, are refused by the device, too."""
    x, pad, value = args[:3]
    return np.pad(x, _widths(x, pad), constant_values=np.dtype(out.dtype).type(value))


def _pad_mode(mode: Literal["reflect", "edge"]) -> Kernel:
    def around(args: Sequence[Any], _out: TensorValue) -> Array:
        x, pad = args[:2]
        return np.asarray(np.pad(x, _widths(x, pad), mode=mode))

    return one(around)


def _pixel_shuffle(args: Sequence[Any], out: TensorValue) -> Array:
    x, r = args[:2]
    c, h, w = out.shape[-3], x.shape[-2], x.shape[-1]
    split = x.reshape(-1, c, r, r, h, w)
    return np.asarray(split.transpose(0, 1, 4, 2, 5, 3).reshape(out.shape))


def _pixel_unshuffle(args: Sequence[Any], out: TensorValue) -> Array:
    x, r = args[:2]
    c, h, w = x.shape[-3], out.shape[-2], out.shape[-1]
    split = x.reshape(-1, c, h, r, w, r)
    return np.asarray(split.transpose(0, 1, 3, 5, 2, 4).reshape(out.shape))


def _full(args: Sequence[Any], out: TensorValue) -> Array:
    return np.full(out.shape, args[1], np.dtype(out.dtype))


def _zeros(_args: Sequence[Any], out: TensorValue) -> Array:
    return np.zeros(out.shape, np.dtype(out.dtype))


def _ones(_args: Sequence[Any], out: TensorValue) -> Array:
    return np.ones(out.shape, np.dtype(out.dtype))


def _scalar_tensor(args: Sequence[Any], out: TensorValue) -> Array:
    return np.asarray(args[0], np.dtype(out.dtype))


def _tril(args: Sequence[Any], _out: TensorValue) -> Array:
    return np.tril(args[0], args[1])


ROWS = {
    "dim_order_ops::_to_dim_order_copy.out": one(_copy),
    "dim_order_ops::_clone_dim_order.out": one(_copy),
    "aten::clone.out": one(_copy),
    "aten::_to_copy.out": one(_copy),
    "aten::alias_copy.out": one(_copy),
    "aten::detach_copy.out": one(_copy),
    "aten::copy.out": one(_copy_into),
    "aten::view_copy.out": one(_reshape),
    "aten::squeeze_copy.dim_out": one(_reshape),
    "aten::squeeze_copy.dims_out": one(_reshape),
    "aten::unsqueeze_copy.out": one(_reshape),
    "aten::expand_copy.out": one(_expand),
    "aten::permute_copy.out": one(_permute),
    "aten::transpose_copy.int_out": one(_transpose),
    "aten::t_copy.out": one(_t),
    "aten::cat.out": one(_cat),
    "aten::stack.out": one(_stack),
    "aten::repeat.out": one(_repeat),
    "aten::flip.out": one(_flip),
    "aten::roll.out": one(_roll),
    "aten::constant_pad_nd.out": one(_pad),
    **{f"aten::reflection_pad{n}d.out": _pad_mode("reflect") for n in (1, 2, 3)},
    **{f"aten::replication_pad{n}d.out": _pad_mode("edge") for n in (1, 2, 3)},
    "aten::pixel_shuffle.out": one(_pixel_shuffle),
    "aten::pixel_unshuffle.out": one(_pixel_unshuffle),
    "aten::full.out": one(_full),
    "aten::full_like.out": one(_full),
    "aten::zeros.out": one(_zeros),
    "aten::ones.out": one(_ones),
    "aten::scalar_tensor.out": one(_scalar_tensor),
    "aten::tril.out": one(_tril),
}
