"""What a network of the gallery is measured and judged on: inputs that calibration did not see, and float64's answers.

Needs torch.
"""

from __future__ import annotations

import copy
import importlib
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

Array = npt.NDArray[Any]
MEASURED, JUDGED = 1, 2
"""Draws: budgets come from the first, verdicts from the second."""
COUNT = 64


def network_of(source: str) -> nn.Module:
    """The network of a registry row's source."""
    where, _, attribute = source.partition(":")
    found = getattr(importlib.import_module(where), attribute)()
    assert isinstance(found, nn.Module)
    return found


def unseen(source: str, draw: int, count: int = COUNT) -> list[tuple[Array, ...]]:
    """``count`` input sets, in the order of the network's arguments; all numpy float32."""
    where, _, _ = source.partition(":")
    owner = network_of(source)
    make: Any = getattr(owner, "unseen_inputs", None) or importlib.import_module(where).unseen_inputs
    return [tuple(x.numpy() for x in one) for one in make(draw, count)]


def exact(network: nn.Module, sets: list[tuple[Array, ...]]) -> list[list[Array]]:
    """What the network says to each set in float64, a list of outputs each."""
    wide, found = copy.deepcopy(network).double().eval(), []
    with torch.no_grad():
        for one in sets:
            answer = wide(*[torch.from_numpy(x).double() for x in one])
            found.append([np.asarray(answer.numpy())])
    return found
