"""What a run counted, and how far a run may go.

Cycles are an estimate (ethos-u.md section 7): MACs over MACs a cycle, plus bytes over the bus width, plus a fixed cost
an operation. They order programs by cost; they are not hardware cycles.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

CYCLES_PER_OP = 64


@dataclass(frozen=True)
class Limits:
    """Bounds on one run, so that a corrupt stream ends in bounded time and memory.

    ``work`` counts elements and bytes touched, sixteenths of MACs and a thousand an operation, which is what they cost
    a host, about 20 ns a unit at worst; ``branches`` counts taken jumps, ``elements`` bounds one feature map.
    The defaults let a network of 50 G MACs through, and stop 64k x 64k x 64k tensors.
    """

    work: int = 4_000_000_000
    branches: int = 1_000_000
    elements: int = 1 << 27


@dataclass
class RunStats:
    """Counts of one run; ``qread`` is the byte offset after the last command fetched."""

    cycles: int = 0
    macs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    irq_mask: int = 0
    stop_mask: int = 0
    qread: int = 0
    work: int = 0
    branches: int = 0

    @property
    def ops(self) -> int:
        """Operations executed, data moves included."""
        return sum(self.operations.values())
