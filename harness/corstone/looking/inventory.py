"""What is inside a ``.pte``, as data: delegates, inputs, outputs, memory, NPU commands, and what stayed on the CPU.

Read from the file alone. Leaves out running it (``walk``) and words for people (``corstone explain``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from corstone.emulator.npu.decode import Commands, decode
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.operations import label
from corstone.errors import ConfigError
from corstone.formats.pte import DelegateCall, KernelCall, PteFile, TensorValue
from corstone.formats.vela import VelaBlob, VelaTensor, read_vela
from corstone.preflight.kernel_table import has
from corstone.runners import RUNNERS

SCHEMA = 1


@dataclass(frozen=True)
class NpuCommand:
    """One command of a stream: byte offset, name with mode, ``op`` or ``set``, and its operands."""

    offset: int
    name: str
    kind: str
    operands: dict[str, object]


@dataclass(frozen=True)
class DelegateParts:
    """One delegate. Sizes in bytes; ``operations`` counts by name with mode, ``registers`` the writes between them.

    ``problem`` says why a part could not be read: another backend, an unknown NPU, a command that does not exist.
    """

    number: int
    backend: str
    size_bytes: int
    target: str = ""
    config: str = ""
    weights_bytes: int = 0
    scratch_bytes: int = 0
    stream_bytes: int = 0
    inputs: tuple[dict[str, Any], ...] = ()
    outputs: tuple[dict[str, Any], ...] = ()
    operations: dict[str, int] = field(default_factory=dict)
    registers: int = 0
    calls: int = 0
    problem: str = ""


@dataclass(frozen=True)
class KernelParts:
    """A CPU kernel, how often the plan calls it, and which runners have it (None: that image is not here to ask)."""

    name: str
    calls: int
    runners: dict[str, bool | None]


@dataclass(frozen=True)
class Inventory:
    """A whole program. ``method_bytes`` is what the plan's buffers take, ``constant_bytes`` its constant tensors."""

    sha256: str
    size_bytes: int
    method: str
    method_bytes: int
    constant_bytes: int
    inputs: tuple[dict[str, Any], ...]
    outputs: tuple[dict[str, Any], ...]
    delegates: tuple[DelegateParts, ...]
    kernels: tuple[KernelParts, ...]
    plan: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {"schema": SCHEMA, **asdict(self)}


def inventory(pte: PteFile) -> Inventory:
    """Take a program apart.

    Raises
    ------
    ConfigError: an Ethos-U delegate is damaged.
    """
    constants = [v.value.data for v in pte.values if isinstance(v.value, TensorValue) and v.value.data]
    calls = Counter(step.delegate for step in pte.instructions if isinstance(step, DelegateCall))
    return Inventory(
        sha256=pte.sha256,
        size_bytes=pte.size_bytes,
        method=pte.name,
        method_bytes=sum(pte.buffer_sizes),
        constant_bytes=sum(len(data) for data in constants),
        inputs=_values(pte, pte.inputs, "in"),
        outputs=_values(pte, pte.outputs, "out"),
        delegates=tuple(_delegate(pte, number, calls[number]) for number in range(len(pte.delegates))),
        kernels=_kernels(pte),
        plan=tuple(_step(step) for step in pte.instructions),
    )


def npu_commands(blob: VelaBlob) -> tuple[NpuCommand, ...]:
    """Every command of a delegate's stream up to the first that does not exist.

    Raises
    ------
    NpuError: the stream's length is not that of whole words.
    """
    commands = _decode(blob)
    if commands is None:
        return ()
    return tuple(_command(commands, index) for index in range(min(commands.bad, commands.offsets.size)))


def _decode(blob: VelaBlob) -> Commands | None:
    target = blob.payload.target
    return None if target is None else decode(blob.payload.stream, target.product)


def _command(commands: Commands, index: int) -> NpuCommand:
    row, operands = commands.row(index), commands.operands(index)
    kind = "op" if commands.register[index] < 0 else "set"
    return NpuCommand(
        int(commands.offsets[index]), label(row.name, operands) if kind == "op" else row.name, kind, operands
    )


def _delegate(pte: PteFile, number: int, calls: int) -> DelegateParts:
    delegate = pte.delegates[number]
    size = len(delegate.data)
    if delegate not in pte.ethos_u:
        return DelegateParts(
            number, delegate.backend, size, calls=calls, problem="no Ethos-U delegate: not looked into"
        )
    blob = read_vela(delegate.data)
    target = blob.payload.target
    operations: Counter[str] = Counter()
    registers, problem = 0, ""
    try:
        commands = _decode(blob)
        if commands is None:
            problem = f"CONFIG {blob.payload.config:#010x} is that of no known NPU: its commands cannot be read"
        else:
            registers = int((commands.register[: commands.bad] >= 0).sum())
            for index in commands.operations.tolist():
                if index < commands.bad:
                    operations[label(commands.row(index).name, commands.operands(index))] += 1
            if commands.bad < commands.offsets.size:
                problem = f"the stream cannot be read to its end: {commands.fault(commands.bad)}"
    except NpuError as error:
        problem = str(error)
    return DelegateParts(
        number,
        delegate.backend,
        size,
        target=target.name if target else "",
        config=f"{blob.payload.config:#010x}",
        weights_bytes=len(blob.weights),
        scratch_bytes=blob.scratch_size,
        stream_bytes=len(blob.payload.stream),
        inputs=_vela(blob.inputs),
        outputs=_vela(blob.outputs),
        operations=dict(operations.most_common()),
        registers=registers,
        calls=calls,
        problem=problem,
    )


def _vela(tensors: Sequence[VelaTensor]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"shape": list(t.shape), "elem_size": t.elem_size, "offset": t.offset, "size_bytes": t.size_bytes}
        for t in tensors
    )


def _values(pte: PteFile, indices: tuple[int, ...], prefix: str) -> tuple[dict[str, Any], ...]:
    rows = []
    for number, index in enumerate(indices):
        name = f"{prefix}{number}"
        try:
            (spec,) = pte.specs((index,), prefix)
        except ConfigError:  # nothing that travels as bytes: an argument that was None, a list
            rows.append({"name": name, "dtype": pte.values[index].kind, "shape": [], "size_bytes": 0})
            continue
        rows.append({"name": name, "dtype": spec.dtype, "shape": list(spec.shape), "size_bytes": spec.size_bytes})
    return tuple(rows)


def _kernels(pte: PteFile) -> tuple[KernelParts, ...]:
    counted = Counter(step.op for step in pte.instructions if isinstance(step, KernelCall))
    products = {t.product for t in _targets(pte)}
    rows = [row for row in RUNNERS if not products or products & set(row.products)]
    return tuple(
        KernelParts(name, count, {row.name: has(row, name) for row in rows}) for name, count in counted.most_common()
    )


def _targets(pte: PteFile) -> list[Any]:
    found = [read_vela(d.data).payload.target for d in pte.ethos_u]
    return [target for target in found if target is not None]


def _step(step: object) -> str:
    match step:
        case KernelCall(op, args):
            return f"cpu {op} {list(args)}"
        case DelegateCall(delegate, args):
            return f"npu delegate {delegate} {list(args)}"
        case _:
            return str(step)
