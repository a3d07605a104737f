"""Keyword spotting: a depthwise-separable CNN of the class of Zhang et al. 2017 (Hello Edge). Needs torch."""

from __future__ import annotations

import torch
from torch import nn

from corstone_models.gallery.seeded import conv, corners, seeded, several, uniform, unseen

FRAMES, FEATURES, WORDS, CHANNELS, BLOCKS = 49, 10, 12, 64, 4


class DsCnn(nn.Module):
    """``x``: float32 [1, 1, 49, 10], a second of speech features; returns 12 scores [1, 12]."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(1, CHANNELS, (10, 4), 2, (5, 1), bias=False), *_after(CHANNELS)]
        for _ in range(BLOCKS):
            layers += [conv(CHANNELS, CHANNELS, 3, groups=CHANNELS), *_after(CHANNELS)]
            layers += [conv(CHANNELS, CHANNELS, 1), *_after(CHANNELS)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(CHANNELS, WORDS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Features, mean over time and frequency, scores."""
        scores: torch.Tensor = self.head(self.features(x).mean(dim=(2, 3)))
        return scores


def _after(channels: int) -> list[nn.Module]:
    return [nn.BatchNorm2d(channels), nn.ReLU()]


def keyword_spotting() -> nn.Module:
    """The network with seeded weights."""
    return seeded(DsCnn, uniform(8, 1, FRAMES, FEATURES))


def example_inputs() -> tuple[torch.Tensor, ...]:
    """One input: it fixes the shape."""
    return (uniform(1, 1, FRAMES, FEATURES, seed=1),)


def calibration_inputs() -> list[tuple[torch.Tensor, ...]]:
    """What the observers see; without the corners one of 64 other inputs went beyond the ranges, and clipped."""
    return several(1, 1, FRAMES, FEATURES, count=32) + corners(1, 1, FRAMES, FEATURES, count=16)


def unseen_inputs(draw: int, count: int) -> list[tuple[torch.Tensor, ...]]:
    """Inputs that calibration did not see."""
    return unseen(draw, (1, 1, FRAMES, FEATURES), count=count)
