"""Semihosting transport: ExecuTorch's protocol, files in ``semihosting-cwd``, outputs ``out-<i>.bin``.

File names are short whatever the tensors are called. The simulator cuts its command line at 256 characters; a longer
one is refused here (ours takes it from a file, see ``firmware.py``). Source: executorch backends/arm/test/
runner_utils.py.
"""

from __future__ import annotations

import os
from pathlib import Path

from corstone.boards.settings import SEMIHOSTING
from corstone.boards.transports.base import MIN_RUN, OutputState, Parcel, State, is_plain_file, read_at_most
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.runners import Runner

MAX_LINE = 256
MAX_BEYOND = 16  # files beyond the expected ones that are kept, and of each so many bytes
MAX_BEYOND_BYTES = 1 << 20
CANARY = 0xA5  # what ExecuTorch's tests fill with


class Semihosting:
    """One boot's worth of semihosting transport."""

    roles: tuple[str, ...] = SEMIHOSTING

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._began_ns = 0

    def send(self, work: Path, parcel: Parcel) -> tuple[list[str], dict[str, object]]:
        """Write the files; the facts are the working folder and the command line."""
        (work / "program.pte").write_bytes(parcel.program)
        words = ["-m", "program.pte", "-o", "out"]
        for index, data in enumerate(parcel.inputs):
            name = f"i{index}.bin"
            (work / name).write_bytes(data)
            words += ["-i", name]
        line = self.command_line(words)
        self.mark_start(work)
        return [], {"cwd": str(work), "line": line}

    def mark_start(self, work: Path) -> None:
        """Remember the file system's own clock, which may lag behind the system's by a tick."""
        path = work / ".began"
        path.write_bytes(b"")
        self._began_ns = os.stat(path).st_mtime_ns
        path.unlink()

    def command_line(self, words: list[str]) -> str:
        """The line the target reads, at most 256 characters.

        Raises
        ------
        ConfigError: it is longer.
        """
        line = " ".join(["executor_runner", *words])
        if len(line) > MAX_LINE:
            raise ConfigError(
                f"the semihosting command line has {len(line)} characters, the simulator passes {MAX_LINE}",
                cause=Cause.UNSUPPORTED,
                hint=f"{self._runner.name} takes no @file; use our runner",
            )
        return line

    def collect(self, work: Path, parcel: Parcel) -> tuple[OutputState, ...]:
        """One state per expected output, and one per file beyond them."""
        states = [self._state(work / f"out-{index}.bin", size) for index, size in enumerate(parcel.output_sizes)]
        index = len(parcel.output_sizes)
        beyond = index + MAX_BEYOND
        while index < beyond and is_plain_file(path := work / f"out-{index}.bin"):
            data = read_at_most(path, MAX_BEYOND_BYTES)
            states.append(OutputState(path.name, 0, State.LONG, path.stat().st_size, data, "was not expected"))
            index += 1
        return tuple(states)

    def _state(self, path: Path, size: int) -> OutputState:
        if not is_plain_file(path):
            return OutputState(path.name, size, State.MISSING, 0, b"", "the file was not written")
        if path.stat().st_mtime_ns < self._began_ns:
            return OutputState(path.name, size, State.STALE, 0, b"", "the file is older than the boot")
        data = read_at_most(path, size + 1)
        length = path.stat().st_size
        if length != size:
            state = State.SHORT if length < size else State.LONG
            return OutputState(path.name, size, state, length, data[:size], f"{length} bytes instead of {size}")
        if size >= MIN_RUN and data.count(CANARY) == size:
            return OutputState(path.name, size, State.UNTOUCHED, 0, data, "holds the fill pattern 0xA5")
        return OutputState(path.name, size, State.COMPLETE, size, data)
