"""Runs saved graphs on given inputs: the float graph in float64, the quantized one as it stands. Needs torch.

A graph exported with float32 names that dtype in places (constants, casts, factories). ``Float64`` runs the same nodes
with float64 in each of them, so the answer is that of the network, not of its rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

import corstone.quantize.table16  # noqa: F401  the operator of segmented graphs, which loading one needs
from corstone.lowering.lower import EXPORTED, QUANTIZED
from corstone.lowering.request import Array


class Float64(torch.fx.Interpreter):
    """Interprets a graph module with every float32 turned to float64."""

    def fetch_attr(self, target: str) -> Any:
        """Parameters and constants."""
        return _widened(super().fetch_attr(target))

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """One operator."""
        return super().call_function(target, _widened(args), _widened(kwargs))

    def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
        """Submodules hold guards on the inputs' dtype, which are meant for float32, and nothing else."""
        if "guard" in str(target):
            return None
        return super().call_module(target, args, kwargs)


def _widened(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.double() if value.dtype == torch.float32 else value
    if value is torch.float32:
        return torch.float64
    if isinstance(value, tuple | list):
        return type(value)(_widened(v) for v in value)
    if isinstance(value, dict):
        return {name: _widened(v) for name, v in value.items()}
    return value


def evaluate(program: Path, inputs: Sequence[Array], kinds: Sequence[str]) -> dict[str, list[Array]]:
    """Outputs by kind (``float``, ``fake-quantized``) of the graphs saved in the program's folder."""
    tensors = tuple(torch.from_numpy(np.array(x)) for x in inputs)
    found = {}
    with torch.no_grad():
        if "float" in kinds:
            graph = torch.export.load(program / EXPORTED).module()
            found["float"] = _arrays(Float64(graph).run(*_widened(tensors)))
        if "fake-quantized" in kinds:
            found["fake-quantized"] = _arrays(torch.export.load(program / QUANTIZED).module()(*tensors))
    return found


def _arrays(outputs: Any) -> list[Array]:
    flat, _ = torch.utils._pytree.tree_flatten(outputs)
    return [t.detach().cpu().numpy() for t in flat if isinstance(t, torch.Tensor)]
