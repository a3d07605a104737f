"""A live ``nn.Module`` of the caller's process as a file that the compile child can read. Needs torch, in the caller.

The module travels as an exported program (``.pt2``), never by pickle. The file holds the hash of its graph and weights,
by which the cache knows it again: its own bytes differ from export to export (they hold source lines).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corstone.causes import Cause
from corstone.errors import StageError


def export_module(module: Any, example_inputs: Sequence[Any], folder: Path) -> Path:
    """Export ``module`` on ``example_inputs`` (tensors or arrays) into ``folder``; the file is named after its class.

    Raises
    ------
    StageError: ``torch.export`` cannot export it.
    """
    import torch

    from corstone.lowering.graph import save_graph

    training = module.training
    try:
        exported = torch.export.export(module.eval(), tuple(torch.as_tensor(x) for x in example_inputs))
    except Exception as error:
        raise StageError(
            f"the stage 'export' failed: torch.export cannot export {type(module).__name__}: "
            f"{type(error).__name__}: {error}",
            cause=Cause.COMPILE,
            hint="the module must be exportable: no control flow on values, inputs as positional tensors",
            evidence={"stage": "export"},
        ) from error
    finally:
        module.train(training)
    folder.mkdir(parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix="exported-", dir=folder)) / f"{type(module).__name__}.pt2"
    save_graph(exported, path)
    return path
