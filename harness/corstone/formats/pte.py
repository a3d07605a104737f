"""ExecuTorch's ``.pte``: inputs, outputs, values, instructions, kernels and delegates, without torch.

Follows ``schema/program.fbs`` and ``extended_header.cpp`` of ExecuTorch 1.5 (identifier ET12). Leaves out bundled
programs (BP..), which are recognised and refused by name, and several execution plans: the first is the one that
runners execute.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.flatbuf import Buffer, FlatbufferError, Table
from corstone.program import TensorSpec

IDENTIFIER = b"ET12"
ETHOS_U = "EthosUBackend"
_NAMED = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    11: "bool",
}
_NAMED |= {27: "uint16", 28: "uint32", 29: "uint64"}
_SIZES = {"bool": 1} | {name: int(name.lstrip("uintfloa")) // 8 for name in _NAMED.values() if name != "bool"}
_KINDS = "none null int bool double tensor string int_list double_list bool_list tensor_list optional_tensor_list"
# Lists whose items are indices of values (-1: None), also those of integers, which may be known only at run time.
BOXED = frozenset({"int_list", "tensor_list", "optional_tensor_list"})


@dataclass(frozen=True)
class Value:
    """One EValue. ``kind`` names the union member; ``value`` is a Python value, or a TensorValue for tensors.

    The items of a ``BOXED`` list are indices of other values.
    """

    kind: str
    value: object


@dataclass(frozen=True)
class TensorValue:
    """A tensor of the plan: ``data`` holds the bytes of a constant, None for a planned or input tensor.

    ``memory`` is (memory id, offset) for planned tensors, None otherwise.
    """

    dtype: str
    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    data: bytes | None
    memory: tuple[int, int] | None

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return math.prod(self.shape) * _SIZES[self.dtype]


@dataclass(frozen=True)
class KernelCall:
    """Run operator ``op`` (``quantized_decomposed::quantize_per_tensor.out``) on the values ``args``."""

    op: str
    args: tuple[int, ...]


@dataclass(frozen=True)
class DelegateCall:
    """Run delegate ``delegate`` on the values ``args``: inputs, then outputs."""

    delegate: int
    args: tuple[int, ...]


@dataclass(frozen=True)
class MoveCall:
    """Copy value ``source`` to ``destination``."""

    source: int
    destination: int


@dataclass(frozen=True)
class JumpFalseCall:
    """Go to instruction ``destination`` when value ``condition`` is false."""

    condition: int
    destination: int


@dataclass(frozen=True)
class FreeCall:
    """Release the memory of ``value``."""

    value: int


Instruction = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall


@dataclass(frozen=True)
class Delegate:
    """A delegate: backend id, its processed bytes and its compile specs."""

    backend: str
    data: bytes
    specs: dict[str, bytes]


@dataclass(frozen=True)
class PteFile:
    """The first execution plan of a program.

    ``inputs`` and ``outputs`` are indices into ``values``; ``buffer_sizes`` are the planned memories in bytes, the
    first (index 0) unused.
    """

    name: str
    values: tuple[Value, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    instructions: tuple[Instruction, ...]
    delegates: tuple[Delegate, ...]
    buffer_sizes: tuple[int, ...]
    sha256: str
    size_bytes: int

    def tensor(self, index: int) -> TensorValue:
        """The tensor at ``index`` of ``values``.

        Raises
        ------
        ConfigError: the value is no tensor.
        """
        value = self.values[index].value
        if not isinstance(value, TensorValue):
            raise _bad(f"value {index} is {self.values[index].kind}, a tensor was expected")
        return value

    def specs(self, indices: tuple[int, ...], prefix: str) -> tuple[TensorSpec, ...]:
        """TensorSpecs of inputs or outputs; a non-tensor input counts as rank-0 int64, float64 or bool.

        An argument that was None at export still takes a place, of 8 bytes that nobody reads, as ExecuTorch's own
        runner counts its files.
        """
        specs = []
        for n, index in enumerate(indices):
            value = self.values[index]
            if isinstance(value.value, TensorValue):
                t = value.value
                specs.append(TensorSpec(f"{prefix}{n}", t.dtype, t.shape, t.dim_order))
            else:
                scalar = {"int": "int64", "double": "float64", "bool": "bool", "null": "int64"}.get(value.kind)
                if scalar is None:
                    raise _bad(f"{prefix}{n} is of kind {value.kind}, which cannot be passed as raw bytes")
                specs.append(TensorSpec(f"{prefix}{n}", scalar, ()))
        return tuple(specs)

    @property
    def input_specs(self) -> tuple[TensorSpec, ...]:
        """Inputs in argument order."""
        return self.specs(self.inputs, "in")

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        """Outputs in order."""
        return self.specs(self.outputs, "out")

    @property
    def kernels(self) -> tuple[str, ...]:
        """CPU kernels that the plan calls, each once, in order of first use."""
        return tuple(dict.fromkeys(i.op for i in self.instructions if isinstance(i, KernelCall)))

    @property
    def ethos_u(self) -> tuple[Delegate, ...]:
        """The Ethos-U delegates."""
        return tuple(d for d in self.delegates if d.backend == ETHOS_U)


def _bad(what: str, hint: str = "compile the program again; the file is damaged or not a .pte") -> ConfigError:
    return ConfigError(f"not a usable ExecuTorch program: {what}", cause=Cause.BAD_PROGRAM, hint=hint)


def read_pte(source: bytes | Path) -> PteFile:
    """Read a program.

    Raises
    ------
    ConfigError: the file is missing, cut, corrupt, bundled, or of another version (cause ``bad-program``).
    """
    if isinstance(source, Path):
        try:
            data = source.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"cannot read the program {source}: {error.strerror}",
                cause=Cause.BAD_INPUT,
                hint="name an existing .pte file",
            ) from error
    else:
        data = source
    check_identifier(data)
    try:
        return _read(data)
    except (FlatbufferError, struct.error, IndexError, KeyError, OverflowError, RecursionError) as error:
        raise _bad(str(error)) from error


def check_identifier(data: bytes) -> None:
    """Look at bytes 4 to 7 only.

    Raises
    ------
    ConfigError: they are not those of a program that this version reads.
    """
    found = data[4:8]
    if found == IDENTIFIER:
        return
    if found.startswith(b"BP"):
        raise _bad(
            f"bytes 4-7 are {found!r}: this is a bundled program (.bpte)",
            hint="pass the plain .pte; runners without bundled-program support cannot read a bundle",
        )
    if found.startswith(b"ET"):
        raise _bad(
            f"bytes 4-7 are {found!r}, expected {IDENTIFIER!r}",
            hint="compile with an ExecuTorch release whose program identifier is ET12",
        )
    if found == b"TFL3":
        raise _bad(
            f"bytes 4-7 are {found!r}: it is a TensorFlow Lite model",
            hint="corstone run boots a Vela-compiled .tflite with --runner-elf of a TFLM runner; the rest needs a .pte",
        )
    raise _bad(f"bytes 4-7 are {found!r}, expected {IDENTIFIER!r}; the file has {len(data)} bytes")


def _read(data: bytes) -> PteFile:
    segment_base, program_size = _extended_header(data)
    if program_size > len(data):
        raise _bad(f"the header speaks of {program_size} bytes of program, the file has {len(data)}")
    root = Buffer(data).root()
    segments = tuple((t.scalar(0, "Q"), t.scalar(1, "Q")) for t in root.tables(4))
    file = _File(data, segment_base, segments, root)
    plans = list(root.tables(1))
    if not plans:
        raise _bad("it has no execution plan")
    plan = plans[0]
    operators = plan.map(6, lambda t: f"{t.string(0)}.{t.string(1)}" if t.string(1) else t.string(0))
    values = plan.map(2, lambda t: _value(t, file))
    chains = list(plan.tables(5))
    if len(chains) != 1:
        raise _bad(f"the plan has {len(chains)} chains, expected 1")
    delegates = plan.map(7, lambda t: _delegate(t, file))
    result = PteFile(
        name=plan.string(0),
        values=values,
        inputs=plan.scalars(3, "i"),
        outputs=plan.scalars(4, "i"),
        instructions=chains[0].map(2, lambda t: _instruction(t, operators)),
        delegates=delegates,
        buffer_sizes=plan.scalars(8, "q"),
        sha256=hashlib.sha256(data).hexdigest(),
        size_bytes=len(data),
    )
    _check_indices(result)
    return result


def _extended_header(data: bytes) -> tuple[int, int]:
    """(segment base offset, program size); (0, 0) when there is no extended header."""
    if data[8:12] != b"eh00":
        return 0, 0
    length, program_size, segment_base = struct.unpack_from("<IQQ", data, 12)
    if length < 24:
        raise _bad(f"the extended header says it is {length} bytes long, the smallest is 24")
    return segment_base, program_size


@dataclass(frozen=True)
class _File:
    data: bytes
    segment_base: int
    segments: tuple[tuple[int, int], ...]
    root: Table

    def segment(self, index: int) -> bytes:
        offset, size = self.segments[index]
        return Buffer(self.data).slice(self.segment_base + offset, size)

    def constant(self, index: int) -> bytes:
        """Constant ``index``: a slice of the constant segment, or an inline buffer in older files."""
        constants = self.root.table(5)
        offsets = constants.scalars(1, "Q") if constants else ()
        if constants is None or not offsets:
            inline = list(self.root.tables(2))
            return inline[index].bytes(0)
        whole = self.segment(constants.scalar(0, "I"))
        end = offsets[index + 1] if index + 1 < len(offsets) else len(whole)
        if not offsets[index] <= end <= len(whole):
            raise FlatbufferError(
                f"constant {index} lies at {offsets[index]}..{end} of a segment of {len(whole)} bytes"
            )
        return whole[offsets[index] : end]


def _value(evalue: Table, file: _File) -> Value:
    kinds = _KINDS.split()
    tag = evalue.scalar(0, "B")
    if tag >= len(kinds):
        raise _bad(f"a value has the unknown kind {tag}")
    kind = kinds[tag]
    table = evalue.table(1)
    if table is None:
        return Value(kind, None)
    if kind == "tensor":
        return Value(kind, _tensor(table, file))
    if kind == "int":
        return Value(kind, table.scalar(0, "q"))
    if kind == "bool":
        return Value(kind, bool(table.scalar(0, "B")))
    if kind == "double":
        return Value(kind, table.double(0))
    if kind == "string":
        return Value(kind, table.string(0))
    formats = {"int_list": "q", "double_list": "d", "bool_list": "B", "tensor_list": "i", "optional_tensor_list": "i"}
    return Value(kind, table.scalars(0, formats[kind]) if kind in formats else None)


def _tensor(table: Table, file: _File) -> TensorValue:
    code = table.scalar(0, "b")
    if code not in _NAMED:
        raise _bad(f"a tensor has the scalar type {code}, which no runner here executes")
    shape = table.scalars(2, "i")
    if any(d < 0 for d in shape):
        raise _bad(f"a tensor has the shape {shape}")
    allocation = table.table(6)
    memory = None
    if allocation is not None:
        memory = allocation.scalar(0, "I"), allocation.scalar(1, "I") | allocation.scalar(2, "I") << 32
    index = table.scalar(5, "I")
    data = file.constant(index) if index and memory is None else None
    tensor = TensorValue(_NAMED[code], shape, table.scalars(3, "B"), data, memory)
    if data is not None and len(data) < tensor.size_bytes:
        raise _bad(
            f"constant {index} has {len(data)} bytes, its tensor {shape} of {tensor.dtype} needs {tensor.size_bytes}"
        )
    return tensor


def _instruction(table: Table, operators: tuple[str, ...]) -> Instruction:
    tag = table.scalar(0, "B")
    body = table.table(1)
    if body is None or not 1 <= tag <= 5:
        raise _bad(f"an instruction has the unknown kind {tag}")
    if tag == 1:
        return KernelCall(operators[body.scalar(0, "i")], body.scalars(1, "i"))
    if tag == 2:
        return DelegateCall(body.scalar(0, "i"), body.scalars(1, "i"))
    if tag == 3:
        return MoveCall(body.scalar(0, "i"), body.scalar(1, "i"))
    if tag == 4:
        return JumpFalseCall(body.scalar(0, "i"), body.scalar(1, "i"))
    return FreeCall(body.scalar(0, "i"))


def _delegate(table: Table, file: _File) -> Delegate:
    reference = table.table(1)
    data = b""
    if reference is not None:
        index = reference.scalar(1, "I")
        if reference.scalar(0, "b") == 1:
            data = file.segment(index)
        else:
            inline = list(file.root.tables(3))
            data = inline[index].bytes(0)
    specs = {t.string(0): t.bytes(1) for t in table.tables(2)}
    return Delegate(table.string(0), data, specs)


def _check_indices(pte: PteFile) -> None:
    def check(indices: tuple[int, ...], limit: int, what: str, first: int = 0) -> None:
        for index in indices:
            if not first <= index < limit:
                raise _bad(f"{what} {index} is outside 0..{limit - 1}")

    count = len(pte.values)
    check(pte.inputs, count, "input value")
    check(pte.outputs, count, "output value")
    for held in pte.values:
        if held.kind in BOXED and isinstance(held.value, tuple):
            check(held.value, count, "item of a list", -1 if held.kind == "optional_tensor_list" else 0)
            if any(item >= 0 and pte.values[item].kind in BOXED for item in held.value):
                raise _bad("a list holds a list")
    for instruction in pte.instructions:
        match instruction:
            case KernelCall(_, args):
                check(args, count, "kernel argument")
            case DelegateCall(delegate, args):
                check((delegate,), len(pte.delegates), "delegate")
                check(args, count, "delegate argument")
            case MoveCall(source, destination):
                check((source, destination), count, "moved value")
            case JumpFalseCall(condition, destination):
                check((condition,), count, "condition")
                check((destination,), len(pte.instructions), "jump destination")
            case FreeCall(value):
                check((value,), count, "freed value")
