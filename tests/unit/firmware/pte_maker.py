"""Writes small ``.pte`` files by hand, so that tests can ask for any operator, dtype, layout and contradiction."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import flatbuffers
import numpy as np

DTYPES = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "bool": 11,
}
NULL, INT, BOOL, DOUBLE, TENSOR, STRING, INT_LIST = range(1, 8)
KERNEL, DELEGATE, MOVE, JUMP, FREE = range(1, 6)

Write = Callable[[flatbuffers.Builder], int]


def table(builder: flatbuffers.Builder, slots: Sequence[tuple[int, str, object, object]]) -> int:
    """A table of (field, kind, value, default)."""
    builder.StartObject(max((slot for slot, *_ in slots), default=0) + 1)
    for slot, kind, value, default in slots:
        if kind == "offset":
            builder.PrependUOffsetTRelativeSlot(slot, value, 0)
        else:
            getattr(builder, f"Prepend{kind}Slot")(slot, value, default)
    return int(builder.EndObject())


def vector(builder: flatbuffers.Builder, kind: str, size: int, items: Sequence[object]) -> int:
    """A vector of scalars or of offsets."""
    builder.StartVector(size, len(items), max(size, 4))
    for item in reversed(items):
        getattr(builder, "PrependUOffsetTRelative" if kind == "offset" else f"Prepend{kind}")(item)
    return int(builder.EndVector())


@dataclass
class PteMaker:
    """Collects values and instructions; ``build`` gives the file."""

    values: list[tuple[int, Write]] = field(default_factory=list)
    operators: list[tuple[str, str]] = field(default_factory=list)
    steps: list[tuple[int, Write]] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    delegates: list[bytes] = field(default_factory=list)
    constants: list[bytes] = field(default_factory=lambda: [b""])
    backend: str = "EthosUBackend"
    in_segments: bool = False
    planned: int = 0

    def _add(self, kind: int, write: Write) -> int:
        self.values.append((kind, write))
        return len(self.values) - 1

    def null(self) -> int:
        return self._add(NULL, lambda b: table(b, []))

    def integer(self, value: int) -> int:
        return self._add(INT, lambda b: table(b, [(0, "Int64", value, 0)]))

    def double(self, value: float) -> int:
        return self._add(DOUBLE, lambda b: table(b, [(0, "Float64", value, 0.0)]))

    def boolean(self, value: bool) -> int:
        return self._add(BOOL, lambda b: table(b, [(0, "Bool", value, False)]))

    def int_list(self, items: Sequence[int]) -> int:
        return self.index_list([self.integer(item) for item in items])

    def index_list(self, items: Sequence[int]) -> int:
        """A list of integers whose items are the values of these indices."""
        return self._add(INT_LIST, lambda b: table(b, [(0, "offset", vector(b, "Int64", 8, items), 0)]))

    def tensor(
        self,
        dtype: str,
        shape: Sequence[int],
        *,
        order: Sequence[int] | None = None,
        constant: bytes | None = None,
        offset: int | None = None,
        memory: int = 1,
        dtype_number: int | None = None,
    ) -> int:
        """A planned tensor, or a constant of the file."""
        buffer = 0
        if constant is not None:
            self.constants.append(constant)
            buffer = len(self.constants) - 1
        at = self.planned if offset is None else offset
        if constant is None and offset is None:
            self.planned += (int(np.prod(shape)) * np.dtype(dtype).itemsize + 15) & ~15
        number = DTYPES[dtype] if dtype_number is None else dtype_number

        def write(b: flatbuffers.Builder) -> int:
            sizes = vector(b, "Int32", 4, list(shape))
            dims = vector(b, "Byte", 1, list(range(len(shape)) if order is None else order))
            slots: list[tuple[int, str, object, object]] = [(0, "Int8", number, 0), (2, "offset", sizes, 0)]
            slots += [(3, "offset", dims, 0), (5, "Uint32", buffer, 0)]
            if constant is None:
                allocation = table(
                    b, [(0, "Uint32", memory, 0), (1, "Uint32", at & 0xFFFFFFFF, 0), (2, "Uint32", at >> 32, 0)]
                )
                slots.append((6, "offset", allocation, 0))
            return table(b, slots)

        return self._add(TENSOR, write)

    def kernel(self, name: str, overload: str, args: Sequence[int]) -> None:
        if (name, overload) not in self.operators:
            self.operators.append((name, overload))
        index = self.operators.index((name, overload))
        self.steps.append((KERNEL, lambda b: self._call(b, index, args)))

    def delegate(self, blob: bytes, args: Sequence[int]) -> None:
        self.delegates.append(blob)
        index = len(self.delegates) - 1
        self.steps.append((DELEGATE, lambda b: self._call(b, index, args)))

    def move(self, source: int, destination: int) -> None:
        self.steps.append((MOVE, lambda b: table(b, [(0, "Int32", source, 0), (1, "Int32", destination, 0)])))

    def jump_false(self, condition: int, destination: int) -> None:
        self.steps.append((JUMP, lambda b: table(b, [(0, "Int32", condition, 0), (1, "Int32", destination, 0)])))

    def free(self, value: int) -> None:
        self.steps.append((FREE, lambda b: table(b, [(0, "Int32", value, 0)])))

    @staticmethod
    def _call(b: flatbuffers.Builder, index: int, args: Sequence[int]) -> int:
        return table(b, [(0, "Int32", index, 0), (1, "offset", vector(b, "Int32", 4, list(args)), 0)])

    def _method(self, b: flatbuffers.Builder) -> int:
        values = []
        for kind, write in self.values:
            content = write(b)
            values.append(table(b, [(0, "Uint8", kind, 0), (1, "offset", content, 0)]))
        steps = []
        for kind, write in self.steps:
            content = write(b)
            steps.append(table(b, [(0, "Uint8", kind, 0), (1, "offset", content, 0)]))
        chain = table(b, [(2, "offset", vector(b, "offset", 4, steps), 0)])
        operators = []
        for name, overload in self.operators:
            texts = (b.CreateString(name), b.CreateString(overload))
            operators.append(table(b, [(0, "offset", texts[0], 0), (1, "offset", texts[1], 0)]))
        delegates = []
        for index in range(len(self.delegates)):
            reference = table(b, [(0, "Int8", int(self.in_segments), 0), (1, "Uint32", index, 0)])
            identifier = b.CreateString(self.backend)
            delegates.append(table(b, [(0, "offset", identifier, 0), (1, "offset", reference, 0)]))
        slots: list[tuple[int, str, object, object]] = [
            (0, "offset", b.CreateString("forward"), 0),
            (2, "offset", vector(b, "offset", 4, values), 0),
            (3, "offset", vector(b, "Int32", 4, self.inputs), 0),
            (4, "offset", vector(b, "Int32", 4, self.outputs), 0),
            (5, "offset", vector(b, "offset", 4, [chain]), 0),
            (6, "offset", vector(b, "offset", 4, operators), 0),
            (7, "offset", vector(b, "offset", 4, delegates), 0),
            (8, "offset", vector(b, "Int64", 8, [0, self.planned]), 0),
        ]
        return table(b, slots)

    def build(self) -> bytes:
        """The file."""
        b = flatbuffers.Builder(4096)
        blobs = []
        for data in self.delegates if not self.in_segments else []:
            b.StartVector(1, len(data), 16)
            b.head -= len(data)
            b.Bytes[b.head : b.head + len(data)] = data
            blobs.append(table(b, [(0, "offset", b.EndVector(), 0)]))
        buffers = []
        for data in self.constants if not self.in_segments else [b""]:
            b.StartVector(1, len(data), 16)
            b.head -= len(data)
            b.Bytes[b.head : b.head + len(data)] = data
            buffers.append(table(b, [(0, "offset", b.EndVector(), 0)]))
        slots: list[tuple[int, str, object, object]] = [
            (1, "offset", vector(b, "offset", 4, [self._method(b)]), 0),
            (2, "offset", vector(b, "offset", 4, buffers), 0),
            (3, "offset", vector(b, "offset", 4, blobs), 0),
        ]
        segments, data = self._segments()
        if self.in_segments:
            entries = [table(b, [(0, "Uint64", at, 0), (1, "Uint64", size, 0)]) for at, size in segments]
            offsets = [0]
            for constant in self.constants[1:]:
                offsets.append(offsets[-1] + ((len(constant) + 15) & ~15))
            starts = [0, *offsets[:-1]]
            constant_segment = table(
                b, [(0, "Uint32", len(entries) - 1, 0), (1, "offset", vector(b, "Uint64", 8, starts), 0)]
            )
            slots += [(4, "offset", vector(b, "offset", 4, entries), 0), (5, "offset", constant_segment, 0)]
        b.Finish(table(b, slots), file_identifier=b"ET12")
        program = bytes(b.Output())
        if not self.in_segments:
            return program
        size = (len(program) + 32 + 15) & ~15
        header = b"eh00" + struct.pack("<IQQQ", 32, size, size, len(data))
        root = struct.pack("<I", struct.unpack("<I", program[:4])[0] + 32)
        return (root + program[4:8] + header + program[8:]).ljust(size, b"\0") + data

    def _segments(self) -> tuple[list[tuple[int, int]], bytes]:
        """Delegates first, all constants as the last segment."""
        data = b""
        segments = []
        constants = b"".join(c.ljust((len(c) + 15) & ~15, b"\0") for c in self.constants[1:])
        for blob in (*self.delegates, constants):
            segments.append((len(data), len(blob)))
            data += blob.ljust((len(blob) + 15) & ~15, b"\0")
        return segments, data


def vela_blob(
    inputs: Sequence[tuple[int, int, int]],
    outputs: Sequence[tuple[int, int, int]],
    scratch: int,
    *,
    payload: bytes | None = None,
    weights: bytes = b"\0" * 16,
) -> bytes:
    """A ``vela_bin_stream``; inputs and outputs are (elements, element size, offset)."""

    def block(name: str, data: bytes) -> bytes:
        head = name.encode().ljust(16, b"\0") + struct.pack("<I", len(data)) + bytes(12)
        return head + data.ljust((len(data) + 15) & ~15, b"\0")

    def tensors(rows: Sequence[tuple[int, int, int]]) -> bytes:
        packed = (struct.pack("<9i", 1, 1, 1, 1, 1, count, size, offset, 1) for count, size, offset in rows)
        return struct.pack("<i", len(rows)) + b"".join(packed)

    if payload is None:
        words = [0x31504F43, 0x00100001, 0x00001807, 0x10066001, 5, 5, 5, 1 << 16 | 2, 0xFFFF0000]
        payload = struct.pack("<9I", *words)
    return b"".join(
        (
            block("vela_bin_stream", b""),
            block("cmd_data", payload),
            block("weight_data", weights),
            block("scratch_size", struct.pack("<I", scratch)),
            block("inputs", tensors(inputs)),
            block("outputs", tensors(outputs)),
            block("vela_end_stream", b""),
        )
    )
