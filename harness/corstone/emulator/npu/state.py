"""Register state: poison until written, and what every operation of a stretch of stream sees of it.

A register keeps its value until it is written again, over operations and branches. For many operations at once the
state is what the first of them sees and, for registers that are written in between, their values and since when.
Source: ethos-u.md section 3 (state persists) and 8.3 (poison).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.decode import Commands
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import InstructionSet, Row
from corstone.emulator.npu.types import Array, Ints

UNSET = int(np.iinfo(np.int64).min)


@dataclass(frozen=True)
class Chosen:
    """A few registers at ``size`` operations: their first values, and columns int64 ``[size]`` of those written."""

    size: int
    first: list[int]
    written: dict[int, Ints]

    def at(self, number: int) -> list[int]:
        """All of them at one operation."""
        values = list(self.first)
        for place, column in self.written.items():
            values[place] = int(column[number])
        return values

    def column(self, place: int) -> Ints:
        """One of them at every operation, int64 ``[size]``; not to be written to."""
        found = self.written.get(place)
        return np.broadcast_to(np.int64(self.first[place]), (self.size,)) if found is None else found

    def part(self, begin: int, end: int) -> Chosen:
        """Some of the operations."""
        return Chosen(end - begin, self.first, {place: column[begin:end] for place, column in self.written.items()})

    @property
    def size_bytes(self) -> int:
        """Bytes of memory they take."""
        return 8 * (len(self.first) + sum(column.size for column in self.written.values()))


@dataclass(frozen=True)
class Snapshots:
    """The registers as each of n operations sees them: what the first sees, and what is written since.

    Shapes: ``base`` int64 ``[registers]``, what the first sees; ``columns`` int ``[k]``, the registers written since.
    Values of one register lie together: ``values`` int64 ``[m]`` holds from ``keys`` on, ``register * n + operation``.
    """

    base: Ints
    columns: Ints
    operations: int
    keys: Array
    values: Ints

    def row(self, number: int) -> Ints:
        """All registers at one operation, int64 ``[registers]``."""
        registers = self.base.copy()
        wanted = self.columns * self.operations + number
        registers[self.columns] = self.values[np.searchsorted(self.keys, wanted, side="right") - 1]
        return registers

    def select(self, registers: Ints) -> Chosen:
        """Chosen registers at every operation."""
        written = {}
        for place, register in enumerate(registers.tolist()):
            begin = register * self.operations
            first, last = np.searchsorted(self.keys, (begin, begin + self.operations))
            if first < last:
                lengths = np.diff(self.keys[first:last], append=begin + self.operations)
                written[place] = np.repeat(self.values[first:last], lengths)
        return Chosen(self.operations, self.base[registers].tolist(), written)

    def changes(self, ignored: Array) -> Array:
        """Whether each operation but the first sees another state than the one before it, ``bool [n - 1]``.

        ``ignored`` is ``bool [registers]``: registers whose changes do not count.
        """
        counts = np.zeros(self.keys.size, bool)
        counts[1:] = self.values[1:] != self.values[:-1]
        register, operation = np.divmod(self.keys[counts], self.operations)
        # The first value of a register follows another one's.
        counted = operation[~ignored[register] & (operation > 0)]
        different = np.zeros(self.operations, bool)
        different[counted] = True
        return different[1:]


class RegisterFile:
    """The state between stretches; ``values`` is ``int64 [registers]`` with ``UNSET`` where never written."""

    def __init__(self, instructions: InstructionSet) -> None:
        self.values: Ints = np.full(len(instructions.registers), UNSET, np.int64)

    def snapshots(self, commands: Commands, start: int, operations: Ints) -> Snapshots:
        """What ``operations`` (in order) see; ``start`` is the first command of the stretch that leads to them.

        The file afterwards holds the state after the last of them.
        """
        stop = int(operations[-1]) + 1
        writes = np.flatnonzero(commands.register[start:stop] >= 0) + start
        registers, values = commands.register[writes], commands.values[writes]
        # A write counts from the first operation behind it to that behind the next one. What the first operation sees
        # is the base; of several writes to one register the last one stays, as numpy's indexed assignment has it.
        passed = np.zeros(stop - start, np.int32)
        passed[operations - start] = 1
        at = np.cumsum(passed, dtype=np.int32)[writes - start]
        first = int(np.searchsorted(at, 1))
        base = self.values.copy()
        base[registers[:first]] = values[:first]
        written = np.zeros(base.size, bool)
        written[registers[first:]] = True
        columns = np.flatnonzero(written)
        registers = np.concatenate([columns.astype(registers.dtype), registers[first:]])
        order = np.argsort(registers, kind="stable")
        keys = registers * np.int32(operations.size)
        keys[columns.size :] += at[first:]
        keys = keys[order]
        stays = np.ones(keys.size, bool)
        stays[:-1] = keys[1:] != keys[:-1]
        keys, values = keys[stays], np.concatenate([base[columns], values[first:]])[order[stays]]
        shots = Snapshots(base, columns, operations.size, keys, values)
        self.values = shots.row(operations.size - 1)
        return shots

    def write(self, commands: Commands, start: int, stop: int) -> None:
        """Apply the writes of commands ``start`` to ``stop`` that no operation follows."""
        for index in range(start, stop):
            register = int(commands.register[index])
            if register >= 0:
                self.values[register] = commands.values[index]


class Registers:
    """The registers one operation sees, by name."""

    __slots__ = ("_rows", "_values")

    def __init__(self, instructions: InstructionSet, values: list[int]) -> None:
        self._rows = instructions.by_name
        self._values = values

    def __getitem__(self, name: str) -> int:
        """A register's value.

        Raises
        ------
        NpuError: kind ``parse``, when the stream never set it.
        """
        return self._value(self._rows[name])

    def _value(self, row: Row) -> int:
        value = self._values[row.index]
        if value == UNSET:
            raise NpuError("parse", f"{row.name} was never set")
        return value

    def get(self, name: str, default: int) -> int:
        """A register's value, or ``default`` where it was never set or does not exist on this product."""
        row = self._rows.get(name)
        value = UNSET if row is None else self._values[row.index]
        return default if value == UNSET else value

    def is_set(self, name: str) -> bool:
        """Whether the stream wrote it."""
        row = self._rows.get(name)
        return row is not None and self._values[row.index] != UNSET

    def field(self, name: str, field: str) -> int:
        """A field of a register's parameter as a number."""
        row = self._rows[name]
        value = self._value(row)
        found = row.by_name[field]
        return ((value >> 32 if row.kind == "scale" else value) >> found.low) & found.mask

    def choice(self, name: str, field: str) -> str:
        """A field whose numbers have names.

        Raises
        ------
        NpuError: kind ``parse``, when the number has no name.
        """
        number = self.field(name, field)
        names = self._rows[name].by_name[field].names
        if names is None or number not in names:
            raise NpuError("parse", f"{name}.{field} is {number}, which has no meaning")
        return names[number]

    def flag(self, name: str, field: str, default: int = 0) -> int:
        """A field, or ``default`` on products whose register lacks it."""
        row = self._rows.get(name)
        if row is None or field not in row.by_name:
            return default
        return self.field(name, field)

    def data(self, name: str) -> int:
        """The data word of a ``scale`` register."""
        return self[name] & 0xFFFF_FFFF
