"""The output stage: accumulators become stored elements.

Scale and round, add the OFM zero point, clamp, look up. 8- and 16-bit outputs are clamped to ACTIVATION_MIN/MAX and
their type; 32-bit outputs ignore zero point and min/max and saturate, except that a table's index is formed as usual.
Source: ethos-u.md sections 5.2 to 5.5. Leaves out where the result is stored (``operands.Output``).

A second form of the stage takes float accumulators straight from a matrix product. It is exact where ``float_finish``
gives one: the product with ``multiplier * 2^-shift`` is rounded only when its magnitude is at least 2^(53-shift), which
lies beyond the clamp, and float multiplication keeps order, so what the clamp cuts off is cut off either way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.lut import Table
from corstone.emulator.npu.scaling import Rounding, Scale, scale_round
from corstone.emulator.npu.types import Array, Bytes, DType, Ints

_FLOAT_BITS = 53


@dataclass(frozen=True)
class ChannelScale:
    """Per-channel bias, multiplier and shift, each ``int64 [C]``, with one rounding for all."""

    bias: Ints
    multiplier: Ints
    shift: Ints
    rounding: Rounding
    dbl_rnd: int = 0

    def apply(self, accumulators: Ints) -> Ints:
        """``accumulators: int64 [..., C]``; adds the bias, scales and rounds."""
        biased = accumulators + self.bias
        return scale_round(biased, self.multiplier, self.shift, self.rounding, self.dbl_rnd)


@dataclass(frozen=True)
class OutputStage:
    """What follows the accumulators of one operation.

    ``low`` and ``high`` bound the value before a table, or the stored value where there is none. ``clamp`` is False
    when the output wraps instead (clip NONE on 8- and 16-bit outputs).
    """

    dtype: DType
    scale: Scale | None
    zero_point: int
    low: int
    high: int
    clamp: bool
    table: Table | None

    def finish(self, accumulators: Ints, internal: Bytes, channels: ChannelScale | None = None) -> Array:
        """``accumulators: int64``, any shape with channels last, to the output type."""
        values = accumulators
        if channels is not None:
            values = channels.apply(values)
        elif self.scale is not None:
            values = self.scale.apply(values)
        if self.zero_point:
            values = values + self.zero_point
        if self.clamp:
            values = np.clip(values, self.low, self.high)
        if self.table is not None:
            return self.table.look_up(values, internal)
        return values.astype(self.dtype)


@dataclass(frozen=True)
class FloatFinish:
    """An output stage for float accumulators of one set of channels, exact by construction (see the module's text).

    Shapes: ``factor`` and ``constant`` float64 ``[C]``. ``bias`` int64 ``[C]`` is added first; it is None where adding
    ``bias * factor`` afterwards, as part of the constant, is exact too.
    """

    stage: OutputStage
    factor: Array
    constant: Array
    bias: Ints | None

    def finish(self, accumulators: Array, internal: Bytes) -> Array:
        """``accumulators: float [..., C]``, holding integers, to the output type."""
        if self.bias is None:
            values = np.multiply(accumulators, self.factor, dtype=np.float64)
        else:
            values = np.add(accumulators, self.bias, dtype=np.float64)
            values *= self.factor
        values += self.constant
        stage = self.stage
        np.clip(values, 0, stage.high - stage.low, out=values)
        # The lowest stored value is 0 here, so that truncation is the floor that half-up rounding wants.
        if stage.table is not None:
            entries = stage.table.entries(internal)
            first = stage.low + 128 if stage.table.index.kind == "i" else stage.low
            looked_up: Array = entries[first : first + 256][values.astype(np.uint8)]
            return looked_up
        unsigned: Array = values.astype(np.uint8 if stage.dtype.itemsize == 1 else np.uint16)
        unsigned += np.asarray(stage.low).astype(unsigned.dtype)
        return unsigned.view(stage.dtype)


def float_finish(stage: OutputStage, channels: ChannelScale, reach: int) -> FloatFinish | None:
    """The float form of a stage for these channels, None where it is not exact.

    ``reach`` bounds the magnitude of the accumulators before the bias.
    """
    if not stage.clamp or stage.dtype.itemsize > 2 or (stage.table is not None and stage.table.index.itemsize != 1):
        return None
    top = int(channels.shift.max(initial=0))
    natural = channels.rounding is Rounding.NATURAL
    natural |= channels.rounding is Rounding.DBL and channels.dbl_rnd == 0 and top <= 31
    # |zero point| and the clamp are below 2^8 or 2^16; their sum with the product needs two bits more.
    bits = 10 if stage.high - stage.low < 256 and abs(stage.zero_point) < 256 else 18
    if not natural or top + bits > _FLOAT_BITS:
        return None
    factor = np.ldexp(channels.multiplier.astype(np.float64), -channels.shift.astype(np.int32))
    offset = 0.5 + (stage.zero_point - stage.low)
    # In units of 2^-shift everything is an integer; below 2^53 each product and each sum of them is exact.
    largest_bias = int(np.abs(channels.bias).max(initial=0))
    largest = (reach + largest_bias) * int(channels.multiplier.max(initial=0)) + (1 << (top + bits))
    if largest < 1 << _FLOAT_BITS:
        return FloatFinish(stage, factor, channels.bias * factor + offset, None)
    return FloatFinish(stage, factor, np.full(factor.shape, offset), channels.bias)


_RECORD = 10
RECORD_FORMATS: dict[str, tuple[int, int, int, int]] = {
    # bytes of the bias, bits of the multiplier, first byte of the multiplier, byte of the shift
    "U55": (5, 32, 5, 9),
    "U85 I32": (4, 31, 4, 8),
    "U85 I48": (6, 15, 6, 8),
}


def read_records(data: Bytes, count: int, layout: str) -> tuple[Ints, Ints, Ints]:
    """The first ``count`` 10-byte records: bias, multiplier and shift, each ``int64 [count]``.

    Raises
    ------
    NpuError: kind ``parse``, when there are fewer.
    """
    if data.size < count * _RECORD:
        raise NpuError("parse", f"{count} scale records need {count * _RECORD} bytes, SCALE_LENGTH gives {data.size}")
    bias_bytes, bits, first, shift = RECORD_FORMATS[layout]
    rows = data[: count * _RECORD].reshape(count, _RECORD)
    bias = _signed(rows[:, :bias_bytes])
    multiplier = _signed(rows[:, first : first + (bits + 7) // 8]) & ((1 << bits) - 1)
    return bias, multiplier, rows[:, shift].astype(np.int64) & 63


def _signed(columns: Array) -> Ints:
    """Little-endian signed numbers, one a row of bytes."""
    wide = np.zeros((columns.shape[0], 8), np.uint8)
    wide[:, 8 - columns.shape[1] :] = columns
    numbers: Ints = wide.view("<i8")[:, 0] >> (64 - 8 * columns.shape[1])
    return numbers
