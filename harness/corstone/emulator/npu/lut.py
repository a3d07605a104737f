"""Look-up tables in the NPU's internal memory, and the interpolation of 16-bit ones.

8-bit input: the entry replaces the value. 16-bit input: 512 entries of {int16 base, int16 slope}; with
``u = value + 32768`` the result is ``base[u >> 7] * 128 + slope[u >> 7] * (u & 127)``, returned in full for a 32-bit
output and rounded half up by 7 bits for a 16-bit one. Source: ethos-u.md sections 4 and 5.5.
Leaves out TANH and SIGMOID functions without a table: their tables are not public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.types import Array, Bytes, DType, Ints

ENTRIES_16 = 512


@dataclass(frozen=True)
class Table:
    """One table: where it starts in the internal memory, and the types of its index and its entries.

    ``index`` and ``entry`` are numpy types of 8, 16 or 32 bits; a 16-bit index interpolates.
    """

    start: int
    index: DType
    entry: DType

    @property
    def size(self) -> int:
        """Bytes."""
        return 256 * self.entry.itemsize if self.index.itemsize == 1 else 4 * ENTRIES_16

    def entries(self, internal: Bytes) -> Array:
        """The table's content: ``entry [256]``, or ``int16 [512, 2]`` (base, slope) for a 16-bit index.

        Raises
        ------
        NpuError: kind ``bus``, when the table reaches past the internal memory.
        """
        if self.start + self.size > internal.size:
            raise NpuError("bus", f"a table at {self.start:#x} of {self.size} bytes is outside the table memory")
        data = internal[self.start : self.start + self.size]
        if self.index.itemsize == 1:
            entries: Array = data.view(self.entry)
            return entries
        pairs: Array = data.view("<i2").reshape(ENTRIES_16, 2)
        return pairs

    def look_up(self, values: Ints, internal: Bytes) -> Array:
        """``values: int64``, inside the range of the index, to entries of the table's type."""
        entries = self.entries(internal)
        if self.index.itemsize == 1:
            found: Array = entries[values + 128 if self.index.kind == "i" else values]
            return found
        return self.interpolate(values, entries)

    def interpolate(self, values: Ints, entries: Array) -> Array:
        """The 16-bit form, ``values: int64`` in -32768..32767."""
        u = values + 32768
        pair = entries[u >> 7].astype(np.int64)
        full = pair[..., 0] * 128 + pair[..., 1] * (u & 127)
        if self.entry.itemsize == 4:
            return np.asarray(full, self.entry)
        # base + slope * 127/128 lies between two int16 nodes unless the slope wrapped (TOSA: unpredictable).
        return np.asarray((full + 64) >> 7).astype(self.entry)
