"""acos, asin and atanh as modules: one operator each, any shape, float32. Needs torch."""

from __future__ import annotations

import torch


class Acos(torch.nn.Module):
    """Arc cosine. ``x``: float32, any shape, in [-1, 1]; returns [0, pi]."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.acos(x)


class Asin(torch.nn.Module):
    """Arc sine. ``x``: float32, any shape, in [-1, 1]; returns [-pi/2, pi/2]."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.asin(x)


class Atanh(torch.nn.Module):
    """Inverse hyperbolic tangent. ``x``: float32, any shape, in (-1, 1); unbounded at the ends."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.atanh(x)
