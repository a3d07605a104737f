"""``lower``: from the cache where nothing changed, else through the compile child. Imports no torch."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corstone.errors import HarnessError
from corstone.lowering.cache import Store, cache_root, shared_root, sweep, write_whole
from corstone.lowering.keys import file_sha256, source_key
from corstone.lowering.launch import Answer, Job, run_jobs
from corstone.lowering.prune import prune, size_limit
from corstone.lowering.request import LowerRequest, SourceRef
from corstone.program import Program

PROGRAM = "program.json"
EXPORTED = "exported.pt2"
QUANTIZED = "quantized.pt2"


def program_store(root: Path | None = None) -> Store:
    """Where programs lie; the saved graphs in them are hashed only by those who open them."""
    return Store(root or cache_root(), "programs", lazy=frozenset({EXPORTED, QUANTIZED}))


def lower(request: LowerRequest) -> Program:
    """The program of a request.

    Raises
    ------
    ConfigError: the request cannot work (unknown names, missing files, a module that cannot be built).
    StageError: a stage failed, crashed or passed its deadline; the message names it.
    ToolError: the cache cannot be used.
    """
    (result,) = lower_all([request])
    if isinstance(result, HarnessError):
        raise result
    return result


def lower_all(requests: Sequence[LowerRequest]) -> list[Program | HarnessError]:
    """The programs of several requests, those not in the cache made in one child; an error stands in its place."""
    results: list[Program | HarnessError | None] = [None] * len(requests)
    open_cases: dict[int, _Case] = {}
    for i, request in enumerate(requests):
        try:
            ref = request.check()
            case = _Case(request, ref, source_key(request, ref))
            results[i] = case.cached()
            if results[i] is None:
                open_cases[i] = case
        except HarnessError as error:
            results[i] = error
    if open_cases:
        _compile(open_cases, results)
    return [result for result in results if result is not None]


@dataclass(frozen=True)
class _Case:
    request: LowerRequest
    ref: SourceRef
    key: str

    def pointer(self, root: Path) -> Path:
        return root / "sources" / self.key[:2] / f"{self.key}.json"

    def cached(self) -> Program | None:
        """The program when it is in the cache and none of the files it was made of has changed."""
        roots = (cache_root(), shared_root())
        return next((found for root in roots if root is not None and (found := self._cached(root))), None)

    def _cached(self, root: Path) -> Program | None:
        try:
            known = json.loads(self.pointer(root).read_text())
            unchanged = all(file_sha256(Path(path)) == sha256 for path, sha256 in known["dependencies"])
            folder = program_store().get(known["program"]) if unchanged else None
            return None if folder is None else Program.load(folder / PROGRAM)
        except (OSError, ValueError, KeyError, TypeError):
            # A pointer that is missing, half a file or older than this code is no pointer: the child makes a new one.
            return None

    def job(self) -> Job:
        """The request as the child gets it."""
        request, ref = self.request, self.ref
        arrays = {f"input-{i}": x for i, x in enumerate(request.example_inputs(ref))}
        calibration = request.calibration_sets(ref)
        arrays |= {f"calibration-{s}-{i}": x for s, inputs in enumerate(calibration) for i, x in enumerate(inputs)}
        data: dict[str, Any] = {
            "kind": "lower",
            "source": [ref.kind, ref.where, ref.attribute],
            "label": request.label or ref.label,
            "target": request.target,
            "bits": request.bits,
            "policy": request.policy,
            "seed": request.seed,
            "memory_mode": request.memory_mode,
            "system_config": request.system_config,
            "vela_flags": list(request.vela_flags),
            "cache": str(cache_root()),
        }
        return Job(data, arrays, request.timeout_s)

    def take(self, answer: Answer) -> Program | HarnessError:
        """The program that the child made; what it was made of is kept for the next run."""
        if isinstance(answer, HarnessError):
            return answer
        # The child may have found it in the shared cache.
        folder = program_store().get(answer["program"]) or program_store().path(answer["program"])
        write_whole(
            self.pointer(cache_root()),
            json.dumps({"program": answer["program"], "dependencies": answer["dependencies"]}) + "\n",
        )
        return Program.load(folder / PROGRAM)


def _compile(cases: dict[int, _Case], results: list[Program | HarnessError | None]) -> None:
    store = program_store()
    sweep(store.root, time.time())
    with ExitStack() as stack:
        # One order for everybody, so that two batches never wait for each other in a ring.
        wait_s = 60 + sum(case.request.timeout_s for case in cases.values())
        for key in sorted({case.key for case in cases.values()}):
            stack.enter_context(store.locked(key, wait_s))
        for i, case in cases.items():
            results[i] = case.cached()
        missing = [i for i in cases if results[i] is None]
        if not missing:
            return
        work = store.aside()
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        for i, answer in zip(missing, run_jobs([cases[i].job() for i in missing], work), strict=True):
            results[i] = cases[i].take(answer)
    prune(cache_root(), size_limit())
