"""Run a command stream: walk its commands, keep the registers, plan each operation once, execute in order.

The stretch between two control commands (STOP, IRQ, BRANCH) is taken in blocks of operations, whose register
snapshots are built together. A plan depends on all registers but the pointers and is found by their bytes.
Source: ethos-u.md sections 1.4, 3 and 8. Leaves out registers, interrupts and the PMU: the device around it has those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corstone.emulator.npu.config import NpuConfig
from corstone.emulator.npu.decode import Commands, decode
from corstone.emulator.npu.dma import build_dma
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import CMD1
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.memory import Memory
from corstone.emulator.npu.ops_conv import build_conv
from corstone.emulator.npu.ops_elementwise import build_elementwise
from corstone.emulator.npu.ops_pool import build_pool
from corstone.emulator.npu.ops_resize import build_resize
from corstone.emulator.npu.plan import Plan
from corstone.emulator.npu.state import RegisterFile, Registers
from corstone.emulator.npu.stats import Limits, RunStats
from corstone.emulator.npu.trace import Trace, TraceRecord
from corstone.emulator.npu.types import Array, Ints

_STOP, _IRQ, _BRANCH = 0x000, 0x001, CMD1 | 0x100
_WAITS = (0x011, 0x012, 0x013)
_CONTROL = (_STOP, _IRQ, _BRANCH)
_BLOCK = 1024


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
    return Run(stream, bases, memory, config, trace, limits or Limits()).run()


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
        self.commands: Commands = decode(stream, config.product)
        self.machine = Machine(config, memory, bases, limits)
        self.registers = RegisterFile(self.machine.instructions)
        self.trace = trace
        self._wants_ofm = bool(getattr(trace, "wants_ofm", False))
        codes = self.commands.codes[self.commands.operations]
        self._control: Ints = self.commands.operations[np.isin(codes, _CONTROL)]
        self._work: Ints = self.commands.operations[~np.isin(codes, _CONTROL + _WAITS)]
        index = self.machine.instructions.by_name
        self._pointers = np.array([index[name].index for name in self.machine.pointer])
        self._plans: dict[bytes, tuple[str, Plan]] = {}

    def run(self) -> RunStats:
        """Go from the first command to STOP."""
        commands, stats = self.commands, self.machine.stats
        start = 0
        while True:
            where = int(np.searchsorted(self._control, start))
            stop = int(self._control[where]) if where < self._control.size else commands.offsets.size
            self._stretch(start, min(stop, commands.bad))
            if commands.bad <= stop and commands.bad < commands.offsets.size:
                raise commands.fault(commands.bad)
            if stop == commands.offsets.size:
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
        operands = self.commands.operands(index)
        offset = int(self.commands.offsets[index])
        if stats.branches > self.machine.limits.branches:
            message = f"the stream jumped more than {self.machine.limits.branches} times"
            raise NpuError("limit", message, name="BRANCH", offset=offset, operands=operands)
        found = int(np.searchsorted(self.commands.offsets, target))
        if found >= self.commands.offsets.size or int(self.commands.offsets[found]) != target:
            message = f"the jump target {target:#x} is not the start of a command"
            raise NpuError("parse", message, name="BRANCH", offset=offset, operands=operands)
        return found

    def _stretch(self, start: int, stop: int) -> None:
        """Execute the commands from ``start`` to ``stop``, none of which is a control command."""
        first, last = np.searchsorted(self._work, (start, stop))
        for block in range(int(first), int(last), _BLOCK):
            operations = self._work[block : min(block + _BLOCK, int(last))]
            self._block(start, operations)
            start = int(operations[-1]) + 1
        self.registers.write(self.commands, start, stop)
        self._emit_writes(start, stop)

    def _block(self, start: int, operations: Ints) -> None:
        snapshots = self.registers.snapshots(self.commands, start, operations)
        pointers = snapshots[:, self._pointers].tolist()
        snapshots[:, self._pointers] = 0
        codes = self.commands.codes[operations].astype(np.int64) << 32 | self.commands.params[operations]
        keys = np.concatenate([codes[:, None], snapshots], axis=1)
        same = (keys[1:] == keys[:-1]).all(axis=1)
        label, plan = "", None
        for n, operation in enumerate(operations.tolist()):
            try:
                if plan is None or not same[n - 1]:
                    label, plan = self._plan(operation, keys[n])
                self.machine.charge(label, plan.cost)
                if self.trace is None:
                    plan.run(self.machine, pointers[n])
                else:
                    self._traced(operation, plan, pointers[n], start)
            except NpuError as error:
                self.machine.stats.qread = self.commands.next_offset(operation)
                raise error.locate(
                    self.commands.row(operation).name,
                    int(self.commands.offsets[operation]),
                    self.commands.operands(operation),
                ) from None
            start = operation + 1

    def _plan(self, operation: int, key: Ints) -> tuple[str, Plan]:
        packed = key.tobytes()
        found = self._plans.get(packed)
        if found is None:
            regs = Registers(self.machine.instructions, key[1:].tolist())
            label = ".".join([self.commands.row(operation).name, *_modes(self.commands.operands(operation))])
            found = self._plans[packed] = label, self._build(operation, regs)
        return found

    def _build(self, operation: int, regs: Registers) -> Plan:
        name = self.commands.row(operation).name
        operands = self.commands.operands(operation)
        mode = operands.get("mode")
        if mode is not None and not isinstance(mode, str):
            raise NpuError("unsupported", f"{name} mode {mode} does not exist on {self.machine.config.product}")
        if name == "DMA_START":
            return build_dma(self.machine, regs)
        if name == "POOL":
            return build_pool(self.machine, regs, str(mode))
        if name == "ELEMENTWISE":
            return build_elementwise(self.machine, regs, str(mode))
        if name in ("CONV", "DEPTHWISE"):
            return build_conv(
                self.machine, regs, depthwise=name == "DEPTHWISE", weights_ifm2=bool(operands.get("weights_ifm2"))
            )
        if name == "RESIZE":
            return build_resize(self.machine, regs, str(mode))
        raise NpuError("unsupported", f"{name} is not modelled")

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


def _modes(operands: Mapping[str, object]) -> list[str]:
    """The mode of an operation, for its name in the counters."""
    return [str(operands["mode"])] if "mode" in operands else []
