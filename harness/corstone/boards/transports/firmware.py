"""Our runner's transport: ExecuTorch's semihosting protocol, with a random canary and a list file for long lines.

The runner fills its outputs with a 32-bit pattern that is chosen here, new for each boot, and says so in the command.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from corstone.boards.transports.base import OutputState, Parcel, State, against_canary
from corstone.boards.transports.semihosting import Semihosting
from corstone.firmware.command import FirmwareRun, command
from corstone.runners import Runner


class Firmware(Semihosting):
    """One boot's worth of our runner. ``inject`` is its fault switch, for tests."""

    def __init__(self, runner: Runner, inject: str = "") -> None:
        super().__init__(runner)
        self._inject = inject
        # No byte is 0 or repeats: neither a constant nor a cleared buffer can look like it.
        self._canary = bytes(secrets.SystemRandom().sample(range(1, 256), 4))

    def send(self, work: Path, parcel: Parcel) -> tuple[list[str], dict[str, object]]:
        """Write the files; the facts are the working folder and the command line."""
        (work / "program.pte").write_bytes(parcel.program)
        names = []
        for index, data in enumerate(parcel.inputs):
            names.append(f"i{index}.bin")
            (work / names[-1]).write_bytes(data)
        run = FirmwareRun("program.pte", tuple(names), "out")
        line = command([run], work, canary=int.from_bytes(self._canary, "little"), inject=self._inject)
        self.mark_start(work)
        return [], {"cwd": str(work), "line": line}

    def collect(self, work: Path, parcel: Parcel) -> tuple[OutputState, ...]:
        """As semihosting, each output compared with the pattern below it."""
        return tuple(self._judged(state) for state in super().collect(work, parcel))

    def _judged(self, state: OutputState) -> OutputState:
        if state.state not in {State.COMPLETE, State.UNTOUCHED}:
            return state
        pattern = (self._canary * (state.expected // 4 + 1))[: state.expected]
        return against_canary(state.name, state.data, pattern)
