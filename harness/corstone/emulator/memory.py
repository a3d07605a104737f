"""Guest memory: the DDR as an anonymous file shared with QEMU, the rest through qtest.

``GuestMemory`` is what loading, dumping and the NPU work on. The NPU sees views: of the DDR's mapping directly, of
other RAM through copies that are fetched on first touch and written back by ``commit`` when the NPU stops. Pages of the
DDR that nobody touched stay holes: reads by ``pread`` do not allocate. Leaves out what an address means to the CPU.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

from corstone.emulator.platforms import DDR_SIZE, Platform, Ram

if TYPE_CHECKING:
    from collections.abc import Callable

    from corstone.emulator.npu.types import Bytes
    from corstone.emulator.qtest import QtestClient

_PAGE = 4096


class SharedDdr:
    """An anonymous file of the DDR's size. It has no name, so nothing is left of it whatever happens."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("corstone-ddr", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, DDR_SIZE)
        self._map: mmap.mmap | None = None
        self._array: Bytes | None = None

    def write(self, offset: int, data: bytes | memoryview) -> None:
        """Place bytes at an offset."""
        view = memoryview(data)
        while view:
            done = os.pwrite(self.fd, view, offset)
            view, offset = view[done:], offset + done

    def read(self, offset: int, size: int) -> bytes:
        """Bytes at an offset; holes read as zeros and stay holes."""
        parts = []
        while size:
            part = os.pread(self.fd, min(size, 1 << 26), offset)
            if not part:
                break
            parts.append(part)
            size, offset = size - len(part), offset + len(part)
        return b"".join(parts)

    def array(self) -> Bytes:
        """The whole DDR as ``uint8 [2 GB]``, mapped."""
        if self._array is None:
            import numpy as np

            self._map = mmap.mmap(self.fd, DDR_SIZE)
            self._array = np.frombuffer(self._map, np.uint8)
        return self._array

    def close(self) -> None:
        """Give the file up; views that still live keep their own mapping."""
        os.close(self.fd)


class _Mirror:
    """A copy of one RAM, page by page on demand, for the length of one NPU run."""

    def __init__(self, ram: Ram, read: Callable[[int, int], bytes], write: Callable[[int, bytes], None]) -> None:
        import numpy as np

        self._ram = ram
        self._read = read
        self._write = write
        self._data = np.zeros(ram.size, np.uint8)
        pages = ram.size // _PAGE
        self._here = np.zeros(pages, np.bool_)
        self._dirty = np.zeros(pages, np.bool_)

    def window(self, offset: int, size: int, write: bool) -> Bytes:
        import numpy as np

        first, last = offset // _PAGE, (offset + size + _PAGE - 1) // _PAGE
        for start, end in _runs(~self._here[first:last]):
            low, high = (first + start) * _PAGE, (first + end) * _PAGE
            self._data[low:high] = np.frombuffer(self._read(self._ram.base + low, high - low), np.uint8)
        self._here[first:last] = True
        if write:
            self._dirty[first:last] = True
        return self._data[offset : offset + size]

    def commit(self) -> None:
        for start, end in _runs(self._dirty):
            low, high = start * _PAGE, end * _PAGE
            self._write(self._ram.base + low, self._data[low:high].tobytes())
        self._here[:] = False
        self._dirty[:] = False


def _runs(mask: object) -> list[tuple[int, int]]:
    """Stretches of True as (start, end)."""
    import numpy as np

    edges = np.flatnonzero(np.diff(np.concatenate(([0], np.asarray(mask, np.int8), [0]))))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


class GuestMemory:
    """All memory of a platform, as seen from outside the CPU."""

    def __init__(self, platform: Platform, ddr: SharedDdr, qtest: QtestClient) -> None:
        self._platform = platform
        self._ddr = ddr
        self._qtest = qtest
        self._mirrors: dict[str, _Mirror] = {}

    def read(self, address: int, size: int) -> bytes | None:
        """Bytes at an address; None when not all of them are memory."""
        found = self._platform.ram_of(address, size)
        if found is None:
            return None
        ram, offset = found
        return self._ddr.read(offset, size) if ram.shared else self._qtest.read(ram.base + offset, size)

    def window(self, address: int, size: int, write: bool) -> Bytes:
        """See ``corstone.emulator.npu.Memory``: what the NPU reads and writes.

        Raises
        ------
        NpuError: kind ``bus``, where the NPU reaches no memory.
        """
        from corstone.emulator.npu import NpuError

        found = self._platform.ram_of(address, size)
        if found is None:
            raise NpuError("bus", f"{size} bytes at {address:#010x} are not in this board's memory")
        ram, offset = found
        if not ram.npu:
            raise NpuError(
                "bus",
                f"{size} bytes at {address:#010x} are in {ram.name}, which the NPU cannot reach",
                hint="put what the NPU reads and writes into ISRAM, BRAM or DDR",
            )
        if write and ram.read_only:
            raise NpuError("bus", f"{size} bytes at {address:#010x} are in {ram.name}, which cannot be written")
        if ram.shared:
            return self._ddr.array()[offset : offset + size]
        if ram.name not in self._mirrors:
            self._mirrors[ram.name] = _Mirror(ram, self._qtest.read, self._qtest.write)
        return self._mirrors[ram.name].window(offset, size, write)

    def commit(self) -> None:
        """Write back what the NPU changed outside the DDR, and forget all copies."""
        for mirror in self._mirrors.values():
            mirror.commit()
