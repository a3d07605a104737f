"""Starts the compile child, watches it, and says what happened to each of its requests.

The child is a session of its own, works in a fresh folder (requests in, results out, as files), and ends with us: it
watches a pipe that closes when this process dies, however it dies. Leaves out what the child does (``child``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError, StageError, ToolError
from corstone.lowering.request import Array

POLL_S = 0.02
START_S = 180.0
TAIL_LINES = 30
_KINDS: Mapping[str, type[HarnessError]] = {"config": ConfigError, "tool": ToolError, "stage": StageError}


@dataclass(frozen=True)
class Job:
    """One request to the child: plain data, named arrays, and its deadline in seconds from when it is begun."""

    data: Mapping[str, Any]
    arrays: Mapping[str, Array]
    timeout_s: float


Answer = dict[str, Any] | HarnessError


# The folder is appended.
COMMAND = (sys.executable, "-P", "-X", "faulthandler", "-m", "corstone.lowering.child")


def run_jobs(jobs: Sequence[Job], work: Path, command: Sequence[str] = COMMAND) -> list[Answer]:
    """Run the jobs, one after the other, in as few children as crashes and deadlines allow.

    Returns one answer per job: what the child wrote, or the error that ended it. A child that dies takes only the job
    it was at; the next ones get a new child.
    """
    answers: list[Answer] = []
    while len(answers) < len(jobs):
        folder = work / f"child-{len(answers)}"
        folder.mkdir()
        answers += _run_child(jobs[len(answers) :], folder, command)
    return answers


def _run_child(jobs: Sequence[Job], folder: Path, command: Sequence[str]) -> list[Answer]:
    _write_jobs(jobs, folder)
    log = folder / "child.log"
    with log.open("wb") as output:
        child = subprocess.Popen(
            [*command, str(folder)],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        late = _watch(child, jobs, folder)
    finally:
        _kill(child)
    answers: list[Answer] = []
    for i in range(len(jobs)):
        path = folder / f"result-{i}.json"
        if not path.exists():
            break
        answers.append(_answer(json.loads(path.read_text())))
    if len(answers) < len(jobs):
        answers.append(_ended_early(child.returncode, late, _progress(folder), log))
    return answers


def _write_jobs(jobs: Sequence[Job], folder: Path) -> None:
    for i, job in enumerate(jobs):
        if job.arrays:
            with (folder / f"arrays-{i}.npz").open("wb") as file:
                np.savez(file, **job.arrays)
    (folder / "requests.json").write_text(
        json.dumps({"schema": 1, "path": [p for p in sys.path if p], "requests": [dict(job.data) for job in jobs]})
    )


def _watch(child: subprocess.Popen[bytes], jobs: Sequence[Job], folder: Path) -> float | None:
    """Wait for the child's end; returns the deadline in seconds that it missed, None when it ended by itself."""
    current, since, limit = -1, time.monotonic(), START_S
    while True:
        with suppress(subprocess.TimeoutExpired):
            child.wait(timeout=POLL_S)
            return None
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


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child's whole group, including what the child started itself."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    if child.stdin is not None:
        child.stdin.close()
    child.wait(timeout=30)


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
