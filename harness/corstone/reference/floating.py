"""``float`` and ``fake-quantized``: what the network means in float64, and what its quantized graph computes in torch.

A registered network answers ``float`` in numpy, a network of one operator ``fake-quantized``. Any other runs in the
compile child from the graphs saved with the program; its answers are kept by content, so that the same inputs need no
torch again. Imports no torch.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError
from corstone.judge.reference import FAKE_QUANTIZED, FLOAT
from corstone.lowering import warm
from corstone.lowering.cache import Store, cache_root
from corstone.lowering.keys import array_digest, digest, file_sha256, tool_versions
from corstone.lowering.launch import Job, run_jobs
from corstone.lowering.lower import EXPORTED, QUANTIZED
from corstone.program import Program

Array = npt.NDArray[Any]
_FILES = {FLOAT: EXPORTED, FAKE_QUANTIZED: QUANTIZED}


def run(program: Program, inputs: Sequence[Array], kind: str = FLOAT, *, timeout_s: float = 300.0) -> list[Array]:
    """Outputs of the network on real inputs, float64 for ``float``; real values for ``fake-quantized``.

    Raises
    ------
    ConfigError: the program came without the graphs it was made of.
    StageError: the graph failed in the compile child.
    """
    found = run_all(program, inputs, (kind,), timeout_s=timeout_s)[kind]
    if isinstance(found, HarnessError):
        raise found
    return found


def run_all(
    program: Program, inputs: Sequence[Array], kinds: Sequence[str], *, timeout_s: float = 300.0
) -> dict[str, list[Array] | HarnessError]:
    """The answers of several kinds, what needs torch in one child; an error stands in its place."""
    found: dict[str, list[Array] | HarnessError] = {}
    open_kinds: dict[str, str] = {}
    store = Store(cache_root(), "evaluations")
    for kind in kinds:
        try:
            if (known := without_torch(program, inputs, kind)) is not None:
                found[kind] = known
                continue
            key = _key(program, inputs, kind)
        except HarnessError as error:
            found[kind] = error
            continue
        if (kept := store.get(key)) is None:
            open_kinds[kind] = key
        else:
            found[kind] = _load(kept)
    if open_kinds:
        found |= _evaluate(store, open_kinds, program.pte.parent, inputs, timeout_s)
    return found


def without_torch(program: Program, inputs: Sequence[Array], kind: str) -> list[Array] | None:
    """What numpy can say: float of a registered network, fake-quantized of one operator; else None."""
    if kind == FLOAT and program.source.startswith("network:"):
        from corstone_models.networks import network

        shapes = (spec.shape for spec in program.outputs)
        outputs = network(program.source.partition(":")[2]).function(*inputs)
        return [np.asarray(y, np.float64).reshape(shape) for y, shape in zip(outputs, shapes, strict=True)]
    if kind == FAKE_QUANTIZED:
        from corstone.judge.fake import fake_quantized

        try:
            made = fake_quantized(program, inputs)
        except (HarnessError, OSError, ValueError, KeyError, IndexError):
            return None  # a program from elsewhere may lack what this takes; its graph may be there all the same
        return None if made is None else [made]
    return None


def _key(program: Program, inputs: Sequence[Array], kind: str) -> str:
    graph = program.pte.parent / _FILES[kind]
    if not graph.is_file():
        raise ConfigError(
            f"the program {program.pte.name} came without {graph.name}: there is no {kind} reference",
            cause=Cause.UNSUPPORTED,
            hint="lower the network with this harness",
        )
    return digest([kind, file_sha256(graph), array_digest(tuple(inputs)), tool_versions()])


def _load(entry: Path) -> list[Array]:
    return [np.load(path, allow_pickle=False) for path in sorted(entry.glob("out-*.npy"))]


def _evaluate(
    store: Store, keys: Mapping[str, str], program: Path, inputs: Sequence[Array], timeout_s: float
) -> dict[str, list[Array] | HarnessError]:
    arrays = {f"input-{i}": x for i, x in enumerate(inputs)}
    found: dict[str, list[Array] | HarnessError] = {}
    work = store.aside()
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        jobs = []
        for kind in keys:
            (work / kind).mkdir()
            data = {"kind": "evaluate", "program": str(program), "what": kind, "into": str(work / kind)}
            jobs.append(Job(data, arrays, timeout_s))
        for (kind, key), answer in zip(keys.items(), run_jobs(jobs, work, server=warm.running()), strict=True):
            found[kind] = answer if isinstance(answer, HarnessError) else _load(store.publish(key, work / kind))
    return found
