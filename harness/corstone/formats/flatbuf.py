"""A FlatBuffer reader that trusts nothing: every offset, length and count is checked against the buffer.

The ``flatbuffers`` package reads without verifying, so a corrupt file would give garbage or a bare ``struct.error``;
here it gives ``FlatbufferError`` with the position. Reading only: nothing is written. Layout: FlatBuffers internals
documentation (vtables, unsigned forward offsets, vectors with a u32 count).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class FlatbufferError(ValueError):
    """A position, count or length points outside the buffer."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes with checked little-endian reads."""

    data: bytes | memoryview

    def read(self, fmt: str, pos: int) -> int | float:
        """One ``struct`` value at ``pos``."""
        size = struct.calcsize(fmt)
        if pos < 0 or pos + size > len(self.data):
            raise FlatbufferError(f"offset {pos:#x} (+{size}) is outside the {len(self.data)} bytes of the file")
        value: int | float = struct.unpack_from("<" + fmt, self.data, pos)[0]
        return value

    def integer(self, fmt: str, pos: int) -> int:
        """One integer at ``pos``."""
        return int(self.read(fmt, pos))

    def slice(self, pos: int, size: int) -> bytes:
        """``size`` bytes at ``pos``."""
        if pos < 0 or size < 0 or pos + size > len(self.data):
            raise FlatbufferError(f"range {pos:#x}+{size} is outside the {len(self.data)} bytes of the file")
        return bytes(self.data[pos : pos + size])

    def root(self) -> Table:
        """The root table."""
        return Table(self, self.integer("I", 0))


@dataclass(frozen=True, slots=True)
class Table:
    """One table; fields are addressed by their index in the schema."""

    buf: Buffer
    pos: int

    def position(self, index: int) -> int | None:
        """Byte position of a scalar field in the buffer, None when it is absent."""
        vtable = self.pos - self.buf.integer("i", self.pos)
        size = self.buf.integer("H", vtable)
        slot = 4 + 2 * index
        if slot + 2 > size:
            return None
        offset = self.buf.integer("H", vtable + slot)
        return self.pos + offset if offset else None

    def scalar(self, index: int, fmt: str, default: int = 0) -> int:
        """An integer field, or its default."""
        pos = self.position(index)
        return default if pos is None else self.buf.integer(fmt, pos)

    def double(self, index: int) -> float:
        """A float64 field, 0.0 when absent."""
        pos = self.position(index)
        return 0.0 if pos is None else float(self.buf.read("d", pos))

    def _target(self, index: int) -> int | None:
        pos = self.position(index)
        return None if pos is None else pos + self.buf.integer("I", pos)

    def table(self, index: int) -> Table | None:
        """A table field (also the value of a union), None when absent."""
        pos = self._target(index)
        return None if pos is None else Table(self.buf, pos)

    def string(self, index: int) -> str:
        """A string field, empty when absent; bytes that are not UTF-8 are replaced."""
        pos = self._target(index)
        if pos is None:
            return ""
        return self.buf.slice(pos + 4, self.buf.integer("I", pos)).decode("utf-8", "replace")

    def vector(self, index: int, width: int) -> tuple[int, int]:
        """Position of the first element and element count of a vector of ``width``-byte elements; (0, 0) when absent.

        Raises
        ------
        FlatbufferError: the vector does not fit into the buffer.
        """
        pos = self._target(index)
        if pos is None:
            return 0, 0
        count = self.buf.integer("I", pos)
        if pos + 4 + count * width > len(self.buf.data):
            raise FlatbufferError(f"a vector of {count} elements at {pos:#x} runs over the end of the file")
        return pos + 4, count

    def scalars(self, index: int, fmt: str) -> tuple[int, ...]:
        """A vector of integers."""
        start, count = self.vector(index, struct.calcsize(fmt))
        if not count:
            return ()
        return struct.unpack_from(f"<{count}{fmt}", self.buf.data, start)

    def bytes(self, index: int) -> bytes:
        """A vector of bytes."""
        start, count = self.vector(index, 1)
        return self.buf.slice(start, count) if count else b""

    def tables(self, index: int) -> Iterator[Table]:
        """A vector of tables."""
        start, count = self.vector(index, 4)
        for i in range(count):
            at = start + 4 * i
            yield Table(self.buf, at + self.buf.integer("I", at))

    def map(self, index: int, make: Callable[[Table], T]) -> tuple[T, ...]:
        """A vector of tables, each turned into something."""
        return tuple(make(t) for t in self.tables(index))
