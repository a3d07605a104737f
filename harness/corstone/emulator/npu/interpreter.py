"""Run a command stream: walk its commands, keep the registers, plan each operation once, execute in order.

The stretch between two control commands (STOP, IRQ, BRANCH) is taken in blocks of operations, whose register states
are built together. A plan depends on all registers but the pointers and is kept under their bytes, also for later runs.
A run of operations with one plan is handed over as a whole where the plan can take it. What a stretch came to is kept
with the stream, so that running it again costs neither decoding nor planning.
Source: ethos-u.md sections 1.4, 3 and 8. Leaves out registers, interrupts and the PMU: the device around it has those.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from corstone.emulator.npu.blas import one_thread
from corstone.emulator.npu.config import NpuConfig
from corstone.emulator.npu.decode import Commands, decode
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import CMD1
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.memory import Memory
from corstone.emulator.npu.operations import build_plan, label
from corstone.emulator.npu.plan import Plan
from corstone.emulator.npu.pointwise import Pointwise
from corstone.emulator.npu.state import Chosen, RegisterFile, Registers
from corstone.emulator.npu.stats import Limits, RunStats
from corstone.emulator.npu.trace import Trace, TraceRecord
from corstone.emulator.npu.types import Array, Ints

_STOP, _IRQ, _BRANCH = 0x000, 0x001, CMD1 | 0x100
_WAITS = (0x011, 0x012, 0x013)
_WORK, _IS_WAIT, _IS_CONTROL = range(3)
_KINDS = np.full(2 * CMD1, _WORK, np.int8)
"""Of operations by code: whether they are executed, waited with, or decide what comes next."""
_KINDS[list(_WAITS)] = _IS_WAIT
_KINDS[[_STOP, _IRQ, _BRANCH]] = _IS_CONTROL
_BLOCK = 1 << 14
_MANY = 8
_IGNORED = ("BLOCKDEP", "IFM_IB_END", "IFM2_IB_START", "AB_START")
"""Registers that only say how the hardware uses its internal memory and its pipeline."""

_KEPT_BYTES = 64 << 20
_KEPT_STREAM = 2 << 20
_A_COMMAND = 48
"""Bytes of work on streams that are remembered, of all of them, the longest such stream, and of one decoded command."""
_KEPT_PLANS = 4096
_PLANS: OrderedDict[tuple[object, ...], tuple[str, Plan]] = OrderedDict()


@dataclass(frozen=True)
class _Segment:
    """Operations in a row that share one plan: their command indices ``[n]`` and their pointers."""

    operations: Ints
    name: str
    plan: Plan
    pointers: Chosen


@dataclass
class _Known:
    """What earlier runs of one stream at one place worked out: its commands, and the segments of its stretches.

    A stretch is told by its first and last command and the registers it begins with; with it is kept the state after.
    """

    commands: Commands
    stretches: dict[tuple[int, int, bytes], tuple[list[_Segment], Ints]] = field(default_factory=dict)
    size: int = 0
    lasting: bool = True

    def keep(self, key: tuple[int, int, bytes], segments: list[_Segment], after: Ints) -> None:
        """Remember a stretch, unless the stream has too much already."""
        size = sum(s.pointers.size_bytes + s.operations.nbytes for s in segments) + 2 * after.nbytes
        self.lasting &= self.size + size <= _KEPT_BYTES // 4
        if self.lasting:
            self.size += size
            self.stretches[key] = segments, after.copy()


_STREAMS: OrderedDict[tuple[object, ...], _Known] = OrderedDict()


def _known(stream: bytes, place: tuple[object, ...], product: str) -> _Known:
    """What is known of a stream, which may be nothing but its commands."""
    if len(stream) > _KEPT_STREAM:
        return _Known(decode(stream, product), lasting=False)
    key = (stream, *place)
    found = _STREAMS.get(key)
    if found is None:
        commands = decode(stream, product)
        found = _Known(commands, size=len(stream) + _A_COMMAND * commands.offsets.size)
        while _STREAMS and found.size + sum(known.size for known in _STREAMS.values()) > _KEPT_BYTES:
            _STREAMS.popitem(last=False)
        _STREAMS[key] = found
    else:
        _STREAMS.move_to_end(key)
    return found


def execute(
    stream: bytes,
    bases: Sequence[int],
    memory: Memory,
    config: NpuConfig,
    trace: Trace | None = None,
    limits: Limits | None = None,
) -> RunStats:
    """Execute a command stream to its STOP.

    ``bases`` are the region base addresses (BASEP0 and up), ``memory`` what they point into. ``trace`` is called with a
    ``TraceRecord`` a command, in order. What was written before a fault stays written, as in hardware.

    Raises
    ------
    NpuError: the NPU would stop with an error status, or the stream asks for what is not modelled.
    """
    with one_thread():
        return Run(stream, bases, memory, config, trace, limits or Limits()).run()


def forget_plans() -> None:
    """Drop the plans kept from earlier runs, for measurements of a cold start."""
    _PLANS.clear()
    _STREAMS.clear()


class Run:
    """One execution of a stream."""

    def __init__(
        self,
        stream: bytes,
        bases: Sequence[int],
        memory: Memory,
        config: NpuConfig,
        trace: Trace | None,
        limits: Limits,
    ) -> None:
        self.machine = Machine(config, memory, bases, limits)
        self._place = (config.name, self.machine.bases, limits.elements, limits.work)
        self._known = _known(stream, self._place, config.product)
        self.commands: Commands = self._known.commands
        self.registers = RegisterFile(self.machine.instructions)
        self.trace = trace
        self._wants_ofm = bool(getattr(trace, "wants_ofm", False))
        kinds = _KINDS[self.commands.codes[self.commands.operations]]
        self._control: Ints = self.commands.operations[kinds == _IS_CONTROL]
        self._work: Ints = self.commands.operations[kinds == _WORK]
        rows = self.machine.instructions.by_name
        self._pointers: Ints = np.array([rows[name].index for name in self.machine.pointer])
        self._ignored = np.zeros(self.registers.values.size, bool)
        self._ignored[self._pointers] = True
        self._ignored[[rows[name].index for name in _IGNORED if name in rows]] = True

    def run(self) -> RunStats:
        """Go from the first command to STOP."""
        commands, stats = self.commands, self.machine.stats
        start = 0
        while True:
            where = int(np.searchsorted(self._control, start))
            stop = int(self._control[where]) if where < self._control.size else commands.offsets.size
            self._stretch(start, min(stop, commands.bad))
            if commands.bad <= stop and commands.bad < commands.offsets.size:
                stats.qread = int(commands.offsets[commands.bad])
                raise commands.fault(commands.bad)
            if stop == commands.offsets.size:
                stats.qread = commands.size
                raise NpuError("parse", "the stream ends without STOP", name="stream", offset=commands.size)
            self._emit(stop, "op")
            stats.qread = commands.next_offset(stop)
            code = int(commands.codes[stop])
            if code == _STOP:
                stats.stop_mask = int(commands.params[stop])
                return stats
            start = stop + 1
            if code == _IRQ:
                stats.irq_mask |= int(commands.params[stop])
            else:
                start = self._branch(stop)

    def _branch(self, index: int) -> int:
        """The command that follows a BRANCH."""
        stats = self.machine.stats
        if int(self.commands.params[index]) & 1 and not self.machine.result_flag:
            return index + 1
        stats.branches += 1
        target = int(self.commands.data[index])
        where = ("BRANCH", int(self.commands.offsets[index]), self.commands.operands(index))
        if stats.branches > self.machine.limits.branches:
            message = f"the stream jumped more than {self.machine.limits.branches} times"
            raise NpuError("limit", message).locate(*where)
        found = int(np.searchsorted(self.commands.offsets, target))
        if found >= self.commands.offsets.size or int(self.commands.offsets[found]) != target:
            raise NpuError("parse", f"the jump target {target:#x} is not the start of a command").locate(*where)
        return found

    def _stretch(self, start: int, stop: int) -> None:
        """Execute the commands from ``start`` to ``stop``, none of which is a control command."""
        key = (start, stop, self.registers.values.tobytes())
        kept = self._known.stretches.get(key) if self.trace is None else None
        if kept is not None:
            segments, after = kept
            for segment in segments:
                self._run_segment(start, segment)
            self.registers.values = after.copy()
            return
        done: list[_Segment] = []
        begin = start
        first, last = np.searchsorted(self._work, (start, stop))
        for block in range(int(first), int(last), _BLOCK):
            operations = self._work[block : min(block + _BLOCK, int(last))]
            self._block(begin, operations, done)
            begin = int(operations[-1]) + 1
        self.registers.write(self.commands, begin, stop)
        self._emit_writes(begin, stop)
        if self._known.lasting:
            self._known.keep(key, done, self.registers.values)

    def _block(self, start: int, operations: Ints, done: list[_Segment]) -> None:
        snapshots = self.registers.snapshots(self.commands, start, operations)
        pointers = snapshots.select(self._pointers)
        codes = self.commands.codes[operations].astype(np.int64) << 32 | self.commands.params[operations]
        changes = snapshots.changes(self._ignored) | (codes[1:] != codes[:-1])
        starts = [0, *(np.flatnonzero(changes) + 1).tolist(), operations.size]
        for first, last in pairwise(starts):
            operation = int(operations[first])
            try:
                name, plan = self._plan(operation, snapshots.row(first))
            except NpuError as error:
                raise self._located(error, operation) from None
            segment = _Segment(operations[first:last], name, plan, pointers.part(first, last))
            self._run_segment(start, segment)
            if self._known.lasting:
                done.append(segment)
            start = int(operations[last - 1]) + 1

    def _run_segment(self, start: int, segment: _Segment) -> None:
        """Execute operations that share one plan; ``start`` is the first command that leads to them."""
        machine, plan, count = self.machine, segment.plan, segment.operations.size
        number = 0
        try:
            if count >= _MANY and self.trace is None and isinstance(plan, Pointwise):
                machine.charge(segment.name, plan.cost, count)
                if plan.run_many(machine, segment.pointers):
                    return
                machine.charge(segment.name, plan.cost, -count)
            for number in range(count):
                machine.charge(segment.name, plan.cost)
                if self.trace is None:
                    plan.run(machine, segment.pointers.at(number))
                else:
                    self._traced(int(segment.operations[number]), plan, segment.pointers.at(number), start)
                    start = int(segment.operations[number]) + 1
        except NpuError as error:
            raise self._located(error, int(segment.operations[number])) from None

    def _located(self, error: NpuError, operation: int) -> NpuError:
        """The fault with the operation that it is in."""
        self.machine.stats.qread = self.commands.next_offset(operation)
        row, offset = self.commands.row(operation), int(self.commands.offsets[operation])
        return error.locate(row.name, offset, self.commands.operands(operation))

    def _plan(self, operation: int, registers: Ints) -> tuple[str, Plan]:
        registers[self._ignored] = 0
        code, param = int(self.commands.codes[operation]), int(self.commands.params[operation])
        key = (*self._place, code, param, registers.tobytes())
        found = _PLANS.get(key)
        if found is None:
            row, operands = self.commands.row(operation), self.commands.operands(operation)
            regs = Registers(self.machine.instructions, registers.tolist())
            found = _PLANS[key] = label(row.name, operands), build_plan(self.machine, regs, row.name, operands)
            if len(_PLANS) > _KEPT_PLANS:
                _PLANS.popitem(last=False)
        else:
            _PLANS.move_to_end(key)
        return found

    def _traced(self, operation: int, plan: Plan, pointers: list[int], start: int) -> None:
        self._emit_writes(start, operation)
        values = plan.run(self.machine, pointers)
        ofm = values.copy() if self._wants_ofm and values is not None else None
        self._emit(operation, "op", ofm, plan.describe(pointers))

    def _emit_writes(self, start: int, stop: int) -> None:
        if self.trace is not None:
            for index in range(start, stop):
                self._emit(index, "op" if self.commands.register[index] < 0 else "set")

    def _emit(
        self,
        index: int,
        kind: str,
        ofm: Array | None = None,
        tensors: Mapping[str, Mapping[str, object]] | None = None,
    ) -> None:
        if self.trace is not None:
            row = self.commands.row(index)
            offset = int(self.commands.offsets[index])
            self.trace(TraceRecord(offset, row.name, kind, self.commands.operands(index), ofm, tensors))
