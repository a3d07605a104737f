"""Write command streams by name: the inverse of ``decode``, for tests, examples and experiments.

``Assembler("U55").set("IFM_REGION", 1).op("POOL", mode="AVERAGE").op("STOP", mask=0xFFFF).stream()``. Leaves out
whether the stream makes sense; even wrong streams are wanted.
"""

from __future__ import annotations

import struct

from corstone.emulator.npu.instructions import CMD1, Row, instruction_set

_TWO_WORDS = 1 << 14


class Assembler:
    """A command stream under construction for one product. Methods return the assembler itself."""

    def __init__(self, product: str) -> None:
        self._rows = instruction_set(product).by_name
        self._words: list[int] = []

    @property
    def offset(self) -> int:
        """The byte offset of the next command."""
        return 4 * len(self._words)

    def set(self, name: str, value: int = 0, **fields: int | str) -> Assembler:
        """Write a register: ``value`` where the row has no fields or one, ``fields`` by name otherwise.

        Negative values are cut to the register's width. For ``scale`` registers ``value`` is the data word.
        """
        row = self._rows[name]
        if row.kind == "param":
            param = _pack(row, fields) if fields else value & 0xFFFF
            return self.words(row.code & 0x3FF | param << 16)
        if row.kind == "scale":
            return self._double(row, _pack(row, fields), value)
        return self._double(row, 0 if row.kind == "word" else value >> 32 & 0xFF, value)

    def op(self, name: str, *, target: int = 0, **fields: int | str) -> Assembler:
        """Start an operation; ``target`` is the byte offset that a BRANCH jumps to."""
        row = self._rows[name]
        if row.code & CMD1:
            return self._double(row, _pack(row, fields), target)
        return self.words(row.code | _pack(row, fields) << 16)

    def words(self, *words: int) -> Assembler:
        """Append raw words."""
        self._words += [word & 0xFFFF_FFFF for word in words]
        return self

    def stream(self) -> bytes:
        """The bytes so far."""
        return struct.pack(f"<{len(self._words)}I", *self._words)

    def _double(self, row: Row, param: int, data: int) -> Assembler:
        return self.words(row.code & 0x3FF | _TWO_WORDS | param << 16, data)


def _pack(row: Row, fields: dict[str, int | str]) -> int:
    param = 0
    for name, value in fields.items():
        field = row.by_name[name]
        if isinstance(value, str):
            value = next(number for number, text in (field.names or {}).items() if text == value)
        param |= (value & ((1 << field.width) - 1)) << field.low
    return param
