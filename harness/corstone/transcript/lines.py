"""Splits a transcript into lines and tells the simulator's own text from the target's.

Sources of the simulator's lines: public FVP logs (start-up, stop lines, statistics), boards.md section 5.4 in the
project's notes. Anything not known to be the simulator's counts as the target's only when it is not host text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SIMULATOR, TARGET = "simulator", "target"
OUR_PREFIX = "corstone-emulator: "
_MAX_LINE = 16 << 10

_SIMULATOR = re.compile(
    r"""^\s*(?:
      (?:Info:\s[\w.]+:\s)?telnetterminal\d+:\s
    | Ethos-U\srev\s
    | \(C\)\sCOPYRIGHT\s | ALL\sRIGHTS\sRESERVED | All\sRights\sReserved | Copyright\s\d{4}-\d{4}\sARM\sLimited
    | Fast\sModels\s\[
    | Info:\s(?:/OSCI|Simulation\s|[\w.]+:\s)
    | Warning:\s | WARNING:\s | Error:\s | Fatal:\s | \[warning\s\] | \[error\s | \[critical\]
    | xterm:\s | GDBServer:\s | Iris\sserver\s
    | ---\s.*statistics: | -{40,}$
    | (?:Simulated|User|System|Wall)\stime\s+: | Performance\sindex\s+: | Memory\shighwater\smark\s+:
    | [\w.]*cpu\d+\s+:\s+[\d.]+\sMIPS
    | \^C | Stopping\ssimulation\.\.\.
    | corstone-emulator: | qemu-system-arm: | qemu:\s | QEMU\s
    | R\d\d=[0-9a-f]{8}\s | XPSR=[0-9a-f]{8}\s | VPR:\s[0-9a-f]{8} | s\d\d=[0-9a-f]{8}\s | FPSCR:\s
    | Timing\sadapter\shas\sno\seffect
    | .*\berror\swhile\sloading\sshared\slibraries:
    | Traceback\s\(most\srecent\scall\slast\):
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Line:
    """One line without its line end, decoded with escapes for bytes that are not UTF-8. ``number`` counts from 1."""

    number: int
    text: str
    source: str


def split_lines(raw: bytes) -> tuple[Line, ...]:
    """All lines that hold more than blanks, NUL and EOT bytes, in order; a line is cut at 16 KB."""
    lines = []
    ours = False  # inside a message of our emulator, whose further lines are indented
    for number, part in enumerate(re.split(rb"\r*\n|\r", raw), 1):
        text = part[:_MAX_LINE].decode("utf-8", "backslashreplace").replace("\x04", "").replace("\x00", "").rstrip()
        if not text.strip():
            continue
        ours = text.startswith(OUR_PREFIX) or (ours and text.startswith("  "))
        lines.append(Line(number, text, SIMULATOR if ours or _SIMULATOR.match(text) else TARGET))
    return tuple(lines)


def unprintable(raw: bytes) -> int:
    """Bytes that no console text has: control bytes other than those a terminal uses, and broken UTF-8."""
    control = sum(raw.count(value) for value in (*range(1, 4), 5, 6, *range(14, 27), *range(28, 32), 127))
    broken = len(re.findall(r"\ufffd", raw.decode("utf-8", "replace")))
    return control + broken
