"""Starts the compile child, watches it, and says what happened to each of its requests.

The child is a session of its own, works in a fresh folder (requests in, results out, as files), and ends with us: it
watches a pipe that closes when this process dies, however it dies. It is forked by the compile server (``warm``) where
there is one, else a new process. Leaves out what the child does (``child``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError, StageError, ToolError
from corstone.forkserver.client import Forked, ServerGone
from corstone.lowering import warm
from corstone.lowering.request import Array

POLL_S = 0.02
START_S = warm.START_S
# Jobs of one forked child: whatever they leak goes with it.
MOST_JOBS = 32
TAIL_LINES = 30
_KINDS: Mapping[str, type[HarnessError]] = {"config": ConfigError, "tool": ToolError, "stage": StageError}


@dataclass(frozen=True)
class Job:
    """One request to the child: plain data, named arrays, and its deadline in seconds from when it is begun.

    ``group`` names what it shares with others (an export, a calibration); jobs of one group go to the same child.
    """

    data: Mapping[str, Any]
    arrays: Mapping[str, Array]
    timeout_s: float
    group: str = ""


Answer = dict[str, Any] | HarnessError
Taker = Callable[[int, Answer], None]
"""Called with a job's number and its answer as soon as it is there, from any thread."""


class Stopped(BaseException):
    """``stop`` was set: nobody waits for the answers any more."""


# The folder is appended.
COMMAND = (sys.executable, "-P", "-X", "faulthandler", "-m", "corstone.lowering.child")


def run_jobs(
    jobs: Sequence[Job],
    work: Path,
    command: Sequence[str] = COMMAND,
    *,
    server: warm.CompileServer | None = None,
    at_once: int = 1,
    take: Taker | None = None,
    stop: threading.Event | None = None,
) -> list[Answer]:
    """Run the jobs in as few children as crashes and deadlines allow.

    Parameters
    ----------
    server: forks the children; None: they are new processes, ``command``, one after the other.
    at_once: children of the server at a time.

    Returns one answer per job: what the child wrote, or the error that ended it. A child that dies takes only the job
    it was at; the next ones get a new child.

    Raises
    ------
    Stopped: ``stop`` was set; the children are gone.
    """
    stop = stop or threading.Event()
    lanes = _lanes(jobs, at_once if server is not None else 1)
    answers: dict[int, Answer] = {}

    def took(number: int, answer: Answer) -> None:
        answers[number] = answer
        if take is not None:
            take(number, answer)

    def run(index: int) -> None:
        lane = list(lanes[index])
        children = 0
        while lane:
            folder = work / f"child-{index}-{children}"
            folder.mkdir()
            batch = lane[:MOST_JOBS] if server is not None else lane
            done = _run_child([(i, jobs[i]) for i in batch], folder, command, server, took, stop)
            lane, children = lane[done:], children + 1

    if len(lanes) == 1:
        run(0)
    else:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(lanes), thread_name_prefix="compile") as pool:
            running = [pool.submit(run, i) for i in range(len(lanes))]
            try:
                for future in running:
                    future.result()
            except BaseException:
                stop.set()
                raise
    return [answers[i] for i in range(len(jobs))]


def _lanes(jobs: Sequence[Job], most: int) -> list[list[int]]:
    """Numbers of the jobs, shared out so that a group stays together and no lane is much longer than another."""
    groups: dict[str, list[int]] = {}
    for i, job in enumerate(jobs):
        groups.setdefault(job.group, []).append(i)
    lanes: list[list[int]] = [[] for _ in range(max(1, min(most, len(groups))))]
    for group in groups.values():
        min(lanes, key=len).extend(group)
    return lanes


class _Child(Protocol):
    """What is asked of a child, forked or new."""

    pid: int

    def wait(self, seconds: float) -> int | None: ...

    def end(self) -> int: ...


class _New:
    """A child that is a new process."""

    def __init__(self, command: Sequence[str], folder: Path, log: Path) -> None:
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, str(folder)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def wait(self, seconds: float) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def end(self) -> int:
        """End its whole group, including what it started itself; returns its exit status."""
        _kill_group(self.pid)
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(timeout=30)


class _FromServer:
    """A child that the server forked."""

    def __init__(self, server: warm.CompileServer, folder: Path, log: Path) -> None:
        closing, self._ours = os.pipe()
        try:
            with log.open("wb") as output:
                self._forked: Forked = server.start(folder, closing, output.fileno())
        except BaseException:
            os.close(self._ours)
            raise
        finally:
            os.close(closing)
        self.pid = self._forked.pid

    def wait(self, seconds: float) -> int | None:
        return self._forked.wait(seconds)

    def end(self) -> int:
        """As ``_New.end``. After its own end the server has killed its group."""
        if self._forked.poll() is None:
            _kill_group(self.pid)
        status = self._forked.wait(30)
        os.close(self._ours)
        self._forked.close()
        return -signal.SIGKILL if status is None else status


def _start(command: Sequence[str], server: warm.CompileServer | None, folder: Path, log: Path) -> _Child:
    if server is not None and command is COMMAND:
        with suppress(ServerGone):
            return _FromServer(server, folder, log)
    return _New(command, folder, log)


def _run_child(
    jobs: Sequence[tuple[int, Job]],
    folder: Path,
    command: Sequence[str],
    server: warm.CompileServer | None,
    took: Taker,
    stop: threading.Event,
) -> int:
    """One child for some jobs with their numbers; returns how many of them have an answer now."""
    _write_jobs([job for _, job in jobs], folder)
    log = folder / "child.log"
    answered = 0

    def collect() -> None:
        nonlocal answered
        while answered < len(jobs) and (path := folder / f"result-{answered}.json").exists():
            took(jobs[answered][0], _answer(json.loads(path.read_text())))
            answered += 1

    child = _start(command, server, folder, log)
    try:
        late = _watch(child, [job for _, job in jobs], folder, collect, stop)
    finally:
        status = child.end()
    collect()
    if answered < len(jobs):
        took(jobs[answered][0], _ended_early(status, late, _progress(folder), log))
        answered += 1
    return answered


def _write_jobs(jobs: Sequence[Job], folder: Path) -> None:
    for i, job in enumerate(jobs):
        if job.arrays:
            with (folder / f"arrays-{i}.npz").open("wb") as file:
                np.savez(file, **job.arrays)
    (folder / "requests.json").write_text(
        json.dumps({"schema": 1, "path": [p for p in sys.path if p], "requests": [dict(job.data) for job in jobs]})
    )


def _watch(
    child: _Child, jobs: Sequence[Job], folder: Path, collect: Callable[[], None], stop: threading.Event
) -> float | None:
    """Wait for the child's end; returns the deadline in seconds that it missed, None when it ended by itself."""
    current, since, limit = -1, time.monotonic(), START_S
    while True:
        if child.wait(POLL_S) is not None:
            return None
        if stop.is_set():
            raise Stopped
        collect()
        index = int(_progress(folder).get("index", -1))
        if index != current:
            current, since = index, time.monotonic()
            limit = jobs[index].timeout_s if 0 <= index < len(jobs) else START_S
        if time.monotonic() - since > limit:
            return limit


def _progress(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        data: dict[str, Any] = json.loads((folder / "progress.json").read_text())
        return data
    return {}


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _answer(result: dict[str, Any]) -> Answer:
    error = result.get("error")
    if error is None:
        return result
    return _KINDS[error["type"]](
        error["message"], cause=Cause(error["cause"]), hint=error["hint"], evidence=error["evidence"]
    )


def _ended_early(status: int, late: float | None, progress: dict[str, Any], log: Path) -> StageError:
    stage = str(progress.get("stage", "start"))
    evidence: dict[str, object] = {"stage": stage, "exit status": status, "output": "\n" + tail(log)}
    if late is not None:
        return StageError(
            f"the stage '{stage}' was still running after {late:.0f} s, the deadline of its request; it was stopped",
            cause=Cause.COMPILE_TIMEOUT,
            hint="raise the request's timeout if the network is large; else the output's end says where it hangs",
            evidence=evidence,
        )
    if status < 0:
        name = signal.Signals(-status).name
        return StageError(
            f"the compile child died of {name} in the stage '{stage}'",
            cause=Cause.COMPILE_CRASH,
            hint="a crash of the tool that runs in this stage; the output's end has its stack"
            + ("; SIGKILL is often the system short of memory" if -status == signal.SIGKILL else ""),
            evidence=evidence | {"signal": name},
        )
    return StageError(
        f"the compile child ended with exit status {status} in the stage '{stage}', without a result",
        hint="the output's end says why; 'corstone doctor' shows what is installed",
        evidence=evidence,
    )


def tail(log: Path, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, safe as text."""
    with suppress(OSError):
        data = log.read_bytes()[-20_000:]
        return "\n".join(data.decode("utf-8", "replace").splitlines()[-lines:])
    return ""
