"""Anomaly detection: the fully connected autoencoder of MLPerf Tiny's class, on 5 frames of 128 bands. Needs torch."""

from __future__ import annotations

import itertools

import torch
from torch import nn

from corstone_models.gallery.seeded import corners, seeded, several, uniform, unseen

FEATURES = 640
_SIZES = (FEATURES, 128, 128, 128, 128, 8, 128, 128, 128, 128)


class Autoencoder(nn.Module):
    """``x``: float32 [1, 640]; returns its reconstruction [1, 640]."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for inside, out in itertools.pairwise(_SIZES):
            layers += [nn.Linear(inside, out), nn.BatchNorm1d(out), nn.ReLU()]
        self.body = nn.Sequential(*layers, nn.Linear(_SIZES[-1], FEATURES))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Through the bottleneck and back."""
        y: torch.Tensor = self.body(x)
        return y


def anomaly_detection() -> nn.Module:
    """The network with seeded weights."""
    return seeded(Autoencoder, uniform(64, FEATURES))


def example_inputs() -> tuple[torch.Tensor, ...]:
    """One input: it fixes the shape."""
    return (uniform(1, FEATURES, seed=1),)


def calibration_inputs() -> list[tuple[torch.Tensor, ...]]:
    """What the observers see; without the corners other inputs go beyond the ranges, and clip."""
    return several(1, FEATURES, count=64) + corners(1, FEATURES, count=64)


def unseen_inputs(draw: int, count: int) -> list[tuple[torch.Tensor, ...]]:
    """Inputs that calibration did not see."""
    return unseen(draw, (1, FEATURES), count=count)
