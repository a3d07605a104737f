"""Pooling: MAX, MIN, AVERAGE, SUM, REDUCE_SUM, NONE and ARGMAX, over windows with stride, padding and upscaling.

Source: ethos-u.md sections 4 (IFM size, padding, upscale) and 5.7. Of ARGMAX the form that Vela writes is there: one
axis, unpadded, and an output scale of 1 >> 16, which leaves the index (that indices count from the window's start and
the first of equal values wins was measured against TOSA).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from corstone.emulator.npu.accumulators import require_plain_accumulator
from corstone.emulator.npu.channels import RecordSource, build_records
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import Input, Output, build_input, build_output
from corstone.emulator.npu.output import OutputStage
from corstone.emulator.npu.plan import Compute, Plan
from corstone.emulator.npu.pointwise import PointFunction, Pointwise
from corstone.emulator.npu.scaling import Rounding, reciprocal, scale_round
from corstone.emulator.npu.stage import build_stage, is_global, ofm_rounding, ofm_scale, pool_scale
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.types import Array, Ints, bounds
from corstone.emulator.npu.window import Window, build_window

_HARDWARE_DIVIDES_UP_TO = 8
_INDEX_SHIFT = 16
_I32 = (1 << 31) - 1


def build_pool(machine: Machine, regs: Registers, mode: str) -> Plan:
    """The plan of a POOL operation.

    Raises
    ------
    NpuError: for registers never set, shapes that do not fit, and modes that are not modelled.
    """
    output = build_output(machine, regs)
    if mode == "NONE":
        return _build_none(machine, regs, output)
    require_plain_accumulator(machine, regs)
    stage = build_stage(machine, regs, pool_scale(machine, regs))
    window = build_window(regs, output.shape[:2])
    depth = regs["IFM_DEPTH_M1"] + 1
    if mode == "REDUCE_SUM" and output.shape[2] != 1:
        raise NpuError("parse", f"REDUCE_SUM writes depth 1, the OFM has {output.shape[2]}")
    if mode != "REDUCE_SUM" and depth != output.shape[2]:
        raise NpuError("parse", f"the IFM has depth {depth}, the OFM {output.shape[2]}")
    source = build_input(machine, regs, "IFM", (*window.stored, depth))
    if source.dtype.itemsize == 8:
        raise NpuError("unsupported", f"{mode} of 64-bit data is not modelled")
    if mode == "REDUCE_SUM":
        return ReduceSum(source, output, stage, window)
    if mode in ("ARGMAX_X", "ARGMAX_Y"):
        return _build_argmax(source, output, stage, window, mode)
    if window.trivial:
        return Pointwise(source, output, stage)
    if mode in ("MAX", "MIN"):
        return Extreme(source, output, stage, window, mode)
    divides = None
    if mode == "AVERAGE" and (machine.config.average_always_divides or window.padded):
        if max(window.kernel) > _HARDWARE_DIVIDES_UP_TO:
            raise NpuError("parse", f"an AVERAGE over {window.kernel} is larger than the hardware divides")
        divides = ofm_rounding(machine, regs)[0]
    return Sum(source, output, stage, window, divides)


def _cost(source: Input, output: Output, window: Window) -> Cost:
    elements = math.prod(output.shape)
    return Cost(0, source.size_bytes, output.size_bytes, elements * (1 + sum(window.taps)))


class Extreme(Compute):
    """MAX or MIN over windows, in the input's own type; padding is skipped."""

    def __init__(self, source: Input, output: Output, stage: OutputStage, window: Window, mode: str) -> None:
        super().__init__((source,), output, _cost(source, output, window))
        self.window = window
        self.function = PointFunction(source.dtype, source.zero_point, stage)
        lowest, highest = bounds(source.dtype)
        if window.upscale == "ZEROS" and not lowest <= source.zero_point <= highest:
            raise NpuError("parse", f"zero point {source.zero_point} is inserted into {source.dtype} data")
        self._fill = lowest if mode == "MAX" else highest
        self._join = np.maximum if mode == "MAX" else np.minimum

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        window = self.window
        source = self.inputs[0]
        values = window.expand(source.load(machine, pointers), source.zero_point, self._fill)
        rows = window.columns(values, 0).copy()
        for x in range(1, window.taps[1]):
            self._join(rows, window.columns(values, x), out=rows)
        best = window.rows(rows, 0).copy()
        for y in range(1, window.taps[0]):
            self._join(best, window.rows(rows, y), out=best)
        return self.function.apply(best, machine.internal)


def _build_argmax(source: Input, output: Output, stage: OutputStage, window: Window, mode: str) -> Plan:
    scale = stage.scale
    if scale is None or (scale.multiplier, scale.shift) != (1, _INDEX_SHIFT) or stage.table is not None:
        raise NpuError("unsupported", f"{mode} is only modelled with an OFM scale of 1 >> {_INDEX_SHIFT}")
    across = window.kernel[0] if mode == "ARGMAX_X" else window.kernel[1]
    if across != 1 or window.padded or window.dilation != (1, 1) or window.upscale != "NONE":
        raise NpuError("unsupported", f"{mode} over a kernel of {window.kernel}, padded or dilated, is not modelled")
    return ArgMax(source, output, replace(stage, scale=None), window, mode)


class ArgMax(Compute):
    """The place of the first largest element in a row or column window."""

    def __init__(self, source: Input, output: Output, stage: OutputStage, window: Window, mode: str) -> None:
        super().__init__((source,), output, _cost(source, output, window))
        self.window = window
        self.stage = stage
        self.axis = 1 if mode == "ARGMAX_X" else 0

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        values = self.inputs[0].load(machine, pointers)
        best = self.window.tap(values, 0, 0).copy()
        index = np.zeros(best.shape, np.int64)
        for place in range(1, self.window.taps[self.axis]):
            other = self.window.tap(values, *((0, place) if self.axis else (place, 0)))
            larger = other > best
            best[larger] = other[larger]
            index[larger] = place
        return self.stage.finish(index, machine.internal)


class Sum(Compute):
    """SUM or AVERAGE over windows; ``divides`` is the rounding of a division by the number of valid taps."""

    def __init__(
        self, source: Input, output: Output, stage: OutputStage, window: Window, divides: Rounding | None
    ) -> None:
        super().__init__((source,), output, _cost(source, output, window))
        self.window = window
        self.stage = stage
        self.divides = divides

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        source = self.inputs[0]
        total = window_sum(source.load(machine, pointers), source.zero_point, self.window)
        if self.divides is not None:
            total = self._divided(total, self.divides)
        return self.stage.finish(total, machine.internal)

    def _divided(self, total: Ints, rounding: Rounding) -> Ints:
        counts = self.window.valid()
        if counts.min() < 1:
            raise NpuError("parse", "an AVERAGE window lies in the padding altogether")
        factors = np.array([(0, 0)] + [reciprocal(n) for n in range(1, int(counts.max()) + 1)], np.int64)
        multiplier, shift = factors[counts, 0][..., None], factors[counts, 1][..., None]
        return scale_round(total, multiplier, shift, rounding)


class ReduceSum(Compute):
    """The sum over the depth, and over the window where there is one."""

    def __init__(self, source: Input, output: Output, stage: OutputStage, window: Window) -> None:
        # The sum over a depth of one is the element itself, and Vela then stores it in place.
        self.pointwise = source.shape[2] == 1 and window.trivial
        taps = math.prod(source.shape) * sum(window.taps)
        cost = Cost(0, source.size_bytes, output.size_bytes, taps)
        super().__init__((source,), output, cost)
        self.window = window
        self.stage = stage

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        source = self.inputs[0]
        values = source.load(machine, pointers)
        if self.window.trivial:
            total = values.sum(axis=2, keepdims=True, dtype=np.int64) - source.zero_point * values.shape[2]
        else:
            total = window_sum(values, source.zero_point, self.window).sum(axis=2, keepdims=True)
        return self.stage.finish(total, machine.internal)


def window_sum(values: Array, zero_point: int, window: Window) -> Ints:
    """The sum of ``value - zero_point`` over each window, int64 ``[H, W, C]``; padding counts 0."""
    reach = max(abs(limit - zero_point) for limit in bounds(values.dtype)) * math.prod(window.taps)
    wide: Ints = values.astype(np.int32 if reach <= _I32 else np.int64)
    if zero_point:
        wide -= zero_point
    expanded = window.expand(wide, 0)
    rows = window.columns(expanded, 0).copy()
    for x in range(1, window.taps[1]):
        rows += window.columns(expanded, x)
    total = window.rows(rows, 0).astype(np.int64)
    for y in range(1, window.taps[0]):
        total += window.rows(rows, y)
    return total


def _build_none(machine: Machine, regs: Registers, output: Output) -> Plan:
    """POOL NONE: the accumulator comes from IFM2, 32 or 64 bits wide; the IFM registers are a dummy.

    IFM2_BROADCAST does not apply: Vela leaves there what the elementwise operation before had set.
    """
    if regs.choice("ACC_FORMAT", "input") != "IFM2" or regs.field("ACC_FORMAT", "output_off"):
        raise NpuError("unsupported", "POOL NONE is only modelled with the accumulator loaded from IFM2")
    source = build_input(machine, regs, "IFM2", output.shape)
    if source.dtype.itemsize < 4:
        raise NpuError("parse", f"an accumulator is loaded from {source.dtype} data, not from 32 or 64 bits")
    if is_global(regs):
        return Loaded(source, output, build_stage(machine, regs, ofm_scale(machine, regs)), None)
    return Loaded(source, output, build_stage(machine, regs, None), build_records(machine, regs, output.shape[2]))


class Loaded(Compute):
    """POOL NONE: what IFM2 holds, through the output stage."""

    pointwise = True

    def __init__(self, source: Input, output: Output, stage: OutputStage, records: RecordSource | None) -> None:
        extra = records.size_bytes if records else 0
        cost = Cost(0, source.size_bytes + extra, output.size_bytes, math.prod(output.shape))
        super().__init__((source,), output, cost)
        self.stage = stage
        self.records = records

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        source = self.inputs[0]
        values = source.load(machine, pointers).astype(np.int64) - source.zero_point
        channels = self.records.load(machine, pointers) if self.records else None
        return self.stage.finish(values, machine.internal, channels)
