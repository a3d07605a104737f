"""``float`` and ``fake-quantized``: what the network means in float64, and what its quantized graph computes in torch.

A registered network answers in numpy. Any other runs in the compile child from the graphs saved with the program; its
answers are kept by content. Imports no torch.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError
from corstone.judge.reference import FAKE_QUANTIZED, FLOAT
from corstone.lowering.cache import Store, cache_root
from corstone.lowering.keys import array_digest, digest, file_sha256, tool_versions
from corstone.lowering.launch import Job, run_jobs
from corstone.lowering.lower import EXPORTED, QUANTIZED
from corstone.program import Program

Array = npt.NDArray[Any]
_FILES = {FLOAT: EXPORTED, FAKE_QUANTIZED: QUANTIZED}


def run(program: Program, inputs: Sequence[Array], kind: str = FLOAT, *, timeout_s: float = 300.0) -> list[Array]:
    """Outputs of the network on real inputs, float64 for ``float``, float32 for ``fake-quantized``.

    Raises
    ------
    ConfigError: the program came without the graphs it was made of.
    StageError: the graph failed in the compile child.
    """
    if kind == FLOAT and program.source.startswith("network:"):
        from corstone_models.networks import network

        shapes = (spec.shape for spec in program.outputs)
        outputs = network(program.source.partition(":")[2]).function(*inputs)
        return [np.asarray(y, np.float64).reshape(shape) for y, shape in zip(outputs, shapes, strict=True)]
    return _in_child(program, inputs, kind, timeout_s)


def _in_child(program: Program, inputs: Sequence[Array], kind: str, timeout_s: float) -> list[Array]:
    folder = program.pte.parent
    graph = folder / _FILES[kind]
    if not graph.is_file():
        raise ConfigError(
            f"the program {program.pte.name} came without {graph.name}: there is no {kind} reference",
            cause=Cause.UNSUPPORTED,
            hint="lower the network with this harness",
        )
    store = Store(cache_root(), "evaluations")
    key = digest([kind, file_sha256(graph), array_digest(tuple(inputs)), tool_versions()])
    if (kept := store.get(key)) is None:
        kept = _evaluate(store, key, folder, inputs, kind, timeout_s)
    return [np.load(path, allow_pickle=False) for path in sorted(kept.glob("out-*.npy"))]


def _evaluate(store: Store, key: str, program: Path, inputs: Sequence[Array], kind: str, timeout_s: float) -> Path:
    work = store.aside()
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        built = work / "entry"
        built.mkdir()
        arrays = {f"input-{i}": x for i, x in enumerate(inputs)}
        job = Job({"kind": "evaluate", "program": str(program), "what": kind, "into": str(built)}, arrays, timeout_s)
        (answer,) = run_jobs([job], work)
        if isinstance(answer, HarnessError):
            raise answer
        return store.publish(key, built)
