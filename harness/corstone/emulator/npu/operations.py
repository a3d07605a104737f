"""Which builder plans which operation: the table between the instruction set and the datapath."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from corstone.emulator.npu.dma import build_dma
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.ops_conv import build_conv
from corstone.emulator.npu.ops_elementwise import build_elementwise
from corstone.emulator.npu.ops_pool import build_pool
from corstone.emulator.npu.ops_resize import build_resize
from corstone.emulator.npu.plan import Plan
from corstone.emulator.npu.state import Registers

_Builder = Callable[[Machine, Registers, Mapping[str, object]], Plan]

_BUILDERS: dict[str, _Builder] = {
    "CONV": lambda machine, regs, operands: build_conv(machine, regs, weights_ifm2=bool(operands.get("weights_ifm2"))),
    "DEPTHWISE": lambda machine, regs, _operands: build_conv(machine, regs, depthwise=True),
    "POOL": lambda machine, regs, operands: build_pool(machine, regs, str(operands["mode"])),
    "ELEMENTWISE": lambda machine, regs, operands: build_elementwise(machine, regs, str(operands["mode"])),
    "RESIZE": lambda machine, regs, operands: build_resize(machine, regs, str(operands["mode"])),
    "DMA_START": lambda machine, regs, _operands: build_dma(machine, regs),
}


def build_plan(machine: Machine, regs: Registers, name: str, operands: Mapping[str, object]) -> Plan:
    """The plan of an operation.

    Raises
    ------
    NpuError: the operation or its mode does not exist, needs a register that was never set, or is not modelled.
    """
    mode = operands.get("mode")
    if mode is not None and not isinstance(mode, str):
        raise NpuError("unsupported", f"{name} mode {mode} does not exist on {machine.config.product}")
    return _BUILDERS[name](machine, regs, operands)


def label(name: str, operands: Mapping[str, object]) -> str:
    """The operation with its mode, as counters show it: ``POOL.AVERAGE``."""
    return f"{name}.{operands['mode']}" if "mode" in operands else name
