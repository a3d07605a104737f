"""A TOSA flatbuffer as plain data, read without torch and without the serializer.

Follows tosa.fbs of TOSA 1.0 (tosa-tools 2026.5): field numbers and enumerations as its generated readers have them.
Leaves out attributes that no operator of ``table`` needs, and says nothing about what operators mean.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.flatbuf import Buffer, FlatbufferError, Table

IDENTIFIER = b"TOSA"
# Op names by number; those after VARIABLE_READ are shape operators and block-scaled ones.
_OPS = [
    "UNKNOWN",
    "ARGMAX",
    "AVG_POOL2D",
    "CONV2D",
    "CONV3D",
    "DEPTHWISE_CONV2D",
    "FFT2D",
    "MATMUL",
    "MAX_POOL2D",
    "RFFT2D",
    "TRANSPOSE_CONV2D",
    "CLAMP",
    "ERF",
    "SIGMOID",
    "TANH",
    "ADD",
    "ARITHMETIC_RIGHT_SHIFT",
    "BITWISE_AND",
    "BITWISE_OR",
    "BITWISE_XOR",
    "INTDIV",
    "LOGICAL_AND",
    "LOGICAL_LEFT_SHIFT",
    "LOGICAL_RIGHT_SHIFT",
    "LOGICAL_OR",
    "LOGICAL_XOR",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "POW",
    "SUB",
    "TABLE",
    "ABS",
    "BITWISE_NOT",
    "CEIL",
    "CLZ",
    "COS",
    "EXP",
    "FLOOR",
    "LOG",
    "LOGICAL_NOT",
    "NEGATE",
    "RECIPROCAL",
    "RSQRT",
    "SIN",
    "SELECT",
    "EQUAL",
    "GREATER",
    "GREATER_EQUAL",
    "REDUCE_ALL",
    "REDUCE_ANY",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PRODUCT",
    "REDUCE_SUM",
    "CONCAT",
    "PAD",
    "RESHAPE",
    "REVERSE",
    "SLICE",
    "TILE",
    "TRANSPOSE",
    "GATHER",
    "SCATTER",
    "RESIZE",
    "CAST",
    "RESCALE",
    "CONST",
    "IDENTITY",
    "CUSTOM",
    "COND_IF",
    "WHILE_LOOP",
    "VARIABLE",
    "VARIABLE_WRITE",
    "VARIABLE_READ",
    "CONST_SHAPE",
]
_DTYPES = {
    1: "bool",
    3: "int8",
    4: "int16",
    5: "int32",
    6: "int48",
    7: "float32",
    8: "float16",
    10: "shape",
    17: "int64",
}
ROUNDING = {0: "UNKNOWN", 1: "SINGLE_ROUND", 2: "INEXACT_ROUND", 3: "DOUBLE_ROUND"}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph. ``dtype`` is a TOSA type in numpy's spelling; ``data`` is None unless constant."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: bytes | None = None


@dataclass(frozen=True)
class Op:
    """An operator: its TOSA name, tensor names, and the attributes that were read."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Graph:
    """The main block of a TOSA graph. ``shapes`` are compile-time shapes by name."""

    version: tuple[int, int, int]
    tensors: dict[str, Tensor]
    shapes: dict[str, tuple[int, ...]]
    ops: tuple[Op, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def constant(self, name: str) -> npt.NDArray[Any]:
        """The data of a constant tensor as an array of its shape.

        Raises
        ------
        ConfigError: it has none, or of another size.
        """
        tensor = self.tensors[name]
        dtype = np.dtype(tensor.dtype)
        if tensor.data is None or len(tensor.data) < dtype.itemsize * int(np.prod(tensor.shape)):
            raise _bad(f"the constant {name} of shape {list(tensor.shape)} has not the bytes for it")
        count = int(np.prod(tensor.shape))
        return np.frombuffer(tensor.data, dtype, count).reshape(tensor.shape)

    @property
    def operators(self) -> tuple[tuple[str, str], ...]:
        """(operator, dtype of its first input) of every operator but constants, each once."""
        pairs = (
            (op.name, self.tensors[op.inputs[0]].dtype) for op in self.ops if op.inputs and op.inputs[0] in self.tensors
        )
        return tuple(dict.fromkeys(pairs))


def _bad(what: str) -> ConfigError:
    return ConfigError(f"not a usable TOSA flatbuffer: {what}", cause=Cause.BAD_PROGRAM, hint="lower the network again")


def read_graph(path: Path) -> Graph:
    """Read a TOSA flatbuffer; kept per process and file state.

    Raises
    ------
    ConfigError: the file is missing, damaged, or not TOSA.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise ConfigError(f"cannot read the TOSA graph {path}: {error.strerror}", cause=Cause.BAD_INPUT) from error
    return _cached(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _cached(path: Path, _mtime_ns: int, _size: int) -> Graph:
    return parse_graph(path.read_bytes())


def parse_graph(data: bytes) -> Graph:
    """Parse the bytes of a TOSA flatbuffer.

    Raises
    ------
    ConfigError: they are damaged, or no TOSA.
    """
    if data[4:8] != IDENTIFIER:
        raise _bad(f"bytes 4-7 are {data[4:8]!r}, expected {IDENTIFIER!r}")
    try:
        root = Buffer(data).root()
        regions = list(root.tables(1))
        if not regions:
            raise _bad("it has no region")
        blocks = list(regions[0].tables(1))
        if not blocks:
            raise _bad("its first region has no block")
        return _block(blocks[0], _version(root.table(0)), data)
    except (FlatbufferError, struct.error, IndexError, UnicodeDecodeError) as error:
        raise _bad(str(error)) from error


def _version(table: Table | None) -> tuple[int, int, int]:
    if table is None:
        return (-1, -1, -1)
    major, minor, patch = (table.scalar(i, "i", -1) for i in range(3))
    return major, minor, patch


def _block(block: Table, version: tuple[int, int, int], data: bytes) -> Graph:
    tensors = {t.name: t for t in block.map(2, lambda t: _tensor(t, data))}
    shapes = {t.string(0): tuple(np.frombuffer(t.bytes(2), "<i8").tolist()) for t in block.tables(5)}
    return Graph(version, tensors, shapes, block.map(1, _op), _strings(block, 3), _strings(block, 4))


def _tensor(table: Table, whole: bytes) -> Tensor:
    code = table.scalar(2, "I")
    constant = table.bytes(3) or None
    offset, size = table.scalar(7, "Q"), table.scalar(8, "Q")
    if constant is None and size:
        # Large constants may lie behind the flatbuffer.
        constant = Buffer(whole).slice(offset, size)
    return Tensor(table.string(0), table.scalars(1, "i"), _DTYPES.get(code, f"type-{code}"), constant)


def _op(table: Table) -> Op:
    code = table.scalar(0, "I")
    name = _OPS[code] if code < len(_OPS) else f"OP-{code}"
    return Op(name, _strings(table, 3), _strings(table, 4), _attributes(name, table.table(2)))


def _attributes(name: str, table: Table | None) -> dict[str, Any]:
    if name == "RESCALE" and table is not None:
        return {
            "scale32": bool(table.scalar(0, "B")),
            "rounding_mode": ROUNDING.get(table.scalar(1, "I"), "UNKNOWN"),
            "per_channel": bool(table.scalar(2, "B")),
            "input_unsigned": bool(table.scalar(3, "B")),
            "output_unsigned": bool(table.scalar(4, "B")),
        }
    if name == "TRANSPOSE" and table is not None:
        return {"perms": table.scalars(0, "i")}
    return {}


def _strings(table: Table, index: int) -> tuple[str, ...]:
    """A vector of strings: offsets to length-prefixed UTF-8."""
    start, count = table.vector(index, 4)
    found = []
    for i in range(count):
        position = start + 4 * i
        position += table.buf.integer("I", position)
        size = table.buf.integer("I", position)
        found.append(table.buf.slice(position + 4, size).decode())
    return tuple(found)
