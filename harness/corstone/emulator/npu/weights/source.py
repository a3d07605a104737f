"""Weights of one operation: read the streams, decode them, put them in order, and keep the result.

Decoding costs much more than multiplying, and the same weights are used again, so results are kept by the
stream's bytes and the layout. Source: ethos-u.md sections 5.3, 6. Leaves out what is computed with them.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np

from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.streams import StreamSource
from corstone.emulator.npu.types import Array, Ints
from corstone.emulator.npu.weights import fwd, mlw
from corstone.emulator.npu.weights.order import DEPTHWISE, Layout, stream_length, weight_order

_KEPT_BYTES = 256 << 20
_KEY_BYTES = 256
FLOAT32_EXACT = 1 << 24
"""Integers up to here, and sums that stay below, are exact in float32."""
FLOAT64_EXACT = 1 << 53


@dataclass(frozen=True)
class Prepared:
    """Weights ready for a matrix product.

    ``matrix`` is ``[KH * KW * I, O]`` (depthwise: ``[KH * KW, O]``), in float32 where every sum over an input of at
    most ``reach`` in magnitude is exact there, else in float64. ``column`` is each channel's sum, int64 ``[O]``;
    ``magnitude`` the largest channel's sum of magnitudes, which bounds every partial sum of a product. ``token``
    tells one set of weights from another without holding it.
    """

    matrix: Array
    column: Ints
    magnitude: int
    token: object = field(default_factory=object)


@dataclass(frozen=True)
class _Entry:
    """Prepared weights with the streams they came from."""

    streams: tuple[bytes, ...]
    prepared: Prepared

    @property
    def size(self) -> int:
        return self.prepared.matrix.nbytes + sum(len(stream) for stream in self.streams)


class _Kept:
    """Prepared weights by layout and the start of their streams; a find compares every byte."""

    def __init__(self) -> None:
        self._entries: OrderedDict[object, _Entry] = OrderedDict()
        self._size = 0

    def find(self, key: object, streams: tuple[bytes, ...]) -> Prepared | None:
        found = self._entries.get(key)
        if found is None or found.streams != streams:
            return None
        self._entries.move_to_end(key)
        return found.prepared

    def keep(self, key: object, streams: tuple[bytes, ...], prepared: Prepared) -> None:
        old = self._entries.pop(key, None)
        self._size -= old.size if old else 0
        entry = self._entries[key] = _Entry(streams, prepared)
        self._size += entry.size
        while self._size > _KEPT_BYTES and len(self._entries) > 1:
            self._size -= self._entries.popitem(last=False)[1].size

    def clear(self) -> None:
        self._entries.clear()
        self._size = 0


_KEPT = _Kept()


def forget_weights() -> None:
    """Drop all decoded weights that are kept, for measurements of a cold start."""
    _KEPT.clear()


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
        streams = tuple(stream.read(machine, pointers).tobytes() for stream in self.streams)
        key = (self.layouts, self.reach, *((len(data), data[:_KEY_BYTES]) for data in streams))
        found = _KEPT.find(key, streams)
        if found is None:
            found = self._prepare(streams)
            _KEPT.keep(key, streams, found)
        return found

    def _prepare(self, streams: tuple[bytes, ...]) -> Prepared:
        first = self.layouts[0]
        volume = np.zeros(first.size + 1, np.int16)
        for data, layout in zip(streams, self.layouts, strict=True):
            coder = fwd if layout.fast else mlw
            # The last place takes what fills the stream up.
            volume[weight_order(layout)] = coder.decode(np.frombuffer(data, np.uint8), stream_length(layout))
        shape = (first.channels, first.kernel[0] * first.kernel[1] * first.depth)
        matrix = volume[:-1].reshape(shape)
        magnitude = int(np.abs(matrix).sum(axis=1, dtype=np.int64).max())
        exact = np.float32 if magnitude * self.reach <= FLOAT32_EXACT else np.float64
        column: Ints = matrix.sum(axis=1, dtype=np.int64)
        return Prepared(np.ascontiguousarray(matrix.T, exact), column, magnitude)


__all__ = ["DEPTHWISE", "FLOAT32_EXACT", "FLOAT64_EXACT", "Prepared", "WeightSource", "forget_weights"]
