"""DMA: copies of bytes between regions and the internal memory, in rows and planes, also by index.

Source: ethos-u.md section 5.9. Rows are copied in order, so a later one wins where destinations meet. Leaves out U65's
2D and 3D modes, which Vela does not write, and 64-bit indices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.plan import Plan
from corstone.emulator.npu.state import UNSET, Registers
from corstone.emulator.npu.types import Array, Bytes

_INDEX_BYTES = 4
_WORK_A_ROW = 100


@dataclass(frozen=True)
class Side:
    """Source or destination: a region's base address or the internal memory, and the steps between rows and planes."""

    name: str
    base: int
    internal: bool
    place: int
    steps: tuple[int, int]

    def start(self, pointers: list[int]) -> int:
        """The address of the first byte."""
        offset = pointers[self.place]
        if offset == UNSET:
            raise NpuError("parse", f"{self.name} was never set")
        return self.base + offset

    def window(self, machine: Machine, address: int, size: int, *, write: bool) -> Bytes:
        """Bytes in memory or in the internal memory."""
        if not self.internal:
            return machine.memory.window(address, size, write)
        if address < 0 or address + size > machine.internal.size:
            raise NpuError("bus", f"{self.name}: {size} bytes at {address:#x} are outside the internal memory")
        return machine.internal[address : address + size]


@dataclass(frozen=True)
class Indices:
    """The list of row numbers of an indexed copy: int32, one a row, ``skip`` bytes after each plane's."""

    base: int
    place: int
    last: int
    skip: int


@dataclass(frozen=True)
class Copy:
    """``planes`` of ``rows`` of ``length`` bytes; ``gather`` and ``scatter`` take the row from ``indices``."""

    source: Side
    target: Side
    length: int
    rows: int
    planes: int
    indices: Indices | None
    gather: bool
    cost: Cost

    def run(self, machine: Machine, pointers: list[int]) -> Array | None:
        """See ``Plan``."""
        source, target = self.source.start(pointers), self.target.start(pointers)
        if self.rows == self.planes == 1 and self.indices is None:
            self._row(machine, source, target)
            return None
        for plane in range(self.planes):
            rows = self._rows(machine, pointers, plane)
            for row, index in enumerate(rows):
                from_row, to_row = (index, row) if self.gather else (row, index)
                self._row(
                    machine,
                    source + plane * self.source.steps[1] + from_row * self.source.steps[0],
                    target + plane * self.target.steps[1] + to_row * self.target.steps[0],
                )
        return None

    def _rows(self, machine: Machine, pointers: list[int], plane: int) -> Sequence[int]:
        if self.indices is None:
            return range(self.rows)
        where = self.indices
        if pointers[where.place] == UNSET:
            raise NpuError("parse", "DMA0_IDX was never set")
        start = where.base + pointers[where.place] + plane * (self.rows * _INDEX_BYTES + where.skip)
        numbers = machine.memory.window(start, self.rows * _INDEX_BYTES, False).view("<i4").astype(np.int64)
        wrong = np.flatnonzero((numbers < 0) | (numbers > where.last))
        if wrong.size:
            value = int(numbers[wrong[0]])
            raise NpuError("bus", f"index {value} of row {int(wrong[0])} is not in 0..{where.last}")
        rows: list[int] = numbers.tolist()
        return rows

    def _row(self, machine: Machine, source: int, target: int) -> None:
        data = self.source.window(machine, source, self.length, write=False)
        place = self.target.window(machine, target, self.length, write=True)
        if (
            self.source.internal == self.target.internal
            and source < target + self.length
            and target < source + self.length
        ):
            if source != target:
                raise NpuError("overlap", f"{self.length} bytes at {source:#x} are copied onto {target:#x}")
            return
        place[...] = data

    def describe(self, pointers: list[int]) -> Mapping[str, Mapping[str, object]]:
        """See ``Plan``."""
        return {
            side.name: {
                "address": self.base_of(side, pointers),
                "internal": side.internal,
                "length": self.length,
                "rows": self.rows * self.planes,
            }
            for side in (self.source, self.target)
        }

    @staticmethod
    def base_of(side: Side, pointers: list[int]) -> int:
        """The first address of a side, for a trace."""
        return side.start(pointers)


def build_dma(machine: Machine, regs: Registers) -> Plan:
    """The plan of a DMA_START.

    Raises
    ------
    NpuError: for registers never set and modes that are not modelled.
    """
    mode = _mode(machine, regs)
    length = regs["DMA0_LEN"]
    rows = planes = 1
    if mode != "1D":
        rows = regs["DMA0_SIZE0"]
        planes = regs["DMA0_SIZE1"] if mode == "3D" else 1
    gather = bool(regs.flag("DMA0_SRC_REGION", "indexed"))
    scatter = bool(regs.flag("DMA0_DST_REGION", "indexed"))
    if gather and scatter:
        raise NpuError("parse", "both sides of a DMA are indexed")
    if length * rows * planes == 0:
        raise NpuError("parse", f"a DMA of {planes} planes of {rows} rows of {length} bytes moves nothing")
    if length * rows * planes > machine.limits.work:
        raise NpuError("limit", f"a DMA of {length * rows * planes} bytes is beyond the work limit")
    indices = None
    if gather or scatter:
        skip = regs["DMA0_IDX_SKIP1"] if mode == "3D" else 0
        region = machine.region(regs["DMA0_IDX_REGION"])
        indices = Indices(region, machine.pointer["DMA0_IDX"], regs["DMA0_IDX_MAX"], skip)
    size = length * rows * planes
    # Each row is a step of its own as well as its bytes.
    cost = Cost(0, size, size, _WORK_A_ROW * rows * planes)
    return Copy(
        _side(machine, regs, "SRC", mode, rows=gather or mode != "1D"),
        _side(machine, regs, "DST", mode, rows=scatter or mode != "1D"),
        length,
        rows,
        planes,
        indices,
        gather,
        cost,
    )


def _mode(machine: Machine, regs: Registers) -> str:
    config = machine.config
    modes = [regs.choice(register, "stride") for register in config.dma_mode_registers]
    for mode in modes:
        if mode not in config.dma_modes:
            raise NpuError("unsupported", f"{mode} DMA of {config.product} is not modelled")
    return modes[0] if modes else "1D"


def _side(machine: Machine, regs: Registers, name: str, mode: str, *, rows: bool) -> Side:
    """Vela writes an indexed move of a single row in mode 1D: its indexed side has a row step all the same."""
    register = f"DMA0_{name}_REGION"
    internal = bool(regs.field(register, "internal"))
    steps = [0, 0]
    if rows:
        steps[0] = regs[f"DMA0_{name}_STRIDE0"]
    if mode == "3D":
        steps[1] = regs[f"DMA0_{name}_STRIDE1"]
    base = 0 if internal else machine.region(regs.field(register, "region"))
    return Side(f"DMA0_{name}", base, internal, machine.pointer[f"DMA0_{name}"], (steps[0], steps[1]))
