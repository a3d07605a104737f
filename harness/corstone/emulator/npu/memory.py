"""What the NPU reads and writes: windows of bytes at guest addresses.

``Memory`` is the seam: the emulator maps guest RAM behind it, ``ArrayMemory`` plain arrays. Leaves out regions and base
addresses, which are the NPU's.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.types import Bytes


class Memory(Protocol):
    """Guest memory as the NPU sees it."""

    def window(self, address: int, size: int, write: bool) -> Bytes:
        """A view of ``size`` bytes from ``address``, ``uint8 [size]``, writable when ``write`` is set.

        The view stays valid for the run; what is written through it is in guest memory at once.

        Raises
        ------
        NpuError: kind ``bus``, when any byte lies outside memory or may not be written.
        """
        ...


class ArrayMemory:
    """Guest memory made of arrays at chosen addresses; everything between them is a bus error.

    Made for tests and for running a delegate without a board.
    """

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._areas: list[tuple[int, int, Bytes, bool]] = []

    def add(self, address: int, data: Bytes, *, writable: bool = True) -> Bytes:
        """Place a ``uint8`` array at an address; the array itself becomes the memory.

        Raises
        ------
        ValueError: it overlaps an area that is already there, or is not one-dimensional bytes.
        """
        if data.dtype != np.uint8 or data.ndim != 1:
            raise ValueError(f"memory is uint8 [n], not {data.dtype} {data.shape}")
        where = bisect_right(self._starts, address)
        for start, end, _, _ in self._areas[max(where - 1, 0) : where + 1]:
            if address < end and start < address + data.size:
                raise ValueError(f"{address:#x}+{data.size:#x} overlaps the area at {start:#x}")
        self._starts.insert(where, address)
        self._areas.insert(where, (address, address + data.size, data, writable))
        return data

    def window(self, address: int, size: int, write: bool) -> Bytes:
        """See ``Memory.window``."""
        where = bisect_right(self._starts, address) - 1
        if where >= 0:
            start, end, data, writable = self._areas[where]
            if address + size <= end:
                if write and not writable:
                    raise NpuError("bus", f"{size} bytes at {address:#x} cannot be written")
                return data[address - start : address - start + size]
        raise NpuError("bus", f"{size} bytes at {address:#x} are not in memory")
