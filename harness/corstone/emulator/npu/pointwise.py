"""Operations that change each element by itself: one input, the output stage, nothing between.

An 8-bit input has 256 values, so the whole operation is one table; a stage that changes nothing is a copy. That
keeps streams of very many tiny operations fast. Leaves out where windows come from (``ops_pool``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import Input, MemoryInput, Output
from corstone.emulator.npu.output import OutputStage
from corstone.emulator.npu.plan import Compute
from corstone.emulator.npu.scaling import Rounding
from corstone.emulator.npu.slices import pieces
from corstone.emulator.npu.state import UNSET
from corstone.emulator.npu.tensor import BRICK, Geometry, View
from corstone.emulator.npu.types import Array, Bytes, DType, Ints


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
    limits = np.iinfo(dtype)
    if stage.clamp and (stage.low > limits.min or stage.high < limits.max):
        return False
    scale = stage.scale
    if scale is None or scale.identity:
        return True
    half_up = scale.rounding is Rounding.NATURAL or (scale.rounding is Rounding.DBL and scale.shift <= 31)
    # v * (2^n + d) + 2^(n-1) >> n is v while |v * d| < 2^(n-1).
    excess = scale.multiplier - (1 << scale.shift)
    reach = max(abs(limits.min - zero_point), abs(limits.max - zero_point))
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

    def run_many(self, machine: Machine, pointers: Ints) -> bool:
        """Execute at many pointers at once, int64 ``[n, pointers]``; False, with nothing done, where that is not safe.

        It is where both maps are one plain view each, everything lies in memory, and nothing that is read is written.
        A table is looked up as it is now: operations that change one end a run. Of two writes to one place the later
        one stays, as numpy's indexed assignment has it.
        """
        source, target = self.source, self.output.geometry
        if not isinstance(source, MemoryInput) or target is None or not self.output.plain:
            return False
        if self.function.dtype.itemsize > 1 and not self.function.identity:
            return False
        reads = _Places.of(source.geometry, source.region, pointers[:, source.first])
        writes = _Places.of(target, self.output.region, pointers[:, self.output.first])
        if reads is None or writes is None or reads.meets(writes):
            return False
        try:
            data, out = reads.open(machine, write=False), writes.open(machine, write=True)
        except NpuError:
            return False
        machine.accumulators = None
        machine.last = self._move(machine, reads, writes, data, out)
        return True

    def _move(self, machine: Machine, reads: _Places, writes: _Places, data: Array, out: Array) -> Array:
        """Apply the function between two sets of places; the last map written."""
        count = reads.addresses.size
        regular = reads.regular(data), writes.regular(out)
        if regular[0] is not None and regular[1] is not None and writes.distinct:
            step = max(1, _MANY_ELEMENTS // math.prod(reads.geometry.shape))
            for first in range(0, count, step):
                values = self.function.apply(regular[0][first : first + step], machine.internal)
                regular[1][first : first + step] = values
            last: Array = values[-1]
            return last
        step = max(1, _MANY_ELEMENTS // math.prod(reads.geometry.shape))
        sources, targets = reads.offsets(), writes.offsets()
        for first in range(0, count, step):
            values = self.function.apply(data[reads.elements(sources, first, first + step)], machine.internal)
            out[writes.elements(targets, first, first + step)] = values
        return values[-1]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Places:
    """Where one plain view lies for many bases: addresses int64 ``[n]``; ``low`` and ``high`` bound all bytes."""

    geometry: Geometry
    view: View
    addresses: Ints
    low: int
    high: int

    @staticmethod
    def of(geometry: Geometry, region: int, bases: Ints) -> _Places | None:
        whole = geometry.whole
        if whole is None or (bases == UNSET).any():
            return None
        addresses = bases + region
        size = geometry.dtype.itemsize
        if (addresses % (BRICK if geometry.bricks else size)).any():
            return None
        low, high = int(addresses.min()) + whole.low, int(addresses.max()) + whole.low + whole.size
        return _Places(geometry, whole, addresses, low, high)

    def meets(self, other: _Places) -> bool:
        """Whether the address ranges overlap."""
        return self.low < other.high and other.low < self.high

    def open(self, machine: Machine, *, write: bool) -> Array:
        """The elements of the whole range, ``[k]``."""
        if self.low < 0:
            raise NpuError("bus", f"{self.geometry.name} reaches below address 0")
        window = machine.memory.window(self.low, self.high - self.low, write)
        elements: Array = window.view(self.geometry.dtype)
        return elements

    @property
    def _step(self) -> int | None:
        """The distance from each address to the next where it is always the same, in bytes."""
        step = int(self.addresses[1] - self.addresses[0])
        return step if bool((np.diff(self.addresses) == step).all()) else None

    def regular(self, elements: Array) -> Array | None:
        """All maps as one view of ``open``, ``[n, H, W, C]``, where their addresses are evenly spaced."""
        step = self._step
        if step is None:
            return None
        start = int(self.addresses[0]) + self.view.low + self.view.start - self.low
        shape = (self.addresses.size, *self.view.shape)
        return np.ndarray(shape, elements.dtype, elements, start, (step, *self.view.strides))

    @property
    def distinct(self) -> bool:
        """Whether it is certain that no two elements of evenly spaced maps share a place."""
        steps = [(abs(self._step or 0), self.addresses.size)]
        steps += [(abs(stride), count) for stride, count in zip(self.view.strides, self.view.shape, strict=True)]
        reach = 0
        for stride, count in sorted(item for item in steps if item[1] > 1):
            if stride < reach + self.geometry.dtype.itemsize:
                return False
            reach += stride * (count - 1)
        return True

    def offsets(self) -> Ints:
        """Of a map's elements from its base, in elements, int64 ``[m]``."""
        # Addresses and strides are multiples of the element's size, so each part can be divided by itself.
        numbers: Ints = self.geometry.addresses((0, 0, 0, 0)).reshape(-1) // self.geometry.dtype.itemsize
        return numbers

    def elements(self, offsets: Ints, first: int, last: int) -> Ints:
        """Indices into ``open`` of the elements at some of the bases, int64 ``[last - first, m]``."""
        starts: Ints = (self.addresses[first:last] - self.low) // self.geometry.dtype.itemsize
        return starts[:, None] + offsets[None]
