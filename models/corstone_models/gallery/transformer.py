"""A small transformer block: layernorm, attention (matmul, softmax), layernorm, gelu between linears. Needs torch."""

from __future__ import annotations

import torch
from torch import nn

from corstone_models.gallery.seeded import corners, seeded, several, uniform, unseen

TOKENS, WIDTH, HEADS = 16, 32, 2
_HEAD = WIDTH // HEADS


class Block(nn.Module):
    """``x``: float32 [1, 16, 32], a token a row; returns the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query, self.key = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attention and a perceptron, each added to its input."""
        y = self.before_attention(x)
        q, k, v = (_heads(project(y)) for project in (self.query, self.key, self.value))
        weights = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * _HEAD**-0.5, dim=-1)
        mixed = torch.matmul(weights, v).transpose(1, 2).reshape(1, TOKENS, WIDTH)
        x = x + self.out(mixed)
        return x + self.mlp(self.before_mlp(x))


def _heads(x: torch.Tensor) -> torch.Tensor:
    """[1, tokens, width] as [1, heads, tokens, width of a head]."""
    return x.reshape(1, TOKENS, HEADS, _HEAD).transpose(1, 2)


def transformer_block() -> nn.Module:
    """The block with seeded weights."""
    return seeded(Block)


def example_inputs() -> tuple[torch.Tensor, ...]:
    """One input: it fixes the shape."""
    return (uniform(1, TOKENS, WIDTH, seed=1),)


def calibration_inputs() -> list[tuple[torch.Tensor, ...]]:
    """What the observers see; without the corners other inputs go beyond the ranges, and clip."""
    return several(1, TOKENS, WIDTH) + corners(1, TOKENS, WIDTH, count=16)


def unseen_inputs(draw: int, count: int) -> list[tuple[torch.Tensor, ...]]:
    """Inputs that calibration did not see."""
    return unseen(draw, (1, TOKENS, WIDTH), count=count)
