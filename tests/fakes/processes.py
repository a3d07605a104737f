"""What tests ask of processes, and do to them: whether one is alive, or ends soon; killing a boot in its middle."""

from __future__ import annotations

import os
import signal
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


def kill_qemu_at(run: int, log: Path, seconds: float = 30.0) -> None:
    """Kill the simulator below this process once the console ``log`` of a shared boot is at that run."""
    end = time.monotonic() + seconds
    simulators: list[int] = []
    while time.monotonic() < end:
        # Going through all processes takes as long as some runs do, so it is done before.
        simulators = simulators or [pid for pid in below(os.getpid()) if name(pid).startswith("qemu-system")]
        if simulators and log.exists() and f'"e":"begin","run":{run},'.encode() in log.read_bytes():
            for pid in simulators:
                os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.002)


def name(pid: int) -> str:
    """What the kernel calls it; empty when it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""
