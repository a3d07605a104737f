"""What the runner is asked to do: its command line, and the list file for longer ones and for many runs a boot.

The FVP cuts ``semihosting-cmd_line`` at 256 characters, so ``command`` puts what is longer into a file and passes
``@file``. Names are relative to the semihosting folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError

LINE_LIMIT = 256
NAME_LIMIT = 199  # what the runner's frames and file names have room for, less the output's number
_ARGV0 = "executor_runner"


@dataclass(frozen=True)
class FirmwareRun:
    """One run: file names of the program and its inputs, the base name of its outputs, and what they are filled with.

    Without a ``canary`` of its own (32 bits) a run's outputs are filled with the boot's; so with ``inject``, the fault
    switch.
    """

    program: str
    inputs: tuple[str, ...] = ()
    output: str = "out"
    canary: int | None = None
    inject: str = ""

    def words(self) -> list[str]:
        """The run's options, each word quoted where it has to be."""
        words = ["-m", _quote(self.program)]
        for name in self.inputs:
            words += ["-i", _quote(name)]
        words += ["-o", _quote(self.output)]
        words += [] if self.canary is None else ["--canary", f"0x{self.canary:x}"]
        return [*words, "--inject", self.inject] if self.inject else words

    def output_name(self, index: int) -> str:
        """File name of an output."""
        return f"{self.output}-{index}.bin"


def _quote(name: str) -> str:
    if not name or len(name.encode()) > NAME_LIMIT or '"' in name or any(ord(c) < 32 for c in name):
        raise ConfigError(
            f"the runner cannot take the file name {name[:80]!r}",
            cause=Cause.BAD_INPUT,
            hint=f"use 1 to {NAME_LIMIT} characters without quotes and control characters",
        )
    return f'"{name}"' if " " in name or name.startswith(("@", "#")) else name


def list_text(runs: Sequence[FirmwareRun]) -> str:
    """The content of a list file: one run a line."""
    return "".join(" ".join(run.words()) + "\n" for run in runs)


def command(
    runs: Sequence[FirmwareRun],
    folder: Path,
    *,
    list_name: str = "runs.txt",
    canary: int | None = None,
    inject: str = "",
    npu_timeout_ms: int | None = None,
    quiet: bool = False,
) -> str:
    """The command line for these runs, at most 256 characters; writes the list file into ``folder`` when it is needed.

    Blanks inside names survive only in the list file: hosts join the words of a command line and lose its quotes.
    """
    options = []
    if canary is not None:
        options += ["--canary", f"0x{canary:x}"]
    if inject:
        options += ["--inject", inject]
    if npu_timeout_ms is not None:
        options += ["--npu-timeout-ms", str(npu_timeout_ms)]
    if quiet:
        options.append("-q")
    single = [_ARGV0, *options, *runs[0].words()] if len(runs) == 1 else []
    line = " ".join(single)
    if single and '"' not in line and len(line) <= LINE_LIMIT:
        return line
    (folder / list_name).write_text(list_text(runs), encoding="utf-8")
    line = " ".join([_ARGV0, *options, f"@{list_name}"])
    if len(line) > LINE_LIMIT:
        raise ConfigError(f"the runner's command line has {len(line)} characters, the limit is {LINE_LIMIT}")
    return line
