"""``lower``: from the cache where nothing changed, else through the compile child. Imports no torch."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corstone.errors import HarnessError
from corstone.lowering import warm
from corstone.lowering.cache import Store, cache_root, shared_root, sweep, write_whole
from corstone.lowering.keys import array_digest, digest, file_sha256, source_key
from corstone.lowering.launch import Answer, Job, Stopped, run_jobs
from corstone.lowering.prune import prune, size_limit
from corstone.lowering.request import LowerRequest, SourceRef
from corstone.program import Program

PROGRAM = "program.json"
EXPORTED = "exported.pt2"
EXAMPLES = "examples.npz"
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
    """The programs of several requests; an error stands in its place."""
    with Lowering(requests) as lowering:
        return [lowering.result(i) for i in range(len(requests))]


class Lowering:
    """Several requests on their way: what is in the cache is there at once, the rest is compiled meanwhile.

    A context manager; leaving it before all is done stops the children.
    """

    def __init__(self, requests: Sequence[LowerRequest]) -> None:
        self._count = len(requests)
        self._results: dict[int, Program | HarnessError] = {}
        self._made: set[int] = set()
        self._open: dict[int, _Case] = {}
        for i, request in enumerate(requests):
            try:
                ref = request.check()
                case = _Case(request, ref, source_key(request, ref))
                found = case.cached()
                if found is None:
                    self._open[i] = case
                else:
                    self._results[i] = found
            except HarnessError as error:
                self._results[i] = error
        self._news = threading.Condition()
        self._stop = threading.Event()
        self._broken: BaseException | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lowering:
        if self._open:
            self._thread = threading.Thread(target=self._compile, name="lowering")
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def result(self, index: int) -> Program | HarnessError:
        """The program of a request, or the error that stands in its place; waits until there is one."""
        with self._news:
            # Every request has its deadline in the child, so the thread ends.
            self._news.wait_for(lambda: index in self._results or self._broken is not None)
            if index in self._results:
                return self._results[index]
            assert self._broken is not None
            raise self._broken

    def is_there(self, index: int) -> bool:
        """Whether ``result`` would answer at once."""
        with self._news:
            return index in self._results

    def origin(self, index: int) -> str:
        """Where a program came from: ``compiled`` now, or ``cache``."""
        return "compiled" if index in self._made else "cache"

    def _put(self, index: int, result: Program | HarnessError, *, made: bool = False) -> None:
        with self._news:
            self._results[index] = result
            if made:
                self._made.add(index)
            self._news.notify_all()

    def _compile(self) -> None:
        try:
            _compile(self._open, self._put, self._stop)
            prune(cache_root(), size_limit())
        except Stopped:
            pass
        except HarnessError as error:  # the cache cannot be used: so none of those that are left can be made
            for i in self._open.keys() - self._results.keys():
                self._put(i, error)
        except BaseException as error:
            with self._news:
                self._broken = error
                self._news.notify_all()


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
            "only_shapes": bool(request.shapes) and not request.inputs,
            "cache": str(cache_root()),
        }
        # Of equal sources and calibrations the exported and quantized graph is shared, whatever the target.
        shared = digest(
            [data["source"], request.bits, request.policy, request.seed, array_digest(tuple(arrays.values()))]
        )
        return Job(data, arrays, request.timeout_s, shared)

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


def _compile(cases: dict[int, _Case], put: Callable[..., None], stop: threading.Event) -> None:
    store = program_store()
    sweep(store.root, time.time())
    with ExitStack() as stack:
        # One order for everybody, so that two batches never wait for each other in a ring.
        wait_s = 60 + sum(case.request.timeout_s for case in cases.values())
        for key in sorted({case.key for case in cases.values()}):
            stack.enter_context(store.locked(key, wait_s))
        missing = []
        for i, case in cases.items():
            if (found := case.cached()) is None:
                missing.append(i)
            else:
                put(i, found)
        if not missing:
            return
        work = store.aside()
        stack.callback(shutil.rmtree, work, ignore_errors=True)

        def take(number: int, answer: Answer) -> None:
            i = missing[number]
            try:
                put(i, cases[i].take(answer), made=not isinstance(answer, HarnessError))
            except HarnessError as error:
                put(i, error)

        jobs = [cases[i].job() for i in missing]
        run_jobs(jobs, work, server=warm.server(), at_once=processors(), take=take, stop=stop)


def processors() -> int:
    """How many compilations run at a time: processors that this process may use, but each takes 0.4 GiB."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)
