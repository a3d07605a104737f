"""A command stream as arrays: every command's offset, code, parameter and data word, found without a loop.

A command is one word, or two when bits [15:14] of its first word are 1. Which words are first words follows from
runs of words that look like two-word commands: the word before such a run is either a whole one-word command or the
data of the command before it, so a run always starts with a first word, and first and data words alternate inside it.
Leaves out meaning: whether a code exists is answered here (``bad``), what it does is not.
Source: ethos-u.md section 3 and 8.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import CMD1, InstructionSet, Row, instruction_set
from corstone.emulator.npu.types import Array, Ints

_NO_COMMAND = -2
_OPERATION = -1


@dataclass(frozen=True)
class _Tables:
    """Per code (11 bits with the two-word bit): the register index, the parameter bits without a meaning, those that
    continue the data word, and the sign bit of the value where it has one.
    """

    register: Array
    reserved: Array
    high: Array
    sign: Ints


_HIGH = {"address": 0xFF, "stride": 0xFF, "scale": 0xFFFF}
"""Bits of the parameter that continue the data word, by the kind of a row."""
_SIGN = {"stride": 1 << 39}


@cache
def _tables(product: str) -> _Tables:
    register = np.full(2 * CMD1, _NO_COMMAND, np.int16)
    reserved = np.zeros(2 * CMD1, np.uint32)
    high, sign = np.zeros(2 * CMD1, np.uint32), np.zeros(2 * CMD1, np.int64)
    for row in instruction_set(product).rows:
        register[row.code] = row.index
        reserved[row.code] = 0xFFFF & ~row.allowed
        high[row.code] = _HIGH.get(row.kind, 0)
        sign[row.code] = _SIGN.get(row.kind, 0)
    return _Tables(register, reserved, high, sign)


@dataclass(frozen=True)
class Commands:
    """A decoded stream of one product.

    Shapes: all arrays ``[n]``, one entry a command. ``offsets`` in bytes; ``codes`` with ``CMD1`` added for two-word
    commands; ``register`` the dense register index, -1 for an operation; ``values`` what a register is set to.
    ``operations`` lists the commands that are operations. ``bad`` is the first command that is malformed, or n.
    """

    instructions: InstructionSet
    size: int
    offsets: Ints
    codes: Ints
    params: Array
    data: Array
    register: Array
    values: Ints
    operations: Ints
    bad: int

    def row(self, index: int) -> Row:
        """The table row of a command.

        Raises
        ------
        NpuError: kind ``parse``, when the command does not exist on this product.
        """
        code = int(self.codes[index])
        row = self.instructions.by_code.get(code)
        if row is None:
            words = "two" if code & CMD1 else "one"
            raise NpuError(
                "parse",
                f"there is no {words}-word command {code & 0x3FF:#05x} on {self.instructions.product}",
                name=f"command {code & 0x3FF:#05x}",
                offset=int(self.offsets[index]),
                operands={"param": int(self.params[index]), "data": int(self.data[index])},
            )
        return row

    def operands(self, index: int) -> dict[str, object]:
        """A command's fields by name."""
        return self.row(index).operands(int(self.params[index]), int(self.data[index]))

    def next_offset(self, index: int) -> int:
        """The byte offset after a command."""
        return int(self.offsets[index]) + (8 if int(self.codes[index]) & CMD1 else 4)

    def fault(self, index: int) -> NpuError:
        """Why the command at ``bad`` cannot be executed."""
        offset = int(self.offsets[index])
        word = int(self.params[index]) << 16 | int(self.codes[index]) & 0x3FF
        if self.row_exists(index):
            row = self.row(index)
            if self.next_offset(index) > self.size:
                return NpuError("parse", "the stream ends inside this command", name=row.name, offset=offset)
            unknown = int(self.params[index]) & ~row.allowed
            reason = f"parameter bits {unknown:#06x} have no meaning" if unknown else "reserved bits [13:10] are set"
            return NpuError("parse", reason, name=row.name, offset=offset, operands=self.operands(index))
        try:
            self.row(index)
        except NpuError as error:
            return error
        return NpuError("parse", f"malformed word {word:#010x}", name="command", offset=offset)

    def row_exists(self, index: int) -> bool:
        """Whether the product has the command."""
        return int(self.codes[index]) in self.instructions.by_code


def decode(stream: bytes, product: str) -> Commands:
    """Split a stream into commands.

    Raises
    ------
    NpuError: kind ``parse``, when the length is not a multiple of four. Malformed commands only set ``bad``, since a
    stream may stop before it reaches them.
    """
    if len(stream) % 4:
        raise NpuError("parse", f"the stream has {len(stream)} bytes, not a multiple of 4", name="stream", offset=0)
    words = np.frombuffer(stream, "<u4")
    double = words & 0xC000 == 0x4000
    where = _first_words(double)
    heads = words[where]
    two = double[where]
    # The word behind the last one is 0: a stream that ends there is malformed.
    data = np.append(words, np.uint32(0))[1:][where] * two
    # Arrays are indexed fastest by int64.
    codes = ((heads & 0x3FF) | (two * np.uint32(CMD1))).astype(np.int64)
    params = heads >> 16

    tables = _tables(product)
    register = tables.register[codes]
    malformed = ((heads & 0xBC00) | (params & tables.reserved[codes])) != 0
    malformed |= register == _NO_COMMAND
    if where.size and two[-1] and where[-1] + 1 >= words.size:
        malformed[-1] = True
    found = np.flatnonzero(malformed)
    return Commands(
        instructions=instruction_set(product),
        size=len(stream),
        offsets=where * 4,
        codes=codes,
        params=params,
        data=data,
        register=register,
        values=np.where(two, _values(tables, codes, params, data), params),
        operations=np.flatnonzero(register == _OPERATION),
        bad=int(found[0]) if found.size else where.size,
    )


def _first_words(double: Array) -> Ints:
    """Which words start a command, ascending; ``double`` says of each word whether it looks like one of two words."""
    if not double.size:
        return np.zeros(0, np.int64)
    index = np.arange(double.size, dtype=np.int32)
    starts = double.copy()
    starts[1:] &= ~double[:-1]
    run_start = np.maximum.accumulate(index * starts)
    odd = ((index - run_start) & 1).astype(bool)
    data = double & odd
    # The word after a run belongs to the run's last command when that command is a first word.
    data[1:] |= ~double[1:] & double[:-1] & ~odd[:-1]
    return np.flatnonzero(~data)


def _values(tables: _Tables, codes: Ints, params: Array, data: Array) -> Ints:
    """What each two-word command sets its register to."""
    wide: Ints = (params & tables.high[codes]).astype(np.int64)
    wide <<= 32
    wide |= data
    sign = tables.sign[codes]
    wide ^= sign
    wide -= sign
    return wide
