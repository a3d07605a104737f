"""A whole program on the NPU model without a board, with every NPU command and the feature map it wrote.

The plan is interpreted in numpy (``reference.plan``), each delegate call runs on the device model. Leaves out the CPU
of the board, its driver and its memory map: ``corstone run`` has those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.emulator.npu.offline import run_delegate
from corstone.emulator.npu.operations import label
from corstone.emulator.npu.stats import RunStats
from corstone.emulator.npu.trace import TraceRecord
from corstone.errors import ConfigError
from corstone.formats.pte import ETHOS_U, DelegateCall, PteFile
from corstone.formats.vela import VelaBlob, read_vela
from corstone.reference.plan import CallRecord, run_plan

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Command:
    """One NPU operation or control command as it ran.

    ``number`` counts within its delegate call, ``offset`` is its byte offset in the stream, ``registers`` what was set
    since the command before it. ``tensors`` has the tiles: addresses, shape, strides, format and type of each feature
    map. ``ofm`` is what it wrote, ``[H, W, C]``; None for data moves and control commands, and where not asked for.
    """

    call: int
    number: int
    offset: int
    name: str
    operands: Mapping[str, object]
    registers: tuple[tuple[str, Mapping[str, object]], ...]
    tensors: Mapping[str, Mapping[str, object]]
    ofm: Array | None


@dataclass(frozen=True)
class Walk:
    """Outputs of the whole program in logical shape, and of each delegate call what went in and out and what ran."""

    outputs: tuple[Array, ...]
    calls: tuple[CallRecord, ...]
    commands: tuple[tuple[Command, ...], ...]
    stats: tuple[RunStats, ...]


class Recorder:
    """A trace hook that keeps commands; ``wants_ofm`` asks for copies of the feature maps."""

    def __init__(self, call: int = 0, feature_maps: bool = True) -> None:
        self.call = call
        self.wants_ofm = feature_maps
        self.commands: list[Command] = []
        self._registers: list[tuple[str, Mapping[str, object]]] = []

    def __call__(self, record: TraceRecord) -> None:
        """One executed command."""
        if record.kind == "set":
            self._registers.append((record.name, record.operands))
            return
        number, registers = len(self.commands), tuple(self._registers)
        name, tensors = label(record.name, record.operands), record.tensors or {}
        self.commands.append(
            Command(self.call, number, record.offset, name, record.operands, registers, tensors, record.ofm)
        )
        self._registers = []


def walk(pte: PteFile, inputs: Sequence[Array], feature_maps: bool = True) -> Walk:
    """Run a program on arrays in its inputs' dtypes and logical shapes.

    Raises
    ------
    ConfigError: inputs that do not fit, a CPU kernel that numpy does not have here, a delegate that is no Ethos-U's.
    NpuError: the NPU stops with an error.
    """
    blobs = delegate_blobs(pte)
    order = [step.delegate for step in pte.instructions if isinstance(step, DelegateCall)]
    recorders: list[Recorder] = []
    stats: list[RunStats] = []

    def answer(number: int, delegate: int, given: Sequence[Array]) -> Sequence[Array]:
        recorder = Recorder(number, feature_maps)
        run = run_delegate(blobs[delegate], [flat.tobytes() for flat in given], recorder)
        recorders.append(recorder)
        stats.append(run.stats)
        return [np.frombuffer(data, np.uint8) for data in run.outputs]

    ran = run_plan(pte, inputs, answer, [len(blobs[delegate].inputs) for delegate in order])
    return Walk(ran.outputs, ran.calls, tuple(tuple(r.commands) for r in recorders), tuple(stats))


def delegate_blobs(pte: PteFile) -> dict[int, VelaBlob]:
    """The Ethos-U delegates by their index in the program.

    Raises
    ------
    ConfigError: a delegate of another backend, or one that is damaged.
    """
    others = sorted({d.backend for d in pte.delegates if d.backend != ETHOS_U})
    if others:
        raise ConfigError(
            f"the program has delegates of {', '.join(others)}, which no NPU model here runs",
            cause=Cause.UNSUPPORTED,
            hint="lower with the Ethos-U partitioner alone",
        )
    return {index: read_vela(delegate.data) for index, delegate in enumerate(pte.delegates)}
