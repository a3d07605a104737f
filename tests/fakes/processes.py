"""What tests ask of processes by their number: whether one is alive, or ends soon."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path


def alive(pid: int) -> bool:
    """It is there, and no zombie whose parent has not looked."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int, seconds: float = 30.0) -> bool:
    """It ends in that time."""
    end = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def below(process: int) -> list[int]:
    """Children of a process, and theirs."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    found = [process]
    for above in found:
        found += [pid for pid, parent in parents.items() if parent == above]
    return found[1:]
