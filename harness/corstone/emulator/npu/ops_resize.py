"""RESIZE of U85: bilinear and nearest sampling of the IFM in height and width.

Position ``Y = y * d + offset`` in units of 1/n of a sample; the sample before it is ``floor(Y / n)``, the fraction
``Y - n * floor(Y / n)``; neighbours outside clamp to the edge. The sum carries 16 extra bits into the output scale.
Source: ethos-u.md section 5.10. Leaves out REPLICATE, which is refused, and block steps, which only help the hardware
walk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import Input, Output, build_input, build_output
from corstone.emulator.npu.output import OutputStage
from corstone.emulator.npu.plan import Compute, Plan
from corstone.emulator.npu.stage import build_stage, pool_scale
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.types import Array, Ints

_EXTRA_BITS = 16


@dataclass(frozen=True)
class Axis:
    """Sampling along one axis: numerator ``n``, step ``d`` and ``offset`` in 1/n samples, ``size`` samples."""

    n: int
    step: int
    offset: int
    size: int

    def samples(self, count: int) -> tuple[Ints, Ints, Ints]:
        """For ``count`` positions: the sample before, the one behind, and the fraction, each int64 ``[count]``."""
        place = np.arange(count, dtype=np.int64) * self.step + self.offset
        before = place // self.n
        fraction = place - before * self.n
        last = self.size - 1
        return np.clip(before, 0, last), np.clip(before + 1, 0, last), fraction


def build_resize(machine: Machine, regs: Registers, mode: str) -> Plan:
    """The plan of a RESIZE operation.

    Raises
    ------
    NpuError: for registers never set and REPLICATE.
    """
    if mode == "REPLICATE":
        raise NpuError("unsupported", "resize mode REPLICATE is not modelled")
    output = build_output(machine, regs)
    high, wide = regs["KERNEL_HEIGHT_M1"] + 1, regs["KERNEL_WIDTH_M1"] + 1
    depth = regs["IFM_DEPTH_M1"] + 1
    if depth != output.shape[2]:
        raise NpuError("parse", f"the IFM has depth {depth}, the OFM {output.shape[2]}")
    source = build_input(machine, regs, "IFM", (high, wide, depth))
    if source.dtype.itemsize > 2:
        raise NpuError("unsupported", f"resize of {source.dtype} data is not modelled")
    stage = build_stage(machine, regs, pool_scale(machine, regs))
    return Resize(source, output, stage, _axis(regs, "Y", high), _axis(regs, "X", wide), mode == "BILINEAR")


def _axis(regs: Registers, name: str, size: int) -> Axis:
    n = regs[f"RESIZE_{name}_SCALE_N_M1"] + 1
    offset = regs[f"RESIZE_{name}_OFFSET"] & 0xFFF
    step = regs.field(f"RESIZE_{name}", "one_step_int") * n + (regs.data(f"RESIZE_{name}") & 0x7FF)
    return Axis(n, step, offset - ((offset & 0x800) << 1), size)


class Resize(Compute):
    """Sampling at regular places."""

    def __init__(
        self, source: Input, output: Output, stage: OutputStage, rows: Axis, columns: Axis, bilinear: bool
    ) -> None:
        elements = math.prod(output.shape)
        cost = Cost(0, source.size_bytes, output.size_bytes, 4 * elements)
        super().__init__((source,), output, cost)
        self.stage = stage
        self.rows = rows
        self.columns = columns
        self.bilinear = bilinear

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        source = self.inputs[0]
        values = source.load(machine, pointers).astype(np.int64) - source.zero_point
        for axis, sampling in enumerate((self.rows, self.columns)):
            values = self._along(values, axis, sampling)
        return self.stage.finish(values << _EXTRA_BITS, machine.internal)

    def _along(self, values: Ints, axis: int, sampling: Axis) -> Ints:
        """Sample one axis; bilinear sums weigh the two neighbours with ``n`` in total."""
        before, behind, fraction = sampling.samples(self.output.shape[axis])
        if not self.bilinear:
            return values.take(np.where(2 * fraction >= sampling.n, behind, before), axis=axis)
        weight = fraction.reshape(-1, 1, 1) if axis == 0 else fraction.reshape(1, -1, 1)
        return values.take(before, axis=axis) * (sampling.n - weight) + values.take(behind, axis=axis) * weight
