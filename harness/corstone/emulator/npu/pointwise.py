"""Operations that change each element by itself: one input, the output stage, nothing between.

An 8-bit input has 256 values, so the whole operation is one table; a stage that changes nothing is a copy. That
keeps streams of very many tiny operations fast. Leaves out where windows come from (``ops_pool``).
"""

from __future__ import annotations

import math

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import Input, MemoryInput, Output
from corstone.emulator.npu.output import OutputStage
from corstone.emulator.npu.places import Places, assign, regular
from corstone.emulator.npu.plan import Compute
from corstone.emulator.npu.scaling import Rounding
from corstone.emulator.npu.slices import pieces
from corstone.emulator.npu.state import Chosen
from corstone.emulator.npu.types import Array, Bytes, DType, bounds


class PointFunction:
    """``stage(value - zero_point)`` of one element type, in the fastest exact form."""

    def __init__(self, dtype: DType, zero_point: int, stage: OutputStage) -> None:
        self.dtype = dtype
        self.zero_point = zero_point
        self.stage = stage
        self.identity = _is_identity(dtype, zero_point, stage)
        self._met = 0
        self._codes: Array | None = None
        self._translation: bytes | None = None

    def codes(self, internal: Bytes) -> Array:
        """The result of each of the 256 codes of an 8-bit input, indexed by the code as an unsigned byte."""
        if self._codes is None:
            values = np.arange(256, dtype=np.uint8).view(self.dtype).astype(np.int64) - self.zero_point
            codes = self.stage.finish(values, internal)
            if self.stage.table is None:
                # A table's content may change between runs; the rest cannot.
                self._codes = codes
            return codes
        return self._codes

    def apply(self, values: Array, internal: Bytes) -> Array:
        """``values`` of the input's type, any shape, to the output's type; may return ``values`` itself."""
        if self.identity:
            return values
        if self.dtype.itemsize > 1:
            return self._wide(values, internal)
        codes = self.codes(internal)
        if codes.dtype.itemsize > 1:
            looked_up: Array = codes[values.view(np.uint8)]
            return looked_up
        if self._translation is None or self.stage.table is not None:
            self._translation = codes.tobytes()
        # bytes.translate is the fastest byte-wise look-up that Python has.
        data = values.tobytes().translate(self._translation)
        return np.frombuffer(data, self.stage.dtype).reshape(values.shape)

    def _wide(self, values: Array, internal: Bytes) -> Array:
        """``apply`` for 16- and 32-bit inputs; the results of all codes are kept once enough elements were met."""
        if self.dtype.itemsize == 2 and self.stage.table is None:
            self._met += values.size
            if self._met > 1 << 16:
                if self._codes is None:
                    every = np.arange(1 << 16, dtype=np.uint16).view(self.dtype)
                    self._codes = self._finish(every, internal)
                looked_up: Array = self._codes.take(values.view(np.uint16))
                return looked_up
        out = np.empty(values.shape, self.stage.dtype)
        for block in pieces(values.shape):
            out[block] = self._finish(values[block], internal)
        return out

    def _finish(self, values: Array, internal: Bytes) -> Array:
        wide = values.astype(np.int64)
        if self.zero_point:
            wide -= self.zero_point
        return self.stage.finish(wide, internal)


def _is_identity(dtype: DType, zero_point: int, stage: OutputStage) -> bool:
    """Whether every value of ``dtype`` is stored as it came."""
    if stage.table is not None or stage.dtype != dtype or stage.zero_point != zero_point:
        return False
    lowest, highest = bounds(dtype)
    if stage.clamp and (stage.low > lowest or stage.high < highest):
        return False
    scale = stage.scale
    if scale is None or scale.identity:
        return True
    half_up = scale.rounding is Rounding.NATURAL or (scale.rounding is Rounding.DBL and scale.shift <= 31)
    # v * (2^n + d) + 2^(n-1) >> n is v while |v * d| < 2^(n-1).
    excess = scale.multiplier - (1 << scale.shift)
    reach = max(abs(lowest - zero_point), abs(highest - zero_point))
    return half_up and scale.dbl_rnd == 0 and reach * abs(excess) < (1 << scale.shift) >> 1


_MANY_ELEMENTS = 1 << 18


class Pointwise(Compute):
    """A 1x1 pool."""

    pointwise = True

    def __init__(self, source: Input, output: Output, stage: OutputStage) -> None:
        elements = output.shape[0] * output.shape[1] * output.shape[2]
        super().__init__((source,), output, Cost(0, source.size_bytes, output.size_bytes, elements))
        self.source = source
        self.function = PointFunction(source.dtype, source.zero_point, stage)

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        values = self.source.load(machine, pointers)
        result = self.function.apply(values, machine.internal)
        # What goes to a chain must not be a view of memory that later operations change.
        return result.copy() if result is values and self.output.geometry is None else result

    def run_many(self, machine: Machine, pointers: Chosen) -> bool:
        """Execute at many pointers at once; False, with nothing done, where that is not safe.

        It is where both maps are one plain view each, everything lies in memory, and nothing that is read is written.
        A table is looked up as it is now: operations that change one end a run. Of two writes to one place the later
        one stays, as numpy's indexed assignment has it.
        """
        source, target = self.source, self.output.geometry
        if not isinstance(source, MemoryInput) or target is None or not self.output.plain:
            return False
        if self.function.dtype.itemsize > 1 and not self.function.identity:
            return False
        reads = Places.of(source.geometry, source.region, pointers.column(source.first))
        writes = Places.of(target, self.output.region, pointers.column(self.output.first))
        if reads is None or writes is None or reads.meets(writes):
            return False
        try:
            data, out = reads.open(machine, write=False), writes.open(machine, write=True)
        except NpuError:
            return False
        machine.accumulators = None
        machine.last = self._move(machine, reads, writes, data, out)
        return True

    def _move(self, machine: Machine, reads: Places, writes: Places, data: Array, out: Array) -> Array:
        """Apply the function between two sets of places; the last map written."""
        size = math.prod(reads.geometry.shape)
        views = regular(reads, data, writes, out)
        if views is not None:
            sources, targets = views
            step = max(1, _MANY_ELEMENTS // (size * sources.shape[1]))
            for first in range(0, sources.shape[0], step):
                values = self.function.apply(sources[first : first + step], machine.internal)
                assign(targets[first : first + step], values)
            last: Array = values[-1, -1]
            return last
        step = max(1, _MANY_ELEMENTS // size)
        read, written = reads.offsets(), writes.offsets()
        for first in range(0, reads.addresses.size, step):
            values = self.function.apply(data[reads.elements(read, first, first + step)], machine.internal)
            out[writes.elements(written, first, first + step)] = values
        return values[-1]  # type: ignore[no-any-return]
