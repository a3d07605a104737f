"""Elementwise operations of two inputs or one, with broadcast, operand scaling and operand order.

Source: ethos-u.md section 5.6. On U55 and U65 the operands are swapped first and scaled afterwards. Values are int64
until the output stage. Leaves out 64-bit data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import (
    Input,
    Output,
    ScalarInput,
    Shape,
    as_type,
    broadcast_shape,
    build_input,
    build_output,
    element_type,
    is_scalar,
    zero_point,
)
from corstone.emulator.npu.output import OutputStage
from corstone.emulator.npu.plan import Compute, Plan
from corstone.emulator.npu.scaling import ROUNDINGS, Rounding, Scale
from corstone.emulator.npu.slices import part, pieces
from corstone.emulator.npu.stage import build_stage, is_global, ofm_rounding, ofm_scale, pool_scale
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.types import Array, Ints

_UNARY = ("ABS", "CLZ", "LRELU", "NOT")
_SCALED_PAIRS = ("ADD", "SUB")
_SCALED_OWN = ("ADD", "SUB", "MIN", "MAX", "CMP_EQ", "CMP_NE", "CMP_GE", "CMP_GT")
# What the operand that has no scale of its own is multiplied by, by its bits.
_FIXED_SHIFT = {8: 19, 16: 14}

Unary = Callable[[Ints], Ints]
Binary = Callable[[Ints, Ints], Ints]


def _count_leading_zeros(a: Ints) -> Ints:
    unsigned = a & 0xFFFF_FFFF
    # frexp gives the bit length: exact, since 32 bits fit a float64.
    return 32 - np.frexp(unsigned.astype(np.float64))[1].astype(np.int64)


def _divide(a: Ints, b: Ints) -> Ints:
    if not b.all():
        raise NpuError("unsupported", "DIV by zero has no known result")
    quotient = np.abs(a) // np.abs(b)
    return np.where((a < 0) != (b < 0), -quotient, quotient)


_UNARY_PLAIN: dict[str, Unary] = {"ABS": np.abs, "CLZ": _count_leading_zeros, "NOT": np.invert}
_BINARY: dict[str, Binary] = {
    "MUL": np.multiply,
    "ADD": np.add,
    "SUB": np.subtract,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "DIV": _divide,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "AND_NOT": lambda a, b: a & ~b,
    # Comparisons give all bits set, that is -1, for true.
    "CMP_EQ": lambda a, b: -(a == b).astype(np.int64),
    "CMP_NE": lambda a, b: -(a != b).astype(np.int64),
    "CMP_GE": lambda a, b: -(a >= b).astype(np.int64),
    "CMP_GT": lambda a, b: -(a > b).astype(np.int64),
}


_TOTAL = tuple(function for name, function in _BINARY.items() if name != "DIV")


def build_elementwise(machine: Machine, regs: Registers, mode: str) -> Plan:
    """The plan of an ELEMENTWISE operation.

    Raises
    ------
    NpuError: for registers never set and forms that are not modelled.
    """
    output = build_output(machine, regs)
    config = machine.config
    if mode in _UNARY:
        first = _operand(machine, regs, "IFM", output.shape)
        _require_narrow(first)
        stage = _stage(machine, regs, mode, first)
        return UnaryElementwise(first, output, stage, _unary(machine, regs, mode))
    first, second = _operand(machine, regs, "IFM", output.shape), _operand(machine, regs, "IFM2", output.shape)
    _require_narrow(first)
    _require_narrow(second)
    if config.operand_swap and regs.field("IFM2_BROADCAST", "swap"):
        first, second = second, first
    scales = _own_scales(regs, mode) if config.scale_per_operand else _paired_scales(regs, mode, first, second)
    operation = _BINARY.get(mode) or _shift(machine, regs, mode, first)
    stage = _stage(machine, regs, mode, first)
    return BinaryElementwise(first, second, output, stage, scales, operation)


def _operand(machine: Machine, regs: Registers, name: str, shape: Shape) -> Input:
    """IFM or IFM2: a feature map, broadcast where the registers say so, or a scalar."""
    config = machine.config
    if name not in config.broadcast_operands:
        return build_input(machine, regs, name, shape)
    if is_scalar(regs, name) or regs.field(f"{name}_BROADCAST", "scalar"):
        dtype = element_type(regs, f"{name}_PRECISION")
        value = regs[config.scalar_register]
        value = value - ((value & 0x8000_0000) << 1) if config.scalar_is_wide else as_type(value, dtype)
        return ScalarInput(value, dtype, zero_point(regs, f"{name}_ZERO_POINT", dtype))
    return build_input(machine, regs, name, broadcast_shape(regs, name, shape))


def _require_narrow(operand: Input) -> None:
    if operand.dtype.itemsize == 8:
        raise NpuError("unsupported", "elementwise operations on 64-bit data are not modelled")


def _stage(machine: Machine, regs: Registers, mode: str, first: Input) -> OutputStage:
    """The output stage; where the operation uses OFM_SCALE itself, the stage does not."""
    scale = pool_scale(machine, regs)
    if mode == "LRELU" and not machine.config.scale_per_operand:
        scale = None
    elif mode == "MUL" and first.dtype.itemsize == 4 and scale is not None:
        # Only the shift acts on 32-bit products.
        scale = Scale(1, scale.shift, scale.rounding, scale.dbl_rnd)
    stage = build_stage(machine, regs, scale)
    if mode == "MUL" and stage.dtype.itemsize == 4 and stage.table is None and (scale is None or scale.identity):
        # The low 32 bits of an unshifted product, as TOSA's MUL defines them; anything else saturates.
        return replace(stage, clamp=False)
    return stage


def _paired_scales(regs: Registers, mode: str, first: Input, second: Input) -> tuple[Scale | None, Scale | None]:
    if mode not in _SCALED_PAIRS:
        return None, None
    form = regs.choice("IFM_PRECISION", "scale_mode")
    rounding = ROUNDINGS[regs.choice("IFM_PRECISION", "round")]
    if form == "OPA_OPB_16":
        return (
            Scale(regs.data("OPA_SCALE") & 0xFFFF, 0, rounding),
            Scale(regs.data("OPB_SCALE") & 0xFFFF, 0, rounding),
        )
    own = Scale(regs.data("OPA_SCALE"), regs.field("OPA_SCALE", "shift"), rounding)
    other = second if form == "OPA_32" else first
    bits = 8 * other.dtype.itemsize
    if bits not in _FIXED_SHIFT:
        raise NpuError("unsupported", f"{form} scaling of {bits}-bit data is not modelled")
    fixed = Scale(1 << _FIXED_SHIFT[bits], 0, rounding)
    return (own, fixed) if form == "OPA_32" else (fixed, own)


def _own_scale(regs: Registers, name: str) -> Scale:
    rounding = ROUNDINGS[regs.choice(name, "round")]
    return Scale(regs.data(name) & 0x7FFF_FFFF, regs.field(name, "shift"), rounding, regs.field(name, "dbl_rnd"))


def _own_scales(regs: Registers, mode: str) -> tuple[Scale | None, Scale | None]:
    scales = _own_scale(regs, "IFM_SCALE"), _own_scale(regs, "IFM2_SCALE")
    if mode not in _SCALED_OWN and not all(scale.identity for scale in scales):
        raise NpuError("unsupported", f"input scales of {mode} are not modelled")
    return scales


def _unary(machine: Machine, regs: Registers, mode: str) -> Unary:
    scaled = machine.config.scale_per_operand
    if mode in _UNARY_PLAIN:
        own = _own_scale(regs, "IFM_SCALE") if scaled else None
        change = _UNARY_PLAIN[mode]
        return lambda a: change(own.apply(a) if own else a)
    if not scaled:
        if not is_global(regs):
            raise NpuError("unsupported", "LRELU without a global scale is not modelled")
        alpha = ofm_scale(machine, regs)
        return lambda a: np.where(a >= 0, a, alpha.apply(a))
    positive, negative = _own_scale(regs, "IFM_SCALE"), _own_scale(regs, "IFM2_SCALE")
    return lambda a: np.where(a >= 0, positive.apply(a), negative.apply(a))


def _shift(machine: Machine, regs: Registers, mode: str, first: Input) -> Binary:
    rounding, _ = ofm_rounding(machine, regs)
    bits = 8 * first.dtype.itemsize
    return lambda a, b: shift_values(a, b, mode, bits, rounding)


def shift_values(a: Ints, b: Ints, mode: str, bits: int, rounding: Rounding) -> Ints:
    """SHR, rounded in the OFM's mode, LSR, or SHL, which wraps at the width of its input.

    Raises
    ------
    NpuError: kind ``unsupported``, when a shift amount is not in 0..31.
    """
    if b.min() < 0 or b.max() > 31:
        raise NpuError("unsupported", f"{mode} by an amount outside 0..31 has no known result")
    if mode == "LSR":
        # The input's bits without a sign; for signed outputs the result keeps the pattern's meaning.
        return wrap((a & ((1 << bits) - 1)) >> b, bits)
    if mode == "SHL":
        return wrap(a << b, bits)
    if rounding is Rounding.LOWER:
        return a >> b
    if rounding is Rounding.TRUNCATE:
        return np.where(a < 0, -(-a >> b), a >> b)
    half = (np.int64(1) << b) >> 1
    if rounding is Rounding.SYMMETRIC:
        half = half - ((a < 0) & (b > 0))
    # The double modes differ from half up only beyond 31 bits.
    return (a + half) >> b


def wrap(values: Ints, bits: int) -> Ints:
    """The low ``bits`` of each value as a signed number."""
    sign = np.int64(1) << (bits - 1)
    return ((values + sign) & ((1 << bits) - 1)) - sign


class _Elementwise(Compute):
    """What elementwise operations share: piece by piece, or by a table of all codes where the inputs have few.

    A subclass gives ``_direct``. Where all varying inputs together have 16 bits, the results of all their codes are
    worked out once the plan has met more elements than that, and looked up from then on. An activation's table may
    change between runs, so it is looked up afterwards.
    """

    pointwise = True

    def __init__(self, inputs: tuple[Input, ...], output: Output, stage: OutputStage, *, total: bool) -> None:
        elements = math.prod(output.shape)
        cost = Cost(0, sum(item.size_bytes for item in inputs), output.size_bytes, elements)
        super().__init__(inputs, output, cost)
        self.stage = stage
        self._varying = [n for n, item in enumerate(inputs) if not isinstance(item, ScalarInput)]
        small = all(inputs[n].dtype.itemsize == 1 for n in self._varying)
        table = stage.table
        self._tabled = total and small and bool(self._varying) and (table is None or table.index.itemsize == 1)
        self._met = 0
        self._codes: Array | None = None

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        inputs = [item.load(machine, pointers) for item in self.inputs]
        if self._tabled:
            self._met += math.prod(self.output.shape)
            if self._met > self._code_count and self._build():
                return self._looked_up(inputs, machine)
        out = np.empty(self.output.shape, self.stage.dtype)
        for block in pieces(out.shape):
            out[block] = self.stage.finish(self._direct([part(values, block) for values in inputs]), machine.internal)
        return out

    def _direct(self, inputs: list[Array]) -> Ints:
        """The values before the output stage, int64, of operands in their own types."""
        raise NotImplementedError

    @property
    def _code_count(self) -> int:
        return 1 << 8 * len(self._varying)

    def _build(self) -> bool:
        """Work out the results of all codes, before an activation's table; False where one of them has none."""
        if self._codes is None:
            stage = self.stage
            if stage.table is not None:
                stage = replace(stage, table=None, dtype=stage.table.index)
            inputs = [np.asarray(item.value, np.int64) for item in self.inputs if isinstance(item, ScalarInput)]
            codes = np.arange(256, dtype=np.uint8)
            for place, number in enumerate(self._varying):
                axis = (-1, 1) if place == 0 and len(self._varying) == 2 else (-1,)
                inputs.insert(number, codes.view(self.inputs[number].dtype).reshape(axis))
            try:
                self._codes = stage.finish(self._direct(inputs), np.zeros(0, np.uint8)).reshape(-1)
            except NpuError:
                self._tabled = False
                return False
        return True

    def _looked_up(self, inputs: list[Array], machine: Machine) -> Array:
        assert self._codes is not None
        codes, table = self._codes, self.stage.table
        if table is not None:
            entries = table.entries(machine.internal)
            # Tables of signed indices begin at the lowest one.
            codes = entries[codes.view(np.uint8) ^ (128 if table.index.kind == "i" else 0)]
        out = np.empty(self.output.shape, self.stage.dtype)
        for block in pieces(out.shape):
            index = [part(inputs[n], block).view(np.uint8) for n in self._varying]
            place = index[0] if len(index) == 1 else index[0].astype(np.intp) << 8 | index[1]
            out[block] = codes.take(place)
        return out


class UnaryElementwise(_Elementwise):
    """One input."""

    def __init__(self, source: Input, output: Output, stage: OutputStage, operation: Unary) -> None:
        super().__init__((source,), output, stage, total=True)
        self.operation = operation

    def _direct(self, inputs: list[Array]) -> Ints:
        return self.operation(_values(self.inputs[0], inputs[0], None))


class BinaryElementwise(_Elementwise):
    """Two inputs, each scaled on its own where the operation does that."""

    def __init__(
        self,
        first: Input,
        second: Input,
        output: Output,
        stage: OutputStage,
        scales: tuple[Scale | None, Scale | None],
        operation: Binary,
    ) -> None:
        # Operations that are refused for some operands must see the operands that there are.
        super().__init__((first, second), output, stage, total=operation in _TOTAL)
        self.scales = scales
        self.operation = operation

    def _direct(self, inputs: list[Array]) -> Ints:
        operands = zip(self.inputs, inputs, self.scales, strict=True)
        a, b = (_values(item, values, scale) for item, values, scale in operands)
        return self.operation(a, b)


def _values(item: Input, values: Array, scale: Scale | None) -> Ints:
    """An operand's elements without its zero point, scaled, as int64."""
    wide = values.astype(np.int64)
    if item.zero_point:
        wide -= item.zero_point
    return wide if scale is None else scale.apply(wide)
