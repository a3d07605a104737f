"""Weights of one operation: read the streams, decode them, put them in order, and keep the result.

Decoding costs much more than multiplying, and the same weights are used again, so results are kept by the hash of the
stream's bytes and the layout. Source: ethos-u.md sections 5.3, 6. Leaves out what is computed with them.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.streams import StreamSource
from corstone.emulator.npu.types import Array, Ints
from corstone.emulator.npu.weights import fwd, mlw
from corstone.emulator.npu.weights.order import DEPTHWISE, Layout, stream_length, weight_order

_KEPT_BYTES = 256 << 20
FLOAT32_EXACT = 1 << 24
"""Integers up to here, and sums that stay below, are exact in float32."""
FLOAT64_EXACT = 1 << 53


@dataclass(frozen=True)
class Prepared:
    """Weights ready for a matrix product.

    ``matrix`` is ``[KH * KW * I, O]`` (depthwise: ``[KH * KW, O]``), in float32 where every sum over an input of at
    most ``reach`` in magnitude is exact there, else in float64. ``column`` is each channel's sum, int64 ``[O]``;
    ``magnitude`` the largest channel's sum of magnitudes, which bounds every partial sum of a product.
    """

    matrix: Array
    column: Ints
    magnitude: int


@dataclass
class _Kept:
    items: OrderedDict[bytes, Prepared] = field(default_factory=OrderedDict)
    size: int = 0

    def find(self, key: bytes) -> Prepared | None:
        found = self.items.get(key)
        if found is not None:
            self.items.move_to_end(key)
        return found

    def keep(self, key: bytes, value: Prepared) -> None:
        self.items[key] = value
        self.size += value.matrix.nbytes
        while self.size > _KEPT_BYTES and len(self.items) > 1:
            self.size -= self.items.popitem(last=False)[1].matrix.nbytes


_KEPT = _Kept()


def forget_weights() -> None:
    """Drop all decoded weights that are kept, for measurements of a cold start."""
    _KEPT.items.clear()
    _KEPT.size = 0


@dataclass(frozen=True)
class WeightSource:
    """The weight streams of an operation with their layouts, one a stream; ``reach`` bounds the input's magnitude."""

    streams: tuple[StreamSource, ...]
    layouts: tuple[Layout, ...]
    reach: int

    @property
    def size_bytes(self) -> int:
        """Bytes read."""
        return sum(stream.length for stream in self.streams)

    def load(self, machine: Machine, pointers: list[int]) -> Prepared:
        """The weights.

        Raises
        ------
        NpuError: kind ``weights`` for corrupt streams, ``bus`` for streams outside memory.
        """
        data = [stream.read(machine, pointers) for stream in self.streams]
        digest = hashlib.blake2b(repr((self.layouts, self.reach)).encode(), digest_size=20)
        for part in data:
            digest.update(part.size.to_bytes(8, "little"))
            digest.update(np.ascontiguousarray(part).data)
        key = digest.digest()
        found = _KEPT.find(key)
        if found is None:
            found = self._prepare([np.ascontiguousarray(part) for part in data])
            _KEPT.keep(key, found)
        return found

    def _prepare(self, data: list[Array]) -> Prepared:
        first = self.layouts[0]
        volume = np.zeros(first.size + 1, np.int16)
        for part, layout in zip(data, self.layouts, strict=True):
            coder = fwd if layout.fast else mlw
            # The last place takes what fills the stream up.
            volume[weight_order(layout)] = coder.decode(part, stream_length(layout))
        shape = (first.channels, first.kernel[0] * first.kernel[1] * first.depth)
        matrix = volume[:-1].reshape(shape)
        magnitude = int(np.abs(matrix).sum(axis=1, dtype=np.int64).max())
        exact = np.float32 if magnitude * self.reach <= FLOAT32_EXACT else np.float64
        column: Ints = matrix.sum(axis=1, dtype=np.int64)
        return Prepared(np.ascontiguousarray(matrix.T, exact), column, magnitude)


__all__ = ["DEPTHWISE", "FLOAT32_EXACT", "FLOAT64_EXACT", "Prepared", "WeightSource", "forget_weights"]
