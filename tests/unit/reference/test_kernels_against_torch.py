"""CPU kernels against torch's functions of the same name: odd shapes, negative dimensions, NaN and infinities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from corstone.formats.pte import TensorValue
from corstone.reference.kernels import KERNELS


def noise(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def whole(*shape: int) -> Any:
    return (noise(*shape) * 3).round()


SPECIAL = torch.tensor([0.0, 1.0, -1.0, 0.5, -0.5, 2.5, torch.inf, -torch.inf, torch.nan, 3e38, 1e-40])
A, B = SPECIAL[:, None].expand(11, 11).contiguous(), SPECIAL.expand(11, 11).contiguous()
INT8 = torch.arange(-128, 128).to(torch.int8)
INT32 = torch.arange(-(2**31), 2**31, 2**24, dtype=torch.int64).to(torch.int32)
X = noise(2, 3, 5)
IMAGE = noise(1, 3, 5, 7)
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
PAIRS = ("maximum.default", "minimum.default", "add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor")
ALONE = ("neg", "floor", "ceil", "trunc", "round", "isnan", "isinf", "logical_not", "reciprocal", "sqrt", "relu")

# Name of torch's function, name of the row where it is not that with "_out", operands.
CASES: list[tuple[str, str, tuple[Any, ...]]] = [
    *((f"{n}.Tensor", "", (A, B)) for n in COMPARE),
    *((f"{n}.Scalar", "", (A, 0.5)) for n in COMPARE),
    *((f"{n}.Scalar", "", (INT8, -7)) for n in COMPARE),
    *((f"{n}.Tensor", "", (INT8, INT32)) for n in COMPARE),
    *((f"logical_{n}.default", "", (A, B)) for n in ("and", "or", "xor")),
    *((n, "", (A, B)) for n in PAIRS),
    *((n, "", (INT8, INT32)) for n in PAIRS[:-1]),
    ("fmod.Tensor", "", (noise(7, 9), noise(7, 9).flip(0))),
    ("sign.default", "", (X,)),
    ("sign.default", "", (INT8,)),
    *((f"{n}.default", "", (A,)) for n in ALONE),
    *((f"bitwise_{n}.Tensor", "", (INT8, INT8.flip(0))) for n in ("and", "or", "xor")),
    *((f"bitwise_{n}.Scalar", "", (INT32, 37)) for n in ("and", "or", "xor")),
    ("bitwise_not.default", "", (INT8,)),
    ("abs.default", "", (A,)),
    ("abs.default", "", (INT8,)),
    ("rsub.Scalar", "", (X, 0.1)),
    ("add.Scalar", "", (INT8, 3)),
    ("add.Scalar", "", (INT8, 0.5)),
    ("mul.Scalar", "", (X, 0.1)),
    ("div.Scalar", "", (INT8, 3)),
    ("fmod.Scalar", "", (X, 0.7)),
    ("where.self", "", (A > B, A, B)),
    ("clamp.default", "clamp.out", (A, -0.5, 1.5)),
    ("clamp.default", "clamp.out", (A, None, 0.25)),
    ("clamp.default", "clamp.out", (INT8, -5, 7)),
    ("clamp.Tensor", "", (X, X - 1, X.flip(0))),
    ("hardtanh.default", "", (A, -0.7, 0.9)),
    ("leaky_relu.default", "", (A, 0.1)),
    ("cat.default", "", ([X, X[:, :1], torch.zeros(0)], -2)),
    ("stack.default", "", ([X, X], -1)),
    ("permute_copy.default", "", (X, (2, 0, 1))),
    ("permute_copy.default", "", (X, (-1, 0, 1))),
    ("transpose_copy.int", "", (X, -1, 0)),
    ("t_copy.default", "", (X[0],)),
    ("expand_copy.default", "", (X[:, :1], (4, 2, 3, 5))),
    ("view_copy.default", "", (X, (5, -1))),
    ("squeeze_copy.dims", "", (X[:, :1], (1, 0))),
    ("squeeze_copy.dim", "", (X[:, :1], -2)),
    ("unsqueeze_copy.default", "", (X, -1)),
    ("repeat.default", "", (X, (2, 1, 3, 2))),
    ("flip.default", "", (X, (-1, 0))),
    ("roll.default", "", (X, (1, -7), (0, 2))),
    ("constant_pad_nd.default", "", (X, (1, 2, 0, 1), 0.5)),
    ("reflection_pad1d.default", "", (X, (1, 3))),
    ("reflection_pad2d.default", "", (IMAGE, (1, 3, 2, 1))),
    ("replication_pad1d.default", "", (X, (2, 0))),
    ("replication_pad2d.default", "", (IMAGE, (1, 3, 2, 1))),
    ("pixel_shuffle.default", "", (noise(2, 8, 3, 4), 2)),
    ("pixel_unshuffle.default", "", (noise(2, 2, 6, 9), 3)),
    ("tril.default", "", (X, -1)),
    ("full.default", "", ((2, 3), 0.1)),
    ("slice_copy.Tensor", "", (X, -1, -4, 9, 2)),
    ("slice_copy.Tensor", "", (X, 1, None, None, 1)),
    ("slice_scatter.default", "", (X, X[:, :2], 1, -2, 99, 1)),
    ("select_copy.int", "", (X, -2, -1)),
    ("select_scatter.default", "", (X, X[:, 0], 1, -1)),
    ("narrow_copy.default", "", (X, 2, 1, 3)),
    ("index_select.default", "", (X, -1, torch.tensor([4, 0, 4]))),
    ("index.Tensor", "", (X, [None, torch.tensor([2, -1]), torch.tensor([0, 3])])),
    ("index.Tensor", "", (X, [torch.tensor([1, 0]), None, torch.tensor([0, 3])])),
    ("gather.default", "", (X, 1, torch.tensor([[[0, 2], [1, 1]]]))),
    ("gather.default", "", (X, -1, torch.tensor([[[0, 2], [1, 1]]]))),
    ("embedding.default", "", (X[0], torch.tensor([[2, 0], [1, 1]]))),
    ("unfold_copy.default", "", (X, -1, 3, 2)),
    ("split_copy.Tensor", "", (X, 2, -1)),
    ("split_with_sizes_copy.default", "", (X, (1, 4), 2)),
    ("unbind_copy.int", "", (X, -2)),
    ("arange.start_step", "arange.start_out", (2, 31, 3)),
    ("scalar_tensor.default", "", (0.1,)),
    ("argmax.default", "", (A, -1, True)),
    ("argmax.default", "", (whole(5, 6), None, False)),
    ("argmin.default", "", (whole(5, 6), 0, False)),
    ("max.dim", "max.dim_max", (whole(5, 6), -1, False)),
    ("min.dim", "min.dim_min", (A, 0, True)),
    ("max.default", "max.unary_out", (X,)),
    ("min.default", "min.unary_out", (A,)),
    ("amax.default", "", (A, (1,), False)),
    ("amin.default", "", (X, (0, -1), True)),
    ("any.dim", "any.out", (A > 1, -1, False)),
    ("any.dims", "", (whole(2, 3, 4), (0, 2), False)),
    ("any.default", "any.all_out", (X,)),
    ("max_pool2d_with_indices.default", "", (whole(2, 3, 9, 10), (3, 2), (2, 1), (1,), (2, 1), False)),
    ("max_pool2d_with_indices.default", "", (whole(3, 9, 10), (2,), (), (0,), (1,), True)),
    ("topk.default", "topk.values", (noise(4, 9), 3, -1, True, True)),
    ("topk.default", "topk.values", (noise(4, 90), 90, 1, False, True)),
    ("topk.default", "topk.values", (torch.tensor([1.0, torch.nan, 3.0]), 2, 0, True, True)),
    ("upsample_nearest2d.vec", "", (IMAGE, None, (1.7, 2.5))),
    ("upsample_nearest2d.vec", "", (IMAGE, (3, 13), None)),
]
# Sums and fused products: torch adds in another order, and rounds each product.
NEAR: list[tuple[str, str, tuple[Any, ...]]] = [
    ("add.Tensor", "add.out", (X, X.flip(0), 0.3)),
    ("sub.Tensor", "sub.out", (X, X.flip(0), 0.3)),
    ("mm.default", "", (X[0], X[1].t())),
    ("bmm.default", "", (X, X.transpose(1, 2))),
    ("addmm.default", "", (X[0, :, 0], X[0], X[1].t())),
    ("sum.dim_IntList", "sum.IntList_out", (noise(4, 37, 3), (0, -2), True)),
    ("mean.dim", "mean.out", (noise(4, 37, 3), (1,), False)),
    ("cumsum.default", "", (noise(4, 37, 3), -2)),
    ("avg_pool2d.default", "", (noise(2, 9, 10), (3, 2), (2,), (1,), False, True, None)),
    ("avg_pool2d.default", "", (noise(1, 2, 9, 10), (3,), (), (1,), True, False, None)),
    ("avg_pool2d.default", "", (noise(1, 2, 9, 10), (3, 2), (), (0,), False, True, 5)),
    ("upsample_bilinear2d.vec", "", (IMAGE, (11, 13), False, None)),
    ("upsample_bilinear2d.vec", "", (IMAGE, None, False, (1.7, 2.0))),
    ("upsample_bilinear2d.vec", "", (IMAGE, (30, 41), True, None)),
]


def plain(operand: Any) -> Any:
    """As the plan gives it: arrays, tuples of them, numbers."""
    if isinstance(operand, torch.Tensor):
        return operand.numpy()
    if isinstance(operand, list):
        return tuple(plain(x) for x in operand)
    return operand


def both(function: str, row: str, operands: tuple[Any, ...]) -> list[tuple[Any, Any]]:
    """Each output as torch and as the kernel makes it."""
    name, overload = function.split(".")
    row = row or f"{name}.{'out' if overload == 'default' else overload + '_out'}"
    known = f"aten::{row}" if f"aten::{row}" in KERNELS else f"aten::{name}.out"
    # The factor of add and sub, and both of addmm, have a name in torch and a place in the plan.
    scaled = name in ("add", "sub", "rsub")
    factors = {"alpha": operands[2]} if scaled and len(operands) == 3 else {}
    made = getattr(getattr(torch.ops.aten, name), overload)(*operands[: 2 if scaled else None], **factors)
    wanted = [x.numpy() for x in (made if isinstance(made, tuple | list) else (made,))]
    outs = [TensorValue(str(x.dtype), x.shape, tuple(range(x.ndim)), None, None) for x in wanted]
    defaults = [1] if scaled and not factors else [1, 1] if name == "addmm" else []
    found = KERNELS[known].compute([*(plain(x) for x in operands), *defaults], outs)
    for x, out in zip(found, outs, strict=True):
        assert (str(x.dtype), x.shape) == (out.dtype, out.shape)
    return list(zip(wanted, found, strict=True))


@pytest.mark.parametrize(("function", "row", "operands"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_it_is_torchs(function: str, row: str, operands: tuple[Any, ...]) -> None:
    for wanted, found in both(function, row, operands):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("function", "row", "operands"), NEAR, ids=[f"{i}-{c[0]}" for i, c in enumerate(NEAR)])
def test_it_is_torchs_but_for_rounding(function: str, row: str, operands: tuple[Any, ...]) -> None:
    """What the last bits are is compared with a board (``tests/fvp/test_cpu_kernels.py``)."""
    for wanted, found in both(function, row, operands):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
