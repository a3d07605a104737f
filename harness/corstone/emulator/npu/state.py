"""Register state: poison until written, and the snapshot of all registers at each operation of a stretch of stream.

A register keeps its value until it is written again, over operations and branches. The snapshots of many operations
are built at once: a matrix ``[operations, registers]`` filled forward from the writes between them.
Source: ethos-u.md section 3 (state persists) and 8.3 (poison).
"""

from __future__ import annotations

import numpy as np

from corstone.emulator.npu.decode import Commands
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import InstructionSet
from corstone.emulator.npu.types import Ints

UNSET = int(np.iinfo(np.int64).min)
_NO_WRITE = UNSET + 1


class RegisterFile:
    """The state between stretches; ``values`` is ``int64 [registers]`` with ``UNSET`` where never written."""

    def __init__(self, instructions: InstructionSet) -> None:
        self.values: Ints = np.full(len(instructions.registers), UNSET, np.int64)

    def snapshots(self, commands: Commands, start: int, operations: Ints) -> Ints:
        """Registers as each of ``operations`` sees them, ``int64 [len(operations), registers]``.

        ``start`` is the first command of the stretch, ``operations`` its operations in order; the file afterwards
        holds the state after the last of them.
        """
        stop = int(operations[-1]) + 1
        writes = np.flatnonzero(commands.register[start:stop] >= 0) + start
        snapshots = np.repeat(self.values[None], operations.size, axis=0)
        if writes.size:
            columns, column = np.unique(commands.register[writes], return_inverse=True)
            # A write counts from the first operation behind it. Of several writes to one place the last one is kept.
            at = np.searchsorted(operations, writes)
            grid = np.full((operations.size, columns.size), _NO_WRITE, np.int64)
            grid[at, column] = commands.values[writes]
            grid[0] = np.where(grid[0] == _NO_WRITE, self.values[columns], grid[0])
            source = np.where(grid == _NO_WRITE, 0, np.arange(operations.size)[:, None])
            np.maximum.accumulate(source, axis=0, out=source)
            snapshots[:, columns] = np.take_along_axis(grid, source, axis=0)
            self.values = snapshots[-1].copy()
        return snapshots

    def write(self, commands: Commands, start: int, stop: int) -> None:
        """Apply the writes of commands ``start`` to ``stop`` that no operation follows."""
        for index in range(start, stop):
            register = int(commands.register[index])
            if register >= 0:
                self.values[register] = commands.values[index]


class Registers:
    """The registers one operation sees, by name."""

    __slots__ = ("_instructions", "_values")

    def __init__(self, instructions: InstructionSet, values: list[int]) -> None:
        self._instructions = instructions
        self._values = values

    def __getitem__(self, name: str) -> int:
        """A register's value.

        Raises
        ------
        NpuError: kind ``parse``, when the stream never set it.
        """
        value = self._values[self._instructions.by_name[name].index]
        if value == UNSET:
            raise NpuError("parse", f"{name} was never set")
        return value

    def get(self, name: str, default: int) -> int:
        """A register's value, or ``default`` where it was never set or does not exist on this product."""
        row = self._instructions.by_name.get(name)
        value = UNSET if row is None else self._values[row.index]
        return default if value == UNSET else value

    def is_set(self, name: str) -> bool:
        """Whether the stream wrote it."""
        row = self._instructions.by_name.get(name)
        return row is not None and self._values[row.index] != UNSET

    def field(self, name: str, field: str) -> int:
        """A field of a register's parameter as a number."""
        row = self._instructions.by_name[name]
        value = self[name]
        return row.by_name[field].of(value >> 32 if row.kind == "scale" else value)

    def choice(self, name: str, field: str) -> str:
        """A field whose numbers have names.

        Raises
        ------
        NpuError: kind ``parse``, when the number has no name.
        """
        number = self.field(name, field)
        names = self._instructions.by_name[name].by_name[field].names
        if names is None or number not in names:
            raise NpuError("parse", f"{name}.{field} is {number}, which has no meaning")
        return names[number]

    def flag(self, name: str, field: str, default: int = 0) -> int:
        """A field, or ``default`` on products whose register lacks it."""
        row = self._instructions.by_name.get(name)
        if row is None or field not in row.by_name:
            return default
        return self.field(name, field)

    def data(self, name: str) -> int:
        """The data word of a ``scale`` register."""
        return self[name] & 0xFFFF_FFFF
