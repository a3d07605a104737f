"""One operator each: those with a restricted domain or a pole besides acos, asin and atanh. Needs torch."""

from __future__ import annotations

import torch


class Acosh(torch.nn.Module):
    """``x``: float32 in [1, inf)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.acosh(x)


class Log(torch.nn.Module):
    """``x``: float32 in (0, inf)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.log(x)


class Log1p(torch.nn.Module):
    """``x``: float32 in (-1, inf)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.log1p(x)


class Log10(torch.nn.Module):
    """``x``: float32 in (0, inf)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.log10(x)


class Sqrt(torch.nn.Module):
    """``x``: float32 in [0, inf). ExecuTorch turns it into ``pow(x, 0.5)``."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.sqrt(x)


class Rsqrt(torch.nn.Module):
    """``x``: float32 in (0, inf)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.rsqrt(x)


class Reciprocal(torch.nn.Module):
    """``x``: float32 except 0."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.reciprocal(x)


class Erfinv(torch.nn.Module):
    """``x``: float32 in (-1, 1)."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.erfinv(x)


class Pow03(torch.nn.Module):
    """``x``: float32 in [0, inf), to the power of 0.3."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Elementwise."""
        return torch.pow(x, 0.3)
