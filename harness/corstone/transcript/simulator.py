"""What the simulator itself says: its version, why it stopped, its statistics.

Sources: public FVP logs; the stop reasons are Arm's words and kept verbatim by the emulator.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

_REASON = re.compile(r"Simulation is stopping\. Reason: (.+?)\.?$")
_STATISTIC = re.compile(r"^(Simulated time|User time|System time|Wall time)\s+: ([\d.]+)s")
_INSTRUCTIONS = re.compile(r"MIPS \(\s*(\d+) Inst\)")
_BANNERS = ("Ethos-U rev", "Fast Models [", "corstone-emulator: version ")
_EXIT_CODE = re.compile(r"^Application exit code: (-?\d+)")


@dataclass(frozen=True)
class SimulatorLog:
    """``reason`` is the simulator's own for stopping; ``exit_code`` what the application printed as its own."""

    started: bool = False
    reason: str = ""
    stopped: bool = False
    exit_code: int | None = None
    tag: bool = False
    statistics: dict[str, float] = field(default_factory=dict)


def read_simulator(texts: Iterable[str]) -> SimulatorLog:
    """Collect the statements from all lines."""
    started = stopped = tag = False
    reason = ""
    code: int | None = None
    statistics: dict[str, float] = {}
    for text in texts:
        started = started or "telnetterminal" in text or text.lstrip().startswith(_BANNERS)
        if found := _REASON.search(text):
            reason = found[1]
        stopped = stopped or "Simulation stopped by user" in text
        if found := _EXIT_CODE.match(text):
            code = int(found[1])
        tag = tag or text.strip() == "EXITTHESIM"
        if found := _STATISTIC.match(text):
            statistics[found[1]] = float(found[2])
        if found := _INSTRUCTIONS.search(text):
            statistics["Instructions"] = float(found[1])
    return SimulatorLog(started, reason, stopped, code, tag, statistics)
