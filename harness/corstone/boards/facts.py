"""Everything known about one boot when it has ended: the only input of the endings catalogue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from corstone.boards.console import Waited
from corstone.boards.transports.base import OutputState
from corstone.transcript import Transcript


@dataclass(frozen=True)
class Asked:
    """What the boot was asked to do. Sizes in bytes; addresses None where the transport has none.

    ``output_types`` run parallel to ``outputs``, as ``float32[1, 10]``. ``target`` is the NPU on the board, ``stream``
    the one the program was compiled for, empty when not known.
    """

    board: str = ""
    target: str = ""
    stream: str = ""
    macs: int = 0
    provider: str = "emulator"
    runner: str = ""
    dialect: str = "plain"
    transport: str = "none"
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    output_types: tuple[str, ...] = ()
    inputs_address: int | None = None
    outputs_address: int | None = None
    semihosting: bool = False
    command: tuple[str, ...] = ()


def _nowhere(_address: int) -> str:
    return ""


@dataclass(frozen=True)
class BootFacts:
    """How it went.

    ``launch_error`` is the operating system's reason for not starting the program. ``exit_status`` is negative for a
    signal. ``stopped`` is ``by-itself``, ``int``, ``term``, ``kill`` or ``not-started``; ``waited`` says what ended
    the waiting. ``cpu_s`` is CPU time used by the simulator in a short sample after a deadline passed. ``host_error``
    is an error of the host while files were written or read. ``locate`` names the function at an address of the
    runner's ELF, or gives an empty string.
    """

    asked: Asked
    transcript: Transcript
    waited: Waited
    exit_status: int | None = None
    stopped: str = "by-itself"
    launch_error: str = ""
    launch_errno: int = 0
    host_error: str = ""
    host_errno: int = 0
    interrupted: bool = False
    left_behind: int = 0
    cpu_s: float | None = None
    outputs: tuple[OutputState, ...] = ()
    locate: Callable[[int], str] = field(default=_nowhere, repr=False)

    @property
    def stopped_by_us(self) -> bool:
        """Whether the simulator ended because we signalled it."""
        return self.stopped in {"int", "term", "kill"}

    @property
    def target_spoke(self) -> bool:
        """Whether any line is the target's own."""
        return bool(self.transcript.target_lines)

    @property
    def finished(self) -> bool:
        """Whether the target said by any means that it was done."""
        log = self.transcript
        ended_well = not self.stopped_by_us and self.exit_status == 0 and self.asked.semihosting
        return (
            self.waited.kind == "marker"
            or log.eot
            or log.mlek.terminating
            or log.executorch.complete
            or log.simulator.exit_code is not None
            or log.simulator.tag
            or (ended_well and not log.simulator.reason)
        )
