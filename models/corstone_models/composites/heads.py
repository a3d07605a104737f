"""Small networks of real use in which acos, asin, atan and atanh sit among other operators. Needs torch."""

from __future__ import annotations

import torch

from corstone_models.composites.registry import AXIS, CORRELATION_LIMIT, FILTER_GAIN, FISHER_FACTOR


class JointAngle(torch.nn.Module):
    """Angle between a limb and a fixed axis: acos of a normalised dot product. 8 operators.

    ``x``: float32 [N, 3], no row of zeros; returns radians [N, 1] in [0, pi].
    """

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("axis", torch.tensor([AXIS], dtype=torch.float32))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The clamp keeps a rounded cosine inside the domain of acos."""
        along = torch.sum(x * self.axis, dim=-1, keepdim=True)
        squares = torch.sum(x * x, dim=-1, keepdim=True)
        return torch.acos(torch.clamp(along * torch.rsqrt(squares), -1.0, 1.0))


class OrientationFilter(torch.nn.Module):
    """One step of a complementary filter for pitch and roll. 9 operators.

    ``measured``: float32 [N, 2], the sine of the pitch and the tangent of the roll, from an accelerometer; ``prior``:
    float32 [N, 2], radians, from a gyroscope; returns radians [N, 2].
    """

    def forward(self, measured: torch.Tensor, prior: torch.Tensor) -> torch.Tensor:
        """Move the prior a part of the way to what was measured."""
        pitch = torch.asin(torch.clamp(measured[:, 0:1], -1.0, 1.0))
        roll = torch.atan(measured[:, 1:2])
        seen = torch.cat([pitch, roll], dim=1)
        return prior + (seen - prior) * FILTER_GAIN


class FisherZ(torch.nn.Module):
    """Fisher's z score of the correlation of two standardised signals. 5 operators.

    ``x``, ``y``: float32 [N, 16], each row with mean 0 and variance 1; returns scores [N, 1].
    """

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The clamp keeps the correlation off the poles of atanh."""
        correlation = torch.mean(x * y, dim=-1, keepdim=True)
        return torch.atanh(torch.clamp(correlation, -CORRELATION_LIMIT, CORRELATION_LIMIT)) * FISHER_FACTOR
