"""A live ``nn.Module`` of the caller as an exported program on disk.

The module never travels to the compile child by pickle, which would need the caller's classes there: what travels is
the graph that ``torch.export`` makes of it. Imports torch, which the caller has imported already.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corstone.errors import StageError


def export_module(module: Any, example_inputs: Sequence[Any], folder: Path) -> Path:
    """``<class name>.pt2`` in ``folder``.

    Raises
    ------
    StageError: ``torch.export`` refuses the module; the message carries its first line.
    """
    import torch

    name = type(module).__name__
    try:
        program = torch.export.export(module.eval(), tuple(torch.as_tensor(x) for x in example_inputs))
    except Exception as error:  # torch.export raises whatever the module's code raises
        lines = str(error).strip().splitlines() or [""]
        raise StageError(
            f"export of {name}: {type(error).__name__}: {lines[0]}",
            hint="make the module exportable: torch.export.export(module, example_inputs) must succeed",
            evidence={"stage": "export"},
        ) from error
    path = folder / f"{name}.pt2"
    torch.export.save(program, path)
    return path
