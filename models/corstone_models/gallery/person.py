"""Person detection: MobileNetV2 (Sandler et al. 2018, table 2) with two classes, at 96 and 224 pixels. Needs torch."""

from __future__ import annotations

import torch
from torch import nn

from corstone_models.gallery.seeded import conv, seeded, several, uniform

# expansion, channels, blocks, first stride
_ROWS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
_LAST = 1280


class _Inverted(nn.Module):
    """Wide by 1x1, depthwise 3x3, narrow by 1x1; added to its input where the shapes agree."""

    def __init__(self, inside: int, out: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = inside * expansion
        layers: list[nn.Module] = _block(conv(inside, wide, 1), wide) if expansion > 1 else []
        layers += _block(conv(wide, wide, 3, stride, wide), wide)
        self.body = nn.Sequential(*layers, conv(wide, out, 1), nn.BatchNorm2d(out))
        self.added = stride == 1 and inside == out

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """``x``: [N, inside, H, W]."""
        y: torch.Tensor = self.body(x)
        return x + y if self.added else y


class MobileNetV2(nn.Module):
    """``x``: float32 [1, 3, size, size] in [-1, 1]; returns 2 scores [1, 2]."""

    def __init__(self, width: float) -> None:
        super().__init__()
        channels = _rounded(32 * width)
        layers: list[nn.Module] = _block(conv(3, channels, 3, 2), channels)
        for expansion, out, count, first in _ROWS:
            for number in range(count):
                layers.append(_Inverted(channels, _rounded(out * width), 1 if number else first, expansion))
                channels = _rounded(out * width)
        last = max(_LAST, _rounded(_LAST * width))
        self.features = nn.Sequential(*layers, *_block(conv(channels, last, 1), last))
        self.head = nn.Linear(last, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Features, mean over the image, scores."""
        scores: torch.Tensor = self.head(self.features(x).mean(dim=(2, 3)))
        return scores


def _rounded(channels: float) -> int:
    """To a multiple of 8, at least 8, and not more than a tenth below."""
    whole = max(8, int(channels + 4) // 8 * 8)
    return whole + 8 if whole < 0.9 * channels else whole


def _block(layer: nn.Conv2d, channels: int) -> list[nn.Module]:
    return [layer, nn.BatchNorm2d(channels), nn.ReLU6()]


def person_96() -> nn.Module:
    """Width 0.35 at 96 pixels."""
    return seeded(lambda: _sized(0.35, 96), uniform(4, 3, 96, 96))


def person_224() -> nn.Module:
    """Width 1.0 at 224 pixels."""
    return seeded(lambda: _sized(1.0, 224), uniform(2, 3, 224, 224))


def _sized(width: float, size: int) -> nn.Module:
    network = MobileNetV2(width)
    network.example_inputs = lambda: (uniform(1, 3, size, size, seed=1),)
    network.calibration_inputs = lambda: several(1, 3, size, size)
    return network
