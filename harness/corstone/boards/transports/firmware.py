"""Our runner's transport: ExecuTorch's semihosting protocol, with a random canary and a list file for long lines.

The runner fills its outputs with a 32-bit pattern that is chosen here, new for each boot, and says so in the command.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corstone.boards.settings import SEMIHOSTING
from corstone.boards.transports.base import OutputState, Parcel, State, against_canary
from corstone.boards.transports.semihosting import Semihosting
from corstone.firmware.command import FirmwareRun, command
from corstone.runners import Runner


class Firmware(Semihosting):
    """One run of our runner. ``inject`` is its fault switch, for tests; ``prefix`` begins the names of its files."""

    def __init__(self, runner: Runner, inject: str = "", prefix: str = "") -> None:
        super().__init__(runner, prefix)
        self._inject = inject
        # No byte is 0 or repeats: neither a constant nor a cleared buffer can look like it.
        self._canary = bytes(secrets.SystemRandom().sample(range(1, 256), 4))

    def send(self, work: Path, parcel: Parcel) -> tuple[list[str], dict[str, object]]:
        """Write the files; the facts are the working folder and the command line."""
        (work / "program.pte").write_bytes(parcel.program)
        line = command([self.place(work, parcel)], work, inject=self._inject)
        self.mark_start(work)
        return [], {"cwd": str(work), "line": line}

    def place(self, work: Path, parcel: Parcel) -> FirmwareRun:
        """Write the inputs; returns what the runner is told."""
        names = []
        for index, data in enumerate(parcel.inputs):
            names.append(f"{self.prefix}i{index}.bin")
            (work / names[-1]).write_bytes(data)
        canary = int.from_bytes(self._canary, "little")
        return FirmwareRun("program.pte", tuple(names), f"{self.prefix}out", canary)

    def collect(self, work: Path, parcel: Parcel) -> tuple[OutputState, ...]:
        """As semihosting, each output compared with the pattern below it."""
        return tuple(self._judged(state) for state in super().collect(work, parcel))

    def _judged(self, state: OutputState) -> OutputState:
        if state.state not in {State.COMPLETE, State.UNTOUCHED}:
            return state
        pattern = (self._canary * (state.expected // 4 + 1))[: state.expected]
        return against_canary(state.name, state.data, pattern)


class FirmwareRuns:
    """Many runs in a boot of our runner: each with files, a canary and outputs of its own."""

    roles: tuple[str, ...] = SEMIHOSTING

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._runs: list[Firmware] = []
        self.told: list[FirmwareRun] = []
        """What the runner was told of each run."""

    def send(
        self, work: Path, parcels: Sequence[Parcel], injections: Sequence[str]
    ) -> tuple[list[str], dict[str, object]]:
        """Write each program once and each run's inputs; the facts are the working folder and the command line.

        ``injections`` are the fault switches of the runs; one that they all have is the boot's.
        """
        of_boot = injections[0] if len(set(injections)) == 1 else ""
        programs: dict[bytes, str] = {}
        self._runs = [Firmware(self._runner, prefix=self.prefix(number)) for number in range(len(parcels))]
        self.told = []
        for run, parcel, inject in zip(self._runs, parcels, injections, strict=True):
            if parcel.program not in programs:
                programs[parcel.program] = f"p{len(programs)}.pte"
                (work / programs[parcel.program]).write_bytes(parcel.program)
            placed = run.place(work, parcel)
            own = "" if of_boot else inject
            self.told.append(replace(placed, program=programs[parcel.program], inject=own))
        self._runs[0].mark_start(work)
        for run in self._runs[1:]:
            run.began_ns = self._runs[0].began_ns
        return [], {"cwd": str(work), "line": command(self.told, work, inject=of_boot)}

    @staticmethod
    def prefix(number: int) -> str:
        """What the names of a run's files begin with."""
        return f"r{number}-"

    def collect(self, work: Path, number: int, parcel: Parcel) -> tuple[OutputState, ...]:
        """One run's outputs, as of a boot of its own."""
        return self._runs[number].collect(work, parcel)
