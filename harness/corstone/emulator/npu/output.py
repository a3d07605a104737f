"""The output stage: accumulators become stored elements.

Scale and round, add the OFM zero point, clamp, look up. 8- and 16-bit outputs are clamped to ACTIVATION_MIN/MAX and
their type; 32-bit outputs ignore zero point and min/max and saturate, except that a table's index is formed as usual.
Source: ethos-u.md sections 5.2 to 5.5. Leaves out where the result is stored (``operands.Output``).

A second form of the stage takes float64 accumulators straight from a matrix product. It is exact where ``float_ready``
says so: the product with ``multiplier * 2^-shift`` is rounded only when its magnitude is at least 2^(53-shift), which
lies beyond the clamp, and float multiplication keeps order, so what the clamp cuts off is cut off either way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.lut import Table
from corstone.emulator.npu.scaling import Rounding, Scale, scale_round
from corstone.emulator.npu.types import Array, Bytes, DType, Ints


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

    def float_ready(self, channels: ChannelScale) -> bool:
        """Whether ``finish_float`` is exact for these channels (see the module's text)."""
        if not self.clamp or self.dtype.itemsize > 2 or (self.table is not None and self.table.index.itemsize != 1):
            return False
        top = int(channels.shift.max(initial=0))
        natural = channels.rounding is Rounding.NATURAL
        natural |= channels.rounding is Rounding.DBL and channels.dbl_rnd == 0 and top <= 31
        # |zero point| and the clamp are below 2^8 or 2^16; their sum with the product needs two bits more.
        bits = 10 if self.high - self.low < 256 and abs(self.zero_point) < 256 else 18
        return natural and top + bits <= 53

    def finish_float(self, accumulators: Array, internal: Bytes, channels: ChannelScale) -> Array:
        """``accumulators: float [..., C]``, holding integers; only where ``float_ready``."""
        values: Array = accumulators + channels.bias
        values *= np.ldexp(channels.multiplier.astype(np.float64), -channels.shift.astype(np.int32))
        # Shifted so that the lowest stored value is 0, truncation is the floor that half-up rounding wants.
        values += 0.5 + (self.zero_point - self.low)
        np.clip(values, 0, self.high - self.low, out=values)
        if self.table is not None:
            entries = self.table.entries(internal)
            first = self.low + 128 if self.table.index.kind == "i" else self.low
            return entries[first : first + 256][values.astype(np.uint8)]
        unsigned: Array = values.astype(np.uint8 if self.dtype.itemsize == 1 else np.uint16)
        unsigned += np.asarray(self.low).astype(unsigned.dtype)
        return unsigned.view(self.dtype)


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
    rows = data[: count * _RECORD].reshape(count, _RECORD).astype(np.int64)
    bias_bytes, bits, first, shift = RECORD_FORMATS[layout]
    bias = _little_endian(rows[:, :bias_bytes])
    sign = np.int64(1) << (8 * bias_bytes - 1)
    multiplier = _little_endian(rows[:, first : first + (bits + 7) // 8]) & ((1 << bits) - 1)
    return (bias ^ sign) - sign, multiplier, rows[:, shift] & 63


def _little_endian(columns: Ints) -> Ints:
    weights = np.int64(1) << (8 * np.arange(columns.shape[1], dtype=np.int64))
    total: Ints = (columns * weights).sum(axis=1)
    return total
