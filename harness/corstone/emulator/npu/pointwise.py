"""Operations that change each element by itself: one input, the output stage, nothing between.

An 8-bit input has 256 values, so the whole operation is one table; a stage that changes nothing is a copy. That
keeps streams of very many tiny operations fast. Leaves out where windows come from (``ops_pool``).
"""

from __future__ import annotations

import numpy as np

from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import Input, Output
from corstone.emulator.npu.output import OutputStage
from corstone.emulator.npu.plan import Compute
from corstone.emulator.npu.scaling import Rounding
from corstone.emulator.npu.types import Array, Bytes, DType


class PointFunction:
    """``stage(value - zero_point)`` of one element type, in the fastest exact form."""

    def __init__(self, dtype: DType, zero_point: int, stage: OutputStage) -> None:
        self.dtype = dtype
        self.zero_point = zero_point
        self.stage = stage
        self.identity = _is_identity(dtype, zero_point, stage)
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
            wide = values.astype(np.int64)
            if self.zero_point:
                wide -= self.zero_point
            return self.stage.finish(wide, internal)
        codes = self.codes(internal)
        if codes.dtype.itemsize > 1:
            looked_up: Array = codes[values.view(np.uint8)]
            return looked_up
        if self._translation is None or self.stage.table is not None:
            self._translation = codes.tobytes()
        # bytes.translate is the fastest byte-wise look-up that Python has.
        data = values.tobytes().translate(self._translation)
        return np.frombuffer(data, self.stage.dtype).reshape(values.shape)


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
