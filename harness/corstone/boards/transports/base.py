"""The seam of the transports: what is sent, what came back, and in what state each output is."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

# Untouched bytes at the end of an output count as "not written" from this run on: chance makes eight in 2^64.
MIN_RUN = 8


class State(StrEnum):
    """State of one output, best first."""

    COMPLETE = "complete"
    DOUBTFUL = "doubtful"
    LONG = "long"
    SHORT = "short"
    PARTIAL = "partial"
    UNTOUCHED = "untouched"
    STALE = "stale"
    MISSING = "missing"


@dataclass(frozen=True)
class OutputState:
    """One output as found. ``written`` is how many bytes were written as far as can be told."""

    name: str
    expected: int
    state: State
    written: int = 0
    data: bytes = field(default=b"", repr=False)
    detail: str = ""


@dataclass(frozen=True)
class Parcel:
    """What goes to the board. ``output_sizes`` in bytes, in order."""

    program: bytes
    inputs: tuple[bytes, ...]
    output_sizes: tuple[int, ...]


class Transported(Protocol):
    """One transport, good for one boot."""

    roles: tuple[str, ...]

    def send(self, work: Path, parcel: Parcel) -> tuple[list[str], dict[str, object]]:
        """Lay the files into the fresh folder ``work``; returns arguments and facts for the settings."""

    def collect(self, work: Path, parcel: Parcel) -> tuple[OutputState, ...]:
        """Look at what came back."""


def is_plain_file(path: Path) -> bool:
    """A regular file itself: a target could leave a link to somewhere else, a FIFO or a folder under a name we read."""
    return path.is_file() and not path.is_symlink()


def read_at_most(path: Path, size: int) -> bytes:
    """The file's first bytes: how long it is, the target decides."""
    with path.open("rb") as stream:
        return stream.read(size)


def untouched_gap(data: bytes, canary: bytes, step: int = 32) -> tuple[int, int] | None:
    """First aligned block of ``step`` bytes that still holds the canary, as (offset, length), or None."""
    for offset in range(0, len(data) - step + 1, step):
        if data[offset : offset + step] == canary[offset : offset + step]:
            return offset, step
    return None


def against_canary(name: str, data: bytes, canary: bytes) -> OutputState:
    """Judge an output of the right size by the random bytes that were there before."""
    size = len(canary)
    if not size:
        return OutputState(name, 0, State.COMPLETE, 0, data)
    if data == canary:
        if size < MIN_RUN:
            return OutputState(name, size, State.DOUBTFUL, 0, data, "equals the canary, and is too short to tell")
        return OutputState(name, size, State.UNTOUCHED, 0, data, "still holds the bytes put there before the boot")
    tail = 0
    while tail < size and data[size - 1 - tail] == canary[size - 1 - tail]:
        tail += 1
    if tail >= MIN_RUN:
        return OutputState(name, size, State.PARTIAL, size - tail, data, f"the last {tail} bytes were not written")
    gap = untouched_gap(data, canary)
    if gap:
        return OutputState(
            name, size, State.PARTIAL, size - gap[1], data, f"bytes {gap[0]} to {sum(gap) - 1} were not written"
        )
    return OutputState(name, size, State.COMPLETE, size, data)
