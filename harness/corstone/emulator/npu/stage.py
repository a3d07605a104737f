"""The output stage of an operation, built from its registers.

Source: ethos-u.md sections 3.2 (ACTIVATION, OFM_PRECISION, OFM_SCALE) and 5.2 to 5.5. Leaves out the arithmetic
(``output``) and the per-channel records (``channels``).
"""

from __future__ import annotations

import numpy as np

from corstone.emulator.npu.differences import TableForm
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.lut import Table
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.operands import as_type, element_type, zero_point
from corstone.emulator.npu.output import OutputStage
from corstone.emulator.npu.scaling import ROUNDINGS, Rounding, Scale
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.types import DType, bounds

_SLOT_INDEX = {"FORCE_UINT8": "u1", "FORCE_INT8": "<i1", "FORCE_INT16": "<i2"}
_TYPED_TABLES = {
    "LUT_U8_U8": ("u1", "u1"),
    "LUT_S8_S8": ("<i1", "<i1"),
    "LUT_S8_S16": ("<i1", "<i2"),
    "LUT_S8_S32": ("<i1", "<i4"),
    "LUT_S16_S16": ("<i2", "<i2"),
    "LUT_S16_S32": ("<i2", "<i4"),
}
_TABLE_SLOT = 256


def ofm_rounding(machine: Machine, regs: Registers) -> tuple[Rounding, int]:
    """The OFM's rounding mode and dbl_rnd field."""
    register = machine.config.rounding_register
    rounding = ROUNDINGS[regs.choice(register, "round")]
    return rounding, regs.field(register, "dbl_rnd") if machine.config.double_rounding else 0


def is_global(regs: Registers) -> bool:
    """Whether the OFM is scaled by OFM_SCALE rather than by records (or, on U55 pools and elementwise, not at all)."""
    return regs.choice("OFM_PRECISION", "scale") == "GLOBAL"


def ofm_scale(machine: Machine, regs: Registers) -> Scale:
    """OFM_SCALE."""
    rounding, dbl_rnd = ofm_rounding(machine, regs)
    mask = (1 << machine.config.ofm_scale_bits) - 1
    return Scale(regs.data("OFM_SCALE") & mask, regs.field("OFM_SCALE", "shift"), rounding, dbl_rnd)


def pool_scale(machine: Machine, regs: Registers) -> Scale | None:
    """The scale of pools and elementwise operations: OFM_SCALE, or none in per-channel mode.

    Raises
    ------
    NpuError: kind ``unsupported``, for per-channel mode on a product that has none.
    """
    if is_global(regs):
        return ofm_scale(machine, regs)
    if not machine.config.unscaled_pools:
        raise NpuError("unsupported", "per-channel scaling of this operation is not modelled")
    return None


def build_stage(machine: Machine, regs: Registers, scale: Scale | None) -> OutputStage:
    """The stage that follows the accumulators; ``scale`` is None for per-channel scales and for none at all.

    Raises
    ------
    NpuError: kind ``unsupported`` for functions without a public definition, ``parse`` for registers never set.
    """
    dtype = element_type(regs, "OFM_PRECISION")
    table, clips = _ACTIVATIONS[machine.config.tables](machine, regs, dtype)
    if table is not None and table.entry.itemsize != dtype.itemsize:
        raise NpuError("parse", f"a table of {table.entry} entries feeds an OFM of {dtype}")
    index = dtype if table is None else table.index
    if dtype.itemsize == 8:
        return OutputStage(dtype, scale, 0, 0, 0, False, None)
    low, high = bounds(index)
    if index.itemsize == 4:
        return OutputStage(dtype, scale, 0, low, high, True, None)
    zero = zero_point(regs, "OFM_ZERO_POINT", dtype)
    if clips:
        low = max(low, as_type(regs["ACTIVATION_MIN"], dtype))
        high = min(high, as_type(regs["ACTIVATION_MAX"], dtype))
        if low > high:
            raise NpuError("parse", f"ACTIVATION_MIN {low} lies above ACTIVATION_MAX {high}")
    return OutputStage(dtype, scale, zero, low, high, clips or table is not None, table)


def _slot_table(machine: Machine, regs: Registers, dtype: DType) -> tuple[Table | None, bool]:
    function = regs.choice("ACTIVATION", "function")
    if function == "NONE":
        return None, True
    if not function.startswith("TABLE_"):
        raise NpuError("unsupported", f"activation {function} has no public definition")
    clip = regs.choice("ACTIVATION", "clip")
    index = dtype if clip == "OFM_PRECISION" else np.dtype(_SLOT_INDEX[clip])
    if (index.itemsize, dtype.itemsize) not in ((1, 1), (1, 4), (2, 2)):
        raise NpuError("unsupported", f"a table from {index} to {dtype} does not exist on {machine.config.product}")
    slot = int(function.removeprefix("TABLE_"))
    # A 16-bit OFM interpolates int16; an 8- or 32-bit one reads entries of its own type.
    return Table(machine.config.lut_base + _TABLE_SLOT * slot, index, dtype), True


def _typed_table(_machine: Machine, regs: Registers, dtype: DType) -> tuple[Table | None, bool]:
    function = regs.choice("ACTIVATION", "function")
    clips = regs.choice("ACTIVATION", "clip") == "B16"
    if function == "LUT_NONE":
        return None, clips
    if function not in _TYPED_TABLES:
        raise NpuError("unsupported", f"activation {function} has no public definition")
    index, entry = (np.dtype(name) for name in _TYPED_TABLES[function])
    if entry.kind != dtype.kind and entry.itemsize == dtype.itemsize == 1:
        entry = dtype
    table = Table(0, index, entry)
    return Table(table.size * regs.field("ACTIVATION", "table"), index, entry), clips


_ACTIVATIONS = {TableForm.SLOT: _slot_table, TableForm.TYPED: _typed_table}
