"""Seeded networks whose activations stay in range, as trained ones' do. Needs torch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

SEED = 20


def seeded(make: Callable[[], nn.Module], *batch: torch.Tensor) -> nn.Module:
    """A module made under a seed, its batch norms holding the statistics of ``batch``; torch's own state stays."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(SEED)
        module = make()
        norms = [m for m in module.modules() if isinstance(m, nn.BatchNorm1d | nn.BatchNorm2d)]
        for norm in norms:
            norm.momentum = None  # a plain average over the passes
        if norms and batch:
            module.train()
            module(*batch)
    return module.eval()


def uniform(*shape: int, seed: int = SEED) -> torch.Tensor:
    """Float32 in [-1, 1), from a seed."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) * 2 - 1


def several(*shape: int, count: int = 16) -> list[tuple[torch.Tensor, ...]]:
    """Calibration sets of one input of ``shape``: as many draws of ``uniform``, none of them an example input."""
    return [(uniform(*shape, seed=100 + number),) for number in range(count)]


def corners(*shape: int, count: int) -> list[tuple[torch.Tensor, ...]]:
    """Calibration sets at the range's ends: every element is -1 or 1. They span what no draw from inside exceeds."""
    return [(uniform(*shape, seed=20_000 + number).sign(),) for number in range(count)]


def unseen(draw: int, *shapes: tuple[int, ...], count: int) -> list[tuple[torch.Tensor, ...]]:
    """Input sets that no observer saw, a tensor of each shape; ``draw`` 1 is what budgets are measured on, 2 judged."""
    first = 1_000_000 * draw
    return [
        tuple(uniform(*shape, seed=first + 10 * number + i) for i, shape in enumerate(shapes))
        for number in range(count)
    ]


def conv(inside: int, out: int, kernel: int | tuple[int, int], stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A convolution without bias, padded to keep the size at stride 1 (odd kernels)."""
    sizes = (kernel, kernel) if isinstance(kernel, int) else kernel
    padding = (sizes[0] // 2, sizes[1] // 2)
    return nn.Conv2d(inside, out, sizes, stride, padding, groups=groups, bias=False)
