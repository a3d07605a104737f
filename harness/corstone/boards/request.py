"""What one boot is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from corstone.boards.deadlines import Deadlines
from corstone.program import Program


@dataclass(frozen=True)
class BootRequest:
    """One program on raw inputs.

    ``inputs`` are the bytes of each input in argument order. ``folder`` receives the capture; captures of an earlier
    boot in it are removed first. ``board``, ``runner`` (a name) and ``runner_elf`` (a file) default by target and
    provider. ``trace`` asks the emulator for the decoded command stream. ``fast`` asks an FVP for functional NPU
    timing (its counters are then meaningless). ``settings`` are extra ``name=value`` parameters for the simulator.
    ``preflight`` checks program, runner and board before the boot; without it a misfit shows on the device.
    ``inject`` is the fault switch of our runner (``--inject``), for tests.
    """

    program: Program
    inputs: tuple[bytes, ...]
    folder: Path
    board: str | None = None
    provider: str = "auto"
    fvp_dir: Path | None = None
    require_fvp: bool = False
    runner: str | None = None
    runner_elf: Path | None = None
    deadlines: Deadlines | None = None
    trace: bool = False
    fast: bool = True
    settings: tuple[str, ...] = ()
    preflight: bool = True
    inject: str = ""
