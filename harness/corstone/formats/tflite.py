"""Vela-compiled ``.tflite`` files: what goes in and comes out, and the driver payloads of their ethos-u operators.

Fields are those of TensorFlow Lite's ``schema.fbs`` version 3 (identifier TFL3); the custom operator ``ethos-u`` and
the order of its inputs (payload, weights, arena, ...) are Vela's. Leaves out everything else: a TFLM runner interprets
the file, we only look whether it fits.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.flatbuf import Buffer, FlatbufferError, Table
from corstone.formats.vela import Payload, read_payload
from corstone.program import TensorSpec
from corstone.targets import Target

IDENTIFIER = b"TFL3"
_OPERATOR_CODES, _SUBGRAPHS, _BUFFERS = 1, 2, 4
_CUSTOM_CODE = 1
_TENSORS, _INPUTS, _OUTPUTS, _OPERATORS = 0, 1, 2, 3
_SHAPE, _TYPE, _BUFFER, _NAME = 0, 1, 2, 3
_OPCODE_INDEX, _OPERANDS = 0, 1
_DATA = 0
_DTYPES = {
    0: "float32", 1: "float16", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8", 10: "float64",
}  # fmt: skip


@dataclass(frozen=True)
class TfliteFile:
    """``inputs`` and ``outputs`` of the first subgraph, ``payloads`` of its ethos-u operators in order."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    payloads: tuple[Payload, ...]

    @property
    def target(self) -> Target:
        """The NPU that Vela compiled it for.

        Raises
        ------
        ConfigError: no operator is for an Ethos-U, or for one that is not known.
        """
        if not self.payloads:
            raise ConfigError(
                "the .tflite has no ethos-u operator: nothing in it runs on the NPU",
                cause=Cause.NO_DELEGATE,
                hint="compile it: vela MODEL.tflite --accelerator-config ethos-u55-128",
            )
        found = self.payloads[0].target
        if found is None:
            raise _bad(f"CONFIG 0x{self.payloads[0].config:08x} is no known Ethos-U")
        return found


def is_tflite(data: bytes) -> bool:
    """Whether bytes 4 to 7 are a TensorFlow Lite model's."""
    return data[4:8] == IDENTIFIER


def read_tflite(data: bytes) -> TfliteFile:
    """Read a model.

    Raises
    ------
    ConfigError: it is damaged, or has a tensor that cannot be given as raw bytes.
    """
    try:
        return _read(Buffer(data).root())
    except (FlatbufferError, struct.error, IndexError, OverflowError) as error:
        raise _bad(str(error)) from error


def _read(model: Table) -> TfliteFile:
    graph = next(model.tables(_SUBGRAPHS), None)
    if graph is None:
        raise _bad("it has no subgraph")
    tensors = tuple(graph.tables(_TENSORS))
    codes = model.map(_OPERATOR_CODES, lambda table: table.string(_CUSTOM_CODE))
    buffers = tuple(model.tables(_BUFFERS))
    payloads = []
    for operator in graph.tables(_OPERATORS):
        if codes[operator.scalar(_OPCODE_INDEX, "I")] == "ethos-u":
            first = _at(tensors, operator.scalars(_OPERANDS, "i")[0])
            payloads.append(read_payload(_at(buffers, first.scalar(_BUFFER, "I")).bytes(_DATA)))
    inputs, outputs = (
        tuple(_spec(_at(tensors, index)) for index in graph.scalars(field, "i")) for field in (_INPUTS, _OUTPUTS)
    )
    return TfliteFile(inputs, outputs, tuple(payloads))


def _at(tables: tuple[Table, ...], index: int) -> Table:
    if index < 0:
        raise IndexError(f"index {index} where a tensor or buffer is needed")
    return tables[index]


def _spec(tensor: Table) -> TensorSpec:
    kind = tensor.scalar(_TYPE, "b")
    shape = tensor.scalars(_SHAPE, "i")
    name = tensor.string(_NAME)
    if kind not in _DTYPES or any(size < 0 for size in shape):
        raise _bad(f"tensor {name!r} has type {kind} and shape {list(shape)}")
    return TensorSpec(name, _DTYPES[kind], shape)


def _bad(what: str) -> ConfigError:
    return ConfigError(
        f"not a usable .tflite: {what}",
        cause=Cause.BAD_PROGRAM,
        hint="compile the model again: vela MODEL.tflite --accelerator-config ethos-u55-128",
    )
