"""Person detection: MobileNetV2 (Sandler et al. 2018, table 2) with two classes, at 96 and 224 pixels. Needs torch.

The weights were trained by ``scripts/train_person`` and lie beside this file. Every weight is a whole number of steps
of its channel, so that int8 holds it as it is: 127 steps to either side at 96 pixels, 7 at 224, which keeps that file
small. As networks of this kind that are deployed do, it ends in a softmax. Leaves out the training.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from corstone_models.gallery.pictures import pictures
from corstone_models.gallery.seeded import conv, seeded

# expansion, channels, blocks, first stride
_ROWS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
_LAST = 1280
STEPS = {96: 127, 224: 7}
"""Pixels and how many steps a channel's largest weight is."""
WIDTHS = {96: 0.35, 224: 1.0}
"""Pixels and the width that goes with them."""
EXAMPLE, CALIBRATION, UNSEEN = 1, 100, 1000
"""Seeds of the pictures; draws of unseen ones count from the last."""


class Inverted(nn.Module):
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
    """``x``: float32 [N, 3, size, size] in [-1, 1]; returns the shares of surroundings and person [N, 2]."""

    def __init__(self, width: float) -> None:
        super().__init__()
        channels = _rounded(32 * width)
        layers: list[nn.Module] = _block(conv(3, channels, 3, 2), channels)
        for expansion, out, count, first in _ROWS:
            for number in range(count):
                layers.append(Inverted(channels, _rounded(out * width), 1 if number else first, expansion))
                channels = _rounded(out * width)
        last = max(_LAST, _rounded(_LAST * width))
        self.features = nn.Sequential(*layers, *_block(conv(channels, last, 1), last))
        self.head = nn.Linear(last, 2)

    def scores(self, x: torch.Tensor) -> torch.Tensor:
        """Features, mean over the image, scores [N, 2]."""
        scores: torch.Tensor = self.head(self.features(x).mean(dim=(2, 3)))
        return scores

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The scores as shares of one."""
        return torch.softmax(self.scores(x), dim=1)


def _rounded(channels: float) -> int:
    """To a multiple of 8, at least 8, and not more than a tenth below."""
    whole = max(8, int(channels + 4) // 8 * 8)
    return whole + 8 if whole < 0.9 * channels else whole


def _block(layer: nn.Conv2d, channels: int) -> list[nn.Module]:
    return [layer, nn.BatchNorm2d(channels), nn.ReLU6()]


def fresh(size: int) -> MobileNetV2:
    """A network before training."""
    network = seeded(lambda: MobileNetV2(WIDTHS[size]))
    assert isinstance(network, MobileNetV2)
    return network


def weighted(network: nn.Module) -> dict[str, nn.Conv2d | nn.Linear]:
    """The layers whose weights become int8, by name."""
    return {name: m for name, m in network.named_modules() if isinstance(m, nn.Conv2d | nn.Linear)}


def step_of(weight: torch.Tensor, steps: int) -> torch.Tensor:
    """An output channel's step [out, 1, ...]: its largest weight is ``steps`` of them."""
    largest = weight.detach().abs().amax(dim=tuple(range(1, weight.dim())), keepdim=True)
    return largest.clamp_min(1e-12) / steps


def weights_file(size: int) -> Path:
    """Where what training left at a size is kept."""
    return Path(__file__).with_name(f"person_{size}.npz")


def save(network: nn.Module, size: int) -> None:
    """Weights of layers as whole steps and a step for each channel, everything else as it is."""
    state, kept = network.state_dict(), {}
    layers = {f"{name}.weight" for name in weighted(network)}
    for name in [n for n in state if not n.endswith("num_batches_tracked")]:
        if name in layers:
            step = step_of(state[name], STEPS[size])
            kept[name] = (state[name] / step).round().to(torch.int8).numpy()
            kept[f"{name}/step"] = step.numpy()
        else:
            kept[name] = state[name].numpy()
    np.savez_compressed(weights_file(size), **kept)


def trained(size: int) -> MobileNetV2:
    """The network that ``scripts/train_person`` left, with the pictures it is calibrated on."""
    network = fresh(size)
    with np.load(weights_file(size)) as kept:
        state = {
            name: torch.from_numpy(kept[name] * kept[f"{name}/step"] if f"{name}/step" in kept.files else kept[name])
            for name in kept.files
            if not name.endswith("/step")
        }
    network.load_state_dict(network.state_dict() | state)
    network.example_inputs = lambda: _sets(EXAMPLE, 1, size)[0]
    network.calibration_inputs = lambda: _sets(CALIBRATION, 64, size)
    network.unseen_inputs = lambda draw, count: _sets(UNSEEN + draw, count, size)
    network.eval()
    return network


def _sets(seed: int, count: int, size: int) -> list[tuple[torch.Tensor, ...]]:
    drawn, _ = pictures(seed, count, size)
    return [(torch.from_numpy(each).unsqueeze(0),) for each in drawn]


def person_96() -> nn.Module:
    """Width 0.35 at 96 pixels."""
    return trained(96)


def person_224() -> nn.Module:
    """Width 1.0 at 224 pixels."""
    return trained(224)
