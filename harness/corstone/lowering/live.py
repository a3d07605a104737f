"""A live ``nn.Module`` of the caller's process as a file that the compile child can read. Needs torch, in the caller.

The module travels as an exported program (``.pt2``), never by pickle. The file holds the hash of its graph and weights,
by which the cache knows it again: its own bytes differ from export to export (they hold source lines).
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corstone.causes import Cause
from corstone.errors import ConfigError, StageError
from corstone.paths import file_name


def export_module(module: Any, example_inputs: Sequence[Any], folder: Path) -> Path:
    """Export ``module`` on ``example_inputs`` (tensors or arrays) into ``folder``, as ``CLASS-HASH.pt2``.

    Raises
    ------
    StageError: ``torch.export`` cannot export it. ConfigError: ``module`` is none, its graph is one that cannot become
        a program (``refuse_unusable``), or the folder cannot be written.
    """
    import torch

    from corstone.lowering.export import export
    from corstone.lowering.graph import save_graph
    from corstone.lowering.usable import refuse_unusable

    if not isinstance(module, torch.nn.Module):
        raise ConfigError(
            f"expected an nn.Module or the name of a network, got {type(module).__name__}",
            cause=Cause.BAD_INPUT,
            hint="a class is called first: check(Net(), ...); a function needs a module whose forward() calls it",
        )
    training = module.training
    # Empty records of torch's structured trace, which a log capture (pytest's) would show beside a failure.
    trace = logging.getLogger("torch.__trace")
    propagate, trace.propagate = trace.propagate, False
    try:
        exported = export(module.eval(), tuple(torch.as_tensor(x) for x in example_inputs))
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
        trace.propagate = propagate
    refuse_unusable(exported)  # before saving: torch cannot save a graph without outputs
    name = file_name(type(module).__name__)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Aside, then renamed: workers that export the same network at once leave one whole file.
        with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as aside:
            made = Path(aside) / f"{name}.pt2"
            path = folder / f"{name}-{save_graph(exported, made)[:12]}.pt2"
            made.replace(path)
    except OSError as error:
        raise ConfigError(
            f"the exported network cannot be written to {folder}: {error.strerror}",
            cause=Cause.NOT_WRITABLE,
            hint="choose a folder you can write",
        ) from error
    return path
