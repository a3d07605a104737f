"""Inputs and outputs of an operation, built from its registers: feature maps in memory, chained, or scalar.

Source: ethos-u.md sections 3.2 to 3.4, 4 and 8.3 (which registers a form needs). Leaves out arithmetic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.state import UNSET, Registers
from corstone.emulator.npu.tensor import Geometry, geometry
from corstone.emulator.npu.types import Array, DType

Shape = tuple[int, int, int]

_TRANSPOSES: dict[str, tuple[int, int, int]] = {
    "HWC": (0, 1, 2),
    "WHC": (1, 0, 2),
    "HCW": (0, 2, 1),
    "WCH": (1, 2, 0),
    "CHW": (2, 0, 1),
    "CWH": (2, 1, 0),
}
_REVERSED_AXIS = {"H": 0, "W": 1, "C": 2}


class Input(Protocol):
    """Where the elements of one operand come from."""

    @property
    def dtype(self) -> DType:
        """The element type."""
        ...

    @property
    def shape(self) -> Shape:
        """Height, width and depth, 1 where broadcast."""
        ...

    @property
    def zero_point(self) -> int:
        """What is subtracted from every element."""
        ...

    @property
    def size_bytes(self) -> int:
        """Bytes it reads from memory."""
        ...

    def load(self, machine: Machine, pointers: list[int], /) -> Array:
        """Its elements, ``[H, W, C]`` (1 where broadcast), in its own type; not to be written to."""
        ...


@dataclass(frozen=True)
class MemoryInput:
    """A feature map in memory; ``first`` is the place of its BASE0 among the pointers."""

    geometry: Geometry
    zero_point: int
    region: int
    first: int

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.geometry.dtype

    @property
    def shape(self) -> Shape:
        """Height, width and depth."""
        return self.geometry.shape

    @property
    def size_bytes(self) -> int:
        """See ``Input``."""
        return self.geometry.size_bytes

    def bases(self, pointers: list[int]) -> tuple[int, ...]:
        """The four tile addresses."""
        return tile_addresses(self.geometry, self.region, pointers[self.first : self.first + 4])

    def load(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Input``."""
        return self.geometry.read(machine.memory, self.bases(pointers))


@dataclass(frozen=True)
class ChainInput:
    """A feature map that an earlier operation handed over."""

    buffer: int
    shape: Shape
    dtype: DType
    zero_point: int
    size_bytes: int = 0

    def load(self, machine: Machine, _pointers: list[int]) -> Array:
        """See ``Input``."""
        values = machine.chains.get(self.buffer)
        if values is None:
            raise NpuError("parse", f"chain buffer {self.buffer} is read before it was written")
        if values.shape != self.shape or values.dtype != self.dtype:
            raise NpuError(
                "parse",
                f"chain buffer {self.buffer} holds {values.dtype} {values.shape}, read as {self.dtype} {self.shape}",
            )
        return values


@dataclass(frozen=True)
class ScalarInput:
    """A constant from a register, in the operand's type but held in 64 bits."""

    value: int
    dtype: DType
    zero_point: int
    size_bytes: int = 0
    shape: Shape = (1, 1, 1)

    def load(self, _machine: Machine, _pointers: list[int]) -> Array:
        """See ``Input``."""
        return np.full((1, 1, 1), self.value, np.int64)


def tile_addresses(layout: Geometry, region: int, offsets: list[int]) -> tuple[int, ...]:
    """Tile base addresses from the base registers.

    Raises
    ------
    NpuError: kind ``parse``, when the base of a tile that is used was never set.
    """
    for tile, _ in layout.tiles:
        if offsets[tile] == UNSET:
            raise NpuError("parse", f"{layout.name}_BASE{tile} was never set")
    return tuple(region + offset for offset in offsets)


def element_type(regs: Registers, name: str) -> DType:
    """The type that a precision register describes."""
    kind = "i" if regs.field(name, "signed") else "u"
    return np.dtype(f"<{kind}{int(regs.choice(name, 'bits')) // 8}")


def zero_point(regs: Registers, name: str, dtype: DType) -> int:
    """A zero point: 16 bits, signed where the data are."""
    return as_type(regs[name], dtype)


def as_type(value: int, dtype: DType) -> int:
    """A 16-bit register as a number of the data's signedness."""
    return value - 0x10000 if dtype.kind == "i" and value & 0x8000 else value


def check_size(machine: Machine, name: str, shape: Shape) -> None:
    """Refuse feature maps that are too large, before anything is allocated.

    An IFM may be empty: Vela's stripes reach rows that lie in the padding altogether.
    """
    if math.prod(shape) > machine.limits.elements:
        raise NpuError("limit", f"{name} of {shape} has more than {machine.limits.elements} elements")


def build_input(machine: Machine, regs: Registers, name: str, shape: Shape) -> MemoryInput | ChainInput:
    """The IFM or IFM2 (``name``) of ``shape``, in memory or chained.

    Raises
    ------
    NpuError: kind ``parse`` for registers never set, ``unsupported`` for TILE3X1, ``limit`` for its size.
    """
    check_size(machine, name, shape)
    precision = f"{name}_PRECISION"
    dtype = element_type(regs, precision)
    zero = zero_point(regs, f"{name}_ZERO_POINT", dtype)
    if _storage(regs, precision) == "CHAINED":
        return ChainInput(regs[f"{name}_REGION"], shape, dtype, zero)
    layout = _layout(regs, name, dtype, shape)
    return MemoryInput(layout, zero, machine.region(regs[f"{name}_REGION"]), machine.pointer[f"{name}_BASE0"])


def broadcast_shape(regs: Registers, name: str, shape: Shape) -> Shape:
    """The shape of an elementwise input: the OFM's, 1 in broadcast dimensions."""
    register = f"{name}_BROADCAST"
    ones = [regs.field(register, axis) for axis in "hwc"]
    return (1 if ones[0] else shape[0], 1 if ones[1] else shape[1], 1 if ones[2] else shape[2])


def _storage(regs: Registers, precision: str) -> str:
    row = "storage"
    if regs.flag(precision, row, default=-1) == -1:
        return "TILE2X2"
    storage = regs.choice(precision, row)
    if storage == "TILE3X1":
        raise NpuError("unsupported", f"{precision}: TILE3X1 storage is not modelled")
    return storage


def is_scalar(regs: Registers, name: str) -> bool:
    """Whether an input's storage says that it has no place in memory (U85)."""
    return _storage(regs, f"{name}_PRECISION") == "NONE"


def _layout(regs: Registers, name: str, dtype: DType, shape: Shape) -> Geometry:
    bricks = regs.choice(f"{name}_PRECISION", "format") == "NHCWB16"
    # The stride that a format does not use may be unset (ethos-u.md 8.3); the chosen one must be there.
    x_stride = regs.get(f"{name}_STRIDE_X", 0) if bricks else regs[f"{name}_STRIDE_X"]
    c_stride = regs[f"{name}_STRIDE_C"] if bricks else regs.get(f"{name}_STRIDE_C", 0)
    return geometry(
        name,
        dtype,
        shape,
        bricks=bricks,
        strides=(regs[f"{name}_STRIDE_Y"], x_stride, c_stride),
        width0=regs[f"{name}_WIDTH0_M1"] + 1,
        height0=regs[f"{name}_HEIGHT0_M1"] + 1,
        height1=regs[f"{name}_HEIGHT1_M1"] + 1,
    )


NOWHERE = -2
"""The ``chain`` of an output that only stays in the accumulators; that of one in memory is -1."""


@dataclass(frozen=True)
class Output:
    """Where a result goes: memory, permuted and reversed on the way, a chain buffer (``chain`` >= 0), or nowhere: it
    stays in the accumulators.

    Shapes: ``shape`` is the result's [H, W, C]; ``geometry`` is that of the stored tensor.
    """

    shape: Shape
    dtype: DType
    geometry: Geometry | None
    region: int
    first: int
    chain: int
    axes: tuple[int, int, int]
    reverse: int | None

    @property
    def nowhere(self) -> bool:
        """Whether the operation has no OFM."""
        return self.chain == NOWHERE

    @property
    def where(self) -> str:
        """In words."""
        if self.geometry is not None:
            return "an OFM in memory"
        return "no OFM" if self.nowhere else "a chained OFM"

    @property
    def size_bytes(self) -> int:
        """Bytes it writes to memory."""
        return 0 if self.geometry is None else self.geometry.size_bytes

    @property
    def plain(self) -> bool:
        """Whether the result is stored in memory as it is."""
        return self.geometry is not None and self.axes == (0, 1, 2) and self.reverse is None

    def bases(self, pointers: list[int]) -> tuple[int, ...]:
        """The four tile addresses; only for outputs in memory."""
        assert self.geometry is not None
        return tile_addresses(self.geometry, self.region, pointers[self.first : self.first + 4])

    def store(self, machine: Machine, pointers: list[int], values: Array) -> None:
        """Store ``values: [H, W, C]`` of the output's type."""
        if self.geometry is None:
            machine.chains[self.chain] = values
            return
        stored = values.transpose(self.axes)
        if self.reverse is not None:
            stored = np.flip(stored, self.reverse)
        self.geometry.write(machine.memory, self.bases(pointers), stored)


def build_output(machine: Machine, regs: Registers, *, nowhere: bool = False) -> Output:
    """The OFM; ``nowhere``: the operation can leave its sums in the accumulators instead.

    Raises
    ------
    NpuError: kind ``parse`` for registers never set, ``unsupported`` for forms that Vela does not write.
    """
    shape = (regs["OFM_HEIGHT_M1"] + 1, regs["OFM_WIDTH_M1"] + 1, regs["OFM_DEPTH_M1"] + 1)
    check_size(machine, "OFM", shape)
    dtype = element_type(regs, "OFM_PRECISION")
    storage = _storage(regs, "OFM_PRECISION")
    transpose, reverse = "HWC", "NONE"
    if machine.config.ofm_permutes:
        transpose = regs.choice("OFM_PRECISION", "transpose")
        reverse = regs.choice("OFM_PRECISION", "reverse")
    permuted = transpose != "HWC" or reverse != "NONE"
    if storage == "NONE" and not nowhere:
        raise NpuError("unsupported", "an OFM without storage is not modelled for this operation")
    if storage == "NONE":
        return Output(shape, dtype, None, 0, 0, NOWHERE, (0, 1, 2), None)
    if storage == "CHAINED":
        if permuted:
            raise NpuError("unsupported", "a chained OFM with transpose or reverse is not modelled")
        return Output(shape, dtype, None, 0, 0, regs["OFM_REGION"], (0, 1, 2), None)
    if transpose != "HWC" and reverse != "NONE":
        raise NpuError("unsupported", "an OFM with both transpose and reverse is not modelled")
    axes = _TRANSPOSES[transpose]
    stored = (shape[axes[0]], shape[axes[1]], shape[axes[2]])
    layout = _layout(regs, "OFM", dtype, stored)
    region = machine.region(regs["OFM_REGION"])
    return Output(shape, dtype, layout, region, machine.pointer["OFM_BASE0"], -1, axes, _REVERSED_AXIS.get(reverse))
