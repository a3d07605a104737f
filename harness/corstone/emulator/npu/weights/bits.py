"""Bit fields at many positions of a byte string at once, least significant bit first."""

from __future__ import annotations

from array import array

import numpy as np

from corstone.emulator.npu.types import Array, Bytes, Ints

MAX_WIDTH = 25
"""Widest field: 32 bits from the byte that holds the first bit, less 7."""


class BitString:
    """``data: uint8 [n]`` as a string of ``8 n`` bits; reading past the end gives zeros."""

    def __init__(self, data: Bytes) -> None:
        self.bits = 8 * data.size
        padded = np.zeros(data.size + 8, np.uint32)
        padded[: data.size] = data
        # The 32 bits that start at each byte.
        self._words = padded[:-3] | padded[1:-2] << 8 | padded[2:-1] << 16 | padded[3:] << 24
        # A loop takes numbers out of an array of Python's faster than out of numpy's, and few enough for no list.
        self.words = array("I", self._words.tobytes())

    def field(self, position: int, width: int) -> int:
        """One field of at most ``MAX_WIDTH`` bits."""
        return self.words[position >> 3] >> (position & 7) & ((1 << width) - 1)

    def fields(self, positions: Ints, width: int) -> Ints:
        """Fields of one width (at most ``MAX_WIDTH``) at ``positions``, int64 of the same shape."""
        words: Array = self._words[positions >> 3]
        return (words >> (positions & 7).astype(np.uint32) & np.uint32((1 << width) - 1)).astype(np.int64)
