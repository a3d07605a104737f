"""What programs of CPU kernels alone compute: each function takes tensors and gives many, one or more a kernel.

Loaded from its path by the tests, and by the compile child where it needs a network.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as f

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, torch.inf, -torch.inf, torch.nan, 3e38, 1e-40, -2e-45)


def noise(*shape: int) -> Any:
    """Normal numbers, the same each time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(3))


def pairs() -> tuple[Any, Any]:
    """All pairs of special values, [15, 15] twice."""
    values = torch.tensor(SPECIAL)
    return values[:, None].expand(15, 15).contiguous(), values.expand(15, 15).contiguous()


def plane_with_ties() -> Any:
    """[2, 3, 9, 10]: a NaN, equal values, zeros of both signs."""
    x = noise(2, 3, 9, 10)
    x[0, 0, 2, 3] = torch.nan
    x[0, 1] = torch.round(x[0, 1])
    x[1, 2] = 0.0
    x[1, 2, ::2] = -0.0
    return x


def movement(x: Any, y: Any) -> list[Any]:
    """[2, 3, 4] twice."""
    return [
        torch.cat([x, y, x], -2),
        torch.stack([x, y], 1),
        x.permute(2, 0, 1),
        x.transpose(-1, 0),
        x[0].t(),
        x.unsqueeze(-2).expand(2, 3, 5, 4),
        x.repeat(2, 1, 3),
        x.flip(0, -1),
        x.reshape(4, 6),
        x[:, 1:2].squeeze(1),
        f.pad(x, (1, 2, 0, 1), value=0.5),
        f.pad(x, (1, 2), mode="reflect"),
        f.pad(x, (1, 2, 1, 1), mode="replicate"),
        x.to(torch.int32) + torch.full((2, 3, 4), 7, dtype=torch.int32),
        torch.roll(x, (1, -5), (0, 2)),
        torch.tril(x, 1),
        f.pixel_shuffle(x.reshape(1, 4, 2, 3), 2),
        f.pixel_unshuffle(x.reshape(1, 1, 4, 6), 2),
        x.clone(),
        x.to(torch.float16),
    ]


def parts(x: Any, i: Any) -> list[Any]:
    """[2, 6, 5] and indices [2, 3]."""
    return [
        x[:, 1:-1:2, -3:],
        x.select(-2, -1),
        *x.split(4, 1),
        *x.split([1, 2, 2], -1),
        *x.unbind(1),
        torch.index_select(x, 1, i[1]),
        x[:, i],
        x[i[0], :, i[0]],
        torch.gather(x[:, :, 0], 1, i),
        x.unfold(1, 3, 2),
        torch.slice_scatter(x, x[:, :2], 1, 2, 4),
        torch.select_scatter(x, x[:, 0], 1, -1),
        torch.narrow_copy(x, 1, 2, 3),
        f.embedding(i, x[0]),
    ]


def comparison(x: Any, y: Any) -> list[Any]:
    """Pairs."""
    compare = (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)
    return [
        *(function(x, y) for function in compare),
        *(function(x, 0.1) for function in compare),
        *(function(x, y) for function in (torch.logical_and, torch.logical_or, torch.logical_xor)),
        torch.where(x > y, x, y),
        torch.isnan(x),
        torch.isinf(x),
        torch.logical_not(x),
        x.masked_fill(x < y, -0.0),
    ]


def bounds(x: Any, y: Any) -> list[Any]:
    """Pairs."""
    return [
        torch.maximum(x, y),
        torch.minimum(x, y),
        x.clamp(-0.5, 1.5),
        x.clamp(min=0.0),
        x.clamp(max=-0.0),
        torch.clamp(x, y, y + 1),
        f.hardtanh(x, -0.7, 0.9),
        f.relu6(x),
        f.relu(x),
        x.nan_to_num(0.0, 1.0, -1.0).to(torch.int8).clamp(0, 1),
    ]


def arithmetic(x: Any, y: Any) -> list[Any]:
    """Pairs."""
    two = (torch.add, torch.sub, torch.mul, torch.div, torch.fmod)
    one = (torch.abs, torch.neg, torch.sign, torch.floor, torch.ceil, torch.trunc, torch.round, torch.sqrt)
    return [
        *(function(x, y) for function in two),
        *(function(x, 0.1) for function in two),
        *(function(x) for function in one),
        0.1 - x,
        torch.reciprocal(x),
        f.leaky_relu(x, 0.1),
        torch.arange(2, 31, 3) * 2,
        torch.arange(5, dtype=torch.float32) + 1,
    ]


def integers(x: Any, y: Any) -> list[Any]:
    """int8 and int32, [300]."""
    return [
        x + x,
        x * x,
        x - y,
        torch.add(x, x, alpha=3),
        x / y,
        x + 0.5,
        x & 15,
        x | y,
        x ^ x.roll(1),
        ~x,
        -x,
        x.abs(),
        torch.fmod(y, 7),
        torch.maximum(x, y),
        torch.sign(y),
    ]


def products(x: Any, y: Any) -> list[Any]:
    """[4, 37, 11] and [4, 11, 37]: whatever a processor can fuse."""
    z = y.transpose(1, 2)
    return [
        torch.bmm(x, y),
        x[0] @ y[0],
        torch.addmm(x[1, 0, 0:1] + y[1, 0], x[0], y[0]),
        torch.add(x, z, alpha=0.3),
        torch.sub(x, z, alpha=0.3),
        torch.add(x, 0.7, alpha=0.3),
    ]


def pooling(x: Any) -> list[Any]:
    """``plane_with_ties``."""
    return [
        *f.max_pool2d(x, 2, return_indices=True),
        *f.max_pool2d(x, (3, 2), (2, 1), 1, (2, 1), return_indices=True),
        *f.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
        *f.max_pool2d(x[0], 2, 2, return_indices=True),
        f.avg_pool2d(x, 3),
        f.avg_pool2d(x, (3, 2), stride=2, padding=1),
        f.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        f.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
        f.avg_pool2d(x, 2, divisor_override=3),
    ]


def reductions(x: Any, y: Any) -> list[Any]:
    """Pairs; a tensor of rank 0 would not leave Arm's image."""
    return [
        x.argmax(-1),
        y.argmin(0, keepdim=True),
        x.argmax().reshape(1),
        *x.max(0),
        *y.min(-1, keepdim=True),
        y.amax((0, 1)).reshape(1),
        torch.round(x[:11]).amin(1),
        x[:11].max().reshape(1),
        y[:, :9].min().reshape(1),
        (x > 0).any(1),
        x.any().reshape(1),
    ]


def sums(x: Any) -> list[Any]:
    """[4, 37, 11]."""
    return [
        x.sum(1),
        x.sum((0, 2)),
        x.sum(-1, keepdim=True),
        x.sum().reshape(1),
        x.mean(1),
        x.mean((0, 1)),
        x.mean(-1),
        x.cumsum(1),
    ]


def largest(x: Any, y: Any, z: Any) -> list[Any]:
    """[3, 40], [5, 6] and [2, 700], many of them equal: introselect, introsort and the heap."""
    return [
        *torch.topk(x, 5),
        *torch.topk(x, 40, largest=False),
        *torch.topk(y, 3),
        *torch.topk(y, 2, dim=0),
        *torch.topk(z, 9),
        *torch.topk(z, 200),
        *torch.topk(z, 200, sorted=False),
    ]


def resizing(x: Any) -> list[Any]:
    """[2, 3, 5, 7]."""
    sizes: tuple[dict[str, Any], ...] = (
        {"scale_factor": 2.0},
        {"scale_factor": 1.7},
        {"size": (11, 13)},
        {"size": (3, 4)},
        {"size": (5, 23)},
        {"size": (29, 41)},
    )
    return [
        *(f.interpolate(x, **size) for size in sizes),
        *(f.interpolate(x, mode="bilinear", **size) for size in sizes),
        *(f.interpolate(x, size=size, mode="bilinear", align_corners=True) for size in ((11, 13), (1, 1), (30, 41))),
    ]


def kept(x: Any, n: Any, image: Any, volume: Any) -> list[Any]:
    """Operators that ExecuTorch takes apart unless they are ``PRESERVED``; float [2, 3, 4], int32 [3, 4]."""
    a = torch.ops.aten
    return [
        *(scalar(x, 0.3) for scalar in (a.add.Scalar, a.sub.Scalar, a.mul.Scalar, a.div.Scalar, a.rsub.Scalar)),
        a.bitwise_and.Tensor(n, n + 5),
        a.bitwise_or.Scalar(n, 5),
        a.bitwise_xor.Scalar(n, 5),
        a.any.dims(x > 1, (0, 2)),
        a.pixel_shuffle(image, 2),
        a.pixel_unshuffle(image, 2),
        *(pad(x, (1, 2)) for pad in (a.reflection_pad1d, a.replication_pad1d)),
        *(pad(image, (1, 2, 3, 1)) for pad in (a.reflection_pad2d, a.replication_pad2d)),
        *(pad(volume, (1, 2, 3, 1, 0, 2)) for pad in (a.reflection_pad3d, a.replication_pad3d)),
        a.roll(x, (1, -5), (0, 2)),
        a.select_scatter(x, x[:, 0], 1, -1),
        *a.split_copy.Tensor(x, 2, 1),
        a.squeeze_copy.dim(x[:, :1], 1),
        a.stack([x, x * 2], -1),
        a.t_copy(x[0]),
        a.transpose_copy.int(x, 0, -1),
        a.tril(x, 1),
        *a.unbind_copy.int(x, -1),
        a.alias_copy(x),
        a.detach_copy(x),
        a.copy(x, x[:1]),
        a.full_like(x, 0.3),
        a.ones((2, 3)),
        a.zeros((2, 3)),
        a.arange(7),
    ]


def copies(x: Any) -> list[Any]:
    """Without operators of dimension order."""
    return [x.clone(), x.to(torch.int32), x[:, :, 1:].clone()]


PRESERVED = """add.Scalar sub.Scalar mul.Scalar div.Scalar rsub.Scalar
bitwise_and.Tensor bitwise_or.Scalar bitwise_xor.Scalar any.dims
pixel_shuffle.default pixel_unshuffle.default reflection_pad1d.default reflection_pad2d.default
reflection_pad3d.default replication_pad1d.default replication_pad2d.default replication_pad3d.default roll.default
select_scatter.default split_copy.Tensor squeeze_copy.dim stack.default t_copy.default transpose_copy.int tril.default
unbind_copy.int alias_copy.default detach_copy.default copy.default full_like.default ones.default zeros.default
arange.default"""


GROUPS: dict[str, tuple[Any, ...]] = {
    "movement": (noise(2, 3, 4), noise(2, 3, 4)),
    "parts": (noise(2, 6, 5), torch.tensor([[1, 0, 1], [2, 2, 5]])),
    "comparison": pairs(),
    "bounds": pairs(),
    "arithmetic": pairs(),
    "integers": ((noise(300) * 50).clamp(-128, 127).to(torch.int8), (noise(300) * 1e9).to(torch.int32)),
    "products": (noise(4, 37, 11), noise(4, 11, 37)),
    "pooling": (plane_with_ties(),),
    "reductions": pairs(),
    "sums": (noise(4, 37, 11),),
    "largest": ((noise(3, 40) * 3).round(), (noise(5, 6) * 2).round(), (noise(2, 700) * 3).round()),
    "resizing": (noise(2, 3, 5, 7),),
    "kept": (
        noise(2, 3, 4),
        torch.arange(12, dtype=torch.int32).reshape(3, 4),
        noise(1, 4, 4, 6),
        noise(1, 2, 3, 4, 5),
    ),
    "copies": (noise(2, 3, 4),),
}
