"""Drives ExecuTorch's own Arm operator tests on the emulator: collect, order, batch, resume.

Each batch is one process (``suite_worker.py``); importing torch and ExecuTorch costs seconds, so it takes many tests. A
test that makes no progress, or kills its process, is a row of its own and the batch goes on behind it. Rows are kept in
``results.ndjson``; what has one is not run again. Leaves out the table (``suite_table.py``).
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corstone.boards.shims.install import environment, install
from corstone.causes import Cause
from corstone.errors import ConfigError, ToolError
from corstone.formats.ndjson import append_row, read_rows

PACKAGE = "executorch.backends.arm.test"
START_S = 900  # to import torch and collect: seconds on an idle machine, minutes on a busy one
Row = dict[str, Any]


@dataclass(frozen=True)
class Plan:
    """What to run and where to keep it. ``files`` are module names, none for all; ``shard`` is K of N.

    ``tests`` are keys (``file::name``), which then are run without asking the suite what it has.
    """

    out: Path
    files: tuple[str, ...] = ()
    targets: tuple[str, ...] = ("u55", "u85")
    shard: tuple[int, int] = (1, 1)
    limit: int | None = None
    tests: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    shims: bool = True
    batch: int = 60
    test_s: float = 900
    total_s: float | None = None
    say: Callable[[str], None] = field(default=print)


def suite_folder() -> Path:
    """Where the installed wheel has its operator tests.

    Raises
    ------
    ToolError: ExecuTorch is not installed, or its wheel lacks the tests.
    """
    # Found without importing ExecuTorch: its packages import torch.
    spec = importlib.util.find_spec("executorch")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(root) / "backends" / "arm" / "test" / "ops"
        if folder.is_dir():
            return folder
    raise ToolError(
        "the installed ExecuTorch has no Arm tests", cause=Cause.MISSING_TOOL, hint="pip install executorch"
    )


def files_of(operators: Sequence[str], folder: Path) -> tuple[str, ...]:
    """Module names of operators, all when none is named.

    Raises
    ------
    ConfigError: the suite has no file for one of them.
    """
    names = sorted(path.stem for path in folder.glob("test_*.py"))
    wanted = [f"test_{name}" for name in operators]
    if unknown := [name for name in wanted if name not in names]:
        raise ConfigError(f"the suite has no {', '.join(unknown)}", cause=Cause.BAD_INPUT, hint=f"they are in {folder}")
    return tuple(wanted or names)


def load(path: Path) -> dict[str, Row]:
    """The newest row of each test; half a line of a killed run is left out."""
    return {row["test"]: row for row in read_rows(path) if "test" in row}


def spread(tests: Sequence[Row]) -> list[str]:
    """All tests, ordered so that any beginning is a fair sample: one of each function, then another of each, ...

    The cases of a function come in a shuffled but repeatable order.
    """
    functions: dict[str, list[str]] = defaultdict(list)
    for row in tests:
        functions[row["test"].partition("::")[0] + "::" + row["function"]].append(row["test"])
    ranked = []
    for name, cases in functions.items():
        random.Random(name).shuffle(cases)
        ranked += [(rank, name, case) for rank, case in enumerate(cases)]
    return [case for _, _, case in sorted(ranked)]


class Suite:
    """One invocation: an environment, the tests there are, and the rows so far."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.folder = suite_folder()
        plan.out.mkdir(parents=True, exist_ok=True)
        self.results = plan.out / "results.ndjson"
        self.files = plan.files or files_of((), self.folder)
        self.environment = self._environment()

    def _environment(self) -> dict[str, str]:
        base = {k: v for k, v in os.environ.items() if k not in ("EXECUTORCH_ROOT", "PYTEST_ADDOPTS")}
        if self.plan.shims:
            base = environment(install(self.plan.out / "shims"), base)
        return base | {
            "CORSTONE_BOOT_LOG": str(self.plan.out / "boots.ndjson"),
            "TMPDIR": str(self.plan.out / "tmp"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the suite needs none; ours and others' could change its results
        }

    def collect(self) -> list[Row]:
        """All tests of the plan's files and targets, as the suite itself lists them.

        Raises
        ------
        ToolError: pytest cannot collect them; its last lines are given.
        """
        listing, known = self.plan.out / "listing.ndjson", self.plan.out / "collected.ndjson"
        listing.unlink(missing_ok=True)
        with self._worker(self.files, [], listing) as (process, log):
            try:
                status: int | None = process.wait(START_S)
            except subprocess.TimeoutExpired:
                status = None
        if status not in (0, 5) or not listing.is_file():
            raise ToolError(
                f"ExecuTorch's tests cannot be collected (status {status})",
                cause=Cause.LAUNCH,
                evidence={"tail": _tail(log)},
            )
        found = load(listing)
        # The table says how many there are: what an earlier call with other operators found still counts.
        known.write_text("".join(json.dumps(row) + "\n" for row in (load(known) | found).values()))
        return list(found.values())

    def todo(self) -> list[str]:
        """Tests of this shard that have no row yet, or one of a state to run again."""
        part, parts = self.plan.shard
        rows = load(self.results)
        tests = (self.plan.tests or spread(self.collect()))[: self.plan.limit][part - 1 :: parts]
        return [test for test in tests if test not in rows or rows[test]["state"] in self.plan.again]

    def run(self) -> int:
        """Run what is to do; returns how many rows were written."""
        todo, began, written = self.todo(), time.monotonic(), 0
        self.plan.say(f"{len(todo)} tests to run")
        while todo:
            if self.plan.total_s is not None and time.monotonic() - began > self.plan.total_s:
                self.plan.say(f"time is up: {len(todo)} tests left")
                break
            size = min(self.plan.batch, len(todo))
            rows = self._batch(todo[:size])
            written += len(rows)
            done = {row["test"] for row in rows}
            todo = [test for test in todo if test not in done]
            counts: dict[str, int] = defaultdict(int)
            for row in rows:
                counts[row["state"]] += 1
            text = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
            self.plan.say(f"{time.monotonic() - began:6.0f} s  {len(todo)} left; {text}")
        return written

    def _batch(self, tests: Sequence[str]) -> list[Row]:
        """Rows of a batch: at least one, whatever happens."""
        before = len(read_rows(self.results))
        files = sorted({test.partition("::")[0] for test in tests})
        with self._worker(files, tests, self.results) as (process, log):
            end = self._watch(process, before)
        rows = read_rows(self.results)[before:]
        shutil.rmtree(self.plan.out / "tmp", ignore_errors=True)
        current = self._current()
        if current in tests and current not in {row["test"] for row in rows}:
            state = "timed-out" if end is None else "crashed"
            why = (
                f"no end within {self.plan.test_s:g} s" if end is None else f"pytest's process ended with status {end}"
            )
            rows.append(self._write(current, state, f"{why}: {_tail(log, 300)}"))
        elif not rows:
            # pytest itself failed, or none of the names exists: said on each, else the run would go on forever.
            rows = [self._write(test, "not-run", f"pytest status {end}: {_tail(log, 300)}") for test in tests]
        return rows

    def _watch(self, process: subprocess.Popen[bytes], lines: int) -> int | None:
        """Status of the worker, None when no row came for too long."""
        deadline = time.monotonic() + START_S + self.plan.test_s
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return process.wait(1)
            now = len(read_rows(self.results))
            if now > lines:
                lines, deadline = now, time.monotonic() + self.plan.test_s
            if time.monotonic() > deadline:
                return None

    @contextlib.contextmanager
    def _worker(
        self, files: Sequence[str], tests: Sequence[str], rows: Path
    ) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
        """A worker in a session of its own, which is gone at the end with all that it started."""
        out = self.plan.out
        (out / "tmp").mkdir(exist_ok=True)
        for name in ("boots.ndjson", "current"):
            (out / name).unlink(missing_ok=True)
        job, log = out / "job.json", out / "pytest.log"
        names = {"rows": rows, "current": out / "current", "boots": out / "boots.ndjson", "folder": self.folder}
        lists = {"files": list(files), "tests": list(tests), "targets": list(self.plan.targets)}
        job.write_text(json.dumps({name: str(path) for name, path in names.items()} | lists))
        with log.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "corstone.boards.shims.suite_worker", str(job)],
                env=self.environment,
                cwd=out,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                yield process, log
            finally:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def _current(self) -> str:
        path = self.plan.out / "current"
        return path.read_text() if path.is_file() else ""

    def _write(self, test: str, state: str, why: str) -> Row:
        row: Row = {"test": test, "state": state, "boots": 0, "exits": [], "boot_s": 0.0, "wall_s": 0.0, "why": why}
        append_row(self.results, row)
        return row


def _tail(log: Path, size: int = 2000) -> str:
    return log.read_text(errors="replace").strip()[-size:] if log.is_file() else ""
