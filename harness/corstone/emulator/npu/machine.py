"""What one run of the NPU holds beside its registers: memory, internal memory, chain buffers, counters.

Leaves out the stream and its order: ``execute`` drives, operations use this.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.config import NpuConfig
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import InstructionSet, instruction_set
from corstone.emulator.npu.memory import Memory
from corstone.emulator.npu.stats import CYCLES_PER_OP, Limits, RunStats
from corstone.emulator.npu.types import Array, Bytes, Ints

_POINTERS = (
    *(f"{tensor}_BASE{n}" for tensor in ("IFM", "OFM", "IFM2") for n in range(4)),
    *("WEIGHT_BASE", "WEIGHT1_BASE", "WEIGHT2_BASE", "WEIGHT3_BASE", "SCALE_BASE", "SCALE1_BASE"),
    *("DMA0_SRC", "DMA0_DST", "DMA0_IDX"),
)
"""Registers that only say where something is: an operation's plan is the same for all their values."""


def pointers(instructions: InstructionSet) -> tuple[str, ...]:
    """The pointer registers that a product has, in a fixed order."""
    return tuple(name for name in _POINTERS if name in instructions.by_name)


_WORK_AN_OPERATION = 1000


@dataclass(frozen=True)
class Cost:
    """What one execution of an operation adds to the counters.

    ``macs`` are those of convolutions; ``elements`` counts the steps of everything else: outputs, taps of a pool.
    """

    macs: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    elements: int = 0

    @property
    def work(self) -> int:
        """The unit of ``Limits.work``."""
        return _WORK_AN_OPERATION + self.macs // 16 + self.elements + self.bytes_read + self.bytes_written


class Machine:
    """One run's state.

    ``bases`` are the region base addresses; ``internal`` the SHRAM or LUT memory, ``uint8 [internal_size]``, random in
    hardware and zero here; ``chains`` the feature maps that a U85 hands from one operation to a later one, by buffer;
    ``last`` the feature map of the last operation; ``accumulators`` the sums, int64 ``[H, W, C]``, that it left for the
    next one, None when it stored them.
    """

    def __init__(self, config: NpuConfig, memory: Memory, bases: Sequence[int], limits: Limits) -> None:
        self.config = config
        self.memory = memory
        self.bases = tuple(bases)
        self.limits = limits
        self.stats = RunStats()
        self.instructions = instruction_set(config.product)
        self.pointer = {name: index for index, name in enumerate(pointers(self.instructions))}
        self.internal: Bytes = np.zeros(config.internal_size, np.uint8)
        self.chains: dict[int, Array] = {}
        self.last: Array | None = None
        self.accumulators: Ints | None = None

    @property
    def result_flag(self) -> bool:
        """What a conditional BRANCH of U85 tests: whether the last element that an operation wrote is not zero.

        The flag's source is named nowhere in a stream; this rule gives TOSA's answer for taken and not taken branches
        of compiled loops and conditions (ethos-u.md 3.5).
        """
        return self.last is not None and bool(self.last.reshape(-1)[-1] != 0)

    def region(self, index: int) -> int:
        """The base address of a region.

        Raises
        ------
        NpuError: kind ``bus``, when the run was given no such region.
        """
        if index >= len(self.bases):
            raise NpuError("bus", f"region {index} has no base address; {len(self.bases)} regions were given")
        return self.bases[index]

    def charge(self, name: str, cost: Cost, times: int = 1) -> None:
        """Count an operation, before it runs.

        Raises
        ------
        NpuError: kind ``limit``, when the run has done more work than it may.
        """
        stats = self.stats
        stats.work += cost.work * times
        if stats.work > self.limits.work:
            raise NpuError("limit", f"the stream asks for more work than the limit of {self.limits.work}")
        stats.operations[name] += times
        stats.macs += cost.macs * times
        stats.bytes_read += cost.bytes_read * times
        stats.bytes_written += cost.bytes_written * times
        moved = (cost.bytes_read + cost.bytes_written) // self.config.axi_bytes
        stats.cycles += (-(-cost.macs // self.config.macs) + moved + CYCLES_PER_OP) * times
