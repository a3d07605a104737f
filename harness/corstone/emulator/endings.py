"""How a run of the emulator ends: one row a kind, with the FVP's words and the exit status.

The reason lines are the FVP's, which scripts look for. Statuses beside 0 and the program's own are ours: no public log
shows the FVP's. Leaves out the harness's verdicts (``corstone.boards.endings``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What ended the run."""

    EOT = "eot"
    TAG = "tag"
    EXIT = "exit"
    TIMELIMIT = "timelimit"
    CPULIMIT = "cpulimit"
    SIMLIMIT = "simlimit"
    CYCLELIMIT = "cyclelimit"
    SIGNAL = "signal"
    FAULT = "fault"
    LOCKUP = "lockup"
    UNSUPPORTED = "unsupported"
    QEMU_DIED = "qemu-died"


@dataclass(frozen=True)
class End:
    """One ending. ``status`` is the process's exit status, ``message`` goes to the error output."""

    kind: Kind
    status: int
    message: str = ""


LIMIT_STATUS = 124
FAULT_STATUS = 4
HOST_STATUS = 3

REASONS = {
    Kind.TIMELIMIT: "CPU time has been exceeded.",
    Kind.CPULIMIT: "CPU time has been exceeded.",
    Kind.SIMLIMIT: "Simulated time has been exceeded.",
    Kind.CYCLELIMIT: "Cycle limit has been exceeded.",
}
STOPPED = "Info: /OSCI/SystemC: Simulation stopped by user."


def stop_lines(end: End) -> str:
    """What the FVP prints on its output when it stops."""
    text = ""
    if end.kind in REASONS:
        text += f"\nInfo: Simulation is stopping. Reason: {REASONS[end.kind]}\n\n"
    if end.kind is Kind.SIGNAL:
        text += "\nStopping simulation...\n\n"
    return text + STOPPED + "\n"
