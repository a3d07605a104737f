"""Can a budget fail? One layer at a time is made wrong, and the answers' distance from the right network's is taken.

Float alone: what rounding adds is in the budget. Needs torch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from corstone_models.gallery.unseen import JUDGED, exact, network_of, unseen


def _rolled(weight: torch.Tensor) -> torch.Tensor:
    """Each output channel has its neighbour's weights."""
    return weight.roll(1, 0)


def _one_missing(weight: torch.Tensor) -> torch.Tensor:
    """The output channel with the largest weights has none."""
    found = weight.clone()
    found[weight.abs().flatten(1).sum(1).argmax()] = 0
    return found


def _tenth_more(weight: torch.Tensor) -> torch.Tensor:
    """A tenth too large, as with a wrong scale."""
    return weight * 1.1


PLANTED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "channels rolled": _rolled,
    "one channel missing": _one_missing,
    "a tenth too large": _tenth_more,
}


def planted(source: str, scale: float, count: int = 16) -> dict[str, list[float]]:
    """The largest distance over ``count`` inputs in steps of ``scale``: for each kind of error, one for each layer."""
    right, sets = network_of(source), unseen(source, JUDGED, count)
    answers = exact(right, sets)
    names = [name for name, m in right.named_modules() if isinstance(m, nn.Conv1d | nn.Conv2d | nn.Linear)]
    found: dict[str, list[float]] = {}
    for kind, change in PLANTED.items():
        for name in names:
            wrong = copy.deepcopy(right)
            layer = wrong.get_submodule(name)
            with torch.no_grad():
                layer.weight.copy_(change(layer.weight))
            other = exact(wrong, sets)
            apart = max(float(np.abs(a[0] - b[0]).max()) for a, b in zip(answers, other, strict=True))
            found.setdefault(kind, []).append(apart / scale)
    return found
