"""Accumulators that do not start from zero (U85): a convolution that Vela splits adds up over several operations.

A kernel with a stride beyond 3, say, becomes one operation a tap. All but the last have no OFM: they leave their sums
in the accumulators, and the next operation keeps them. Bias and scale are those of the operation with the OFM: every
part has the same records. The hardware has accumulators for one block, so the OFM must fit into one.
The planes of a 3-D kernel are added up through memory instead: each operation loads its accumulators from IFM2, the
int32 map that the one before wrote, adds its own bias and stores.
Source: ethos-u.md 3.2 (ACC_FORMAT, OFM_PRECISION), and streams that Vela 5.1.0 made of strides 4 to 9 and of 3-D
kernels, whose answers are the TOSA reference model's. Leaves out POOL NONE (``ops_pool``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.blocks import Block
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.operands import Input, Output, build_input
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.types import Ints


@dataclass(frozen=True)
class Accumulation:
    """``keep``: start from what the operation before left; ``loaded``: start from this map; ``only``: no OFM."""

    keep: bool = False
    only: bool = False
    loaded: Input | None = None

    @property
    def plain(self) -> bool:
        """Whether the operation stands by itself."""
        return not (self.keep or self.only or self.loaded)

    def before(self, machine: Machine, pointers: list[int], shape: tuple[int, int, int]) -> Ints | None:
        """What the accumulators start from, int64 ``[H, W, C]``, None for zero.

        Raises
        ------
        NpuError: kind ``parse``, when the operation before left nothing, or another shape.
        """
        if self.loaded is not None:
            values: Ints = self.loaded.load(machine, pointers).astype(np.int64)
            return values - self.loaded.zero_point
        if not self.keep:
            return None
        kept = machine.accumulators
        if kept is None:
            raise NpuError("parse", "accumulators are kept, but the operation before left none")
        if kept.shape != shape:
            raise NpuError("parse", f"accumulators of shape {kept.shape} are kept for an OFM of shape {shape}")
        return kept


def build_accumulation(machine: Machine, regs: Registers, output: Output, block: Block) -> Accumulation:
    """How an operation begins and ends its accumulators.

    Raises
    ------
    NpuError: kind ``unsupported`` for combinations that Vela does not write, ``parse`` for an OFM larger than a block.
    """
    if not machine.config.accumulator_input:
        return Accumulation()
    start, off = regs.choice("ACC_FORMAT", "input"), bool(regs.field("ACC_FORMAT", "output_off"))
    loaded = None
    if start == "IFM2":
        loaded = build_input(machine, regs, "IFM2", output.shape)
        if loaded.dtype.itemsize < 4:
            raise NpuError("parse", f"an accumulator is loaded from {loaded.dtype} data, not from 32 or 64 bits")
    if off != output.nowhere:
        raise NpuError(
            "unsupported", f"accumulator output {'off' if off else 'on'} with {output.where} is not modelled"
        )
    found = Accumulation(start == "KEEP", off, loaded)
    if (found.keep or found.only) and any(n > most for n, most in zip(output.shape, block.size, strict=True)):
        raise NpuError("parse", f"accumulators of {output.shape} are kept, the block holds {block.size}")
    return found


def require_plain_accumulator(machine: Machine, regs: Registers) -> None:
    """Refuse accumulators that start from, or stay for, another operation."""
    if not machine.config.accumulator_input:
        return
    start = regs.choice("ACC_FORMAT", "input")
    if start != "RESET" or regs.field("ACC_FORMAT", "output_off"):
        raise NpuError("unsupported", f"accumulator input {start} or output off is not modelled for this operation")
