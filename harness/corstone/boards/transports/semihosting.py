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
    """One boot's worth of semihosting transport. ``prefix`` begins the names of its files, where several runs share it.

    ``began_ns`` is when the boot began, by the file system's own clock.
    """

    roles: tuple[str, ...] = SEMIHOSTING

    def __init__(self, runner: Runner, prefix: str = "") -> None:
        self._runner = runner
        self.prefix = prefix
        self.began_ns = 0

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
        self.began_ns = os.stat(path).st_mtime_ns
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
        states = [self._state(work, index, size) for index, size in enumerate(parcel.output_sizes)]
        index = len(parcel.output_sizes)
        beyond = index + MAX_BEYOND
        while index < beyond and is_plain_file(path := self._path(work, index)):
            data = read_at_most(path, MAX_BEYOND_BYTES)
            states.append(OutputState(f"out-{index}.bin", 0, State.LONG, path.stat().st_size, data, "was not expected"))
            index += 1
        return tuple(states)

    def _path(self, work: Path, index: int) -> Path:
        return work / f"{self.prefix}out-{index}.bin"

    def _state(self, work: Path, index: int, size: int) -> OutputState:
        path, name = self._path(work, index), f"out-{index}.bin"
        if not is_plain_file(path):
            return OutputState(name, size, State.MISSING, 0, b"", "the file was not written")
        if path.stat().st_mtime_ns < self.began_ns:
            return OutputState(name, size, State.STALE, 0, b"", "the file is older than the boot")
        data = read_at_most(path, size + 1)
        length = path.stat().st_size
        if length != size:
            state = State.SHORT if length < size else State.LONG
            return OutputState(name, size, state, length, data[:size], f"{length} bytes instead of {size}")
        if size >= MIN_RUN and data.count(CANARY) == size:
            return OutputState(name, size, State.UNTOUCHED, 0, data, "holds the fill pattern 0xA5")
        return OutputState(name, size, State.COMPLETE, size, data)
