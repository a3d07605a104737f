"""A named placeholder: reads give 0, writes vanish, and every access is kept for the report.

The idea is that of QEMU's hw/misc/unimp.c: software that touches what is not modelled leaves a trace of it.
"""

from __future__ import annotations

from collections import Counter


class Unimplemented:
    """Stands for a block of the board that has no model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: Counter[tuple[str, int]] = Counter()

    def read(self, offset: int) -> int:
        """0, and a note."""
        self.seen["read", offset] += 1
        return 0

    def write(self, offset: int, value: int) -> None:
        """Nothing but a note."""
        self.seen[f"write {value:#x}", offset] += 1

    def reset(self) -> None:
        """It has no state to reset."""
