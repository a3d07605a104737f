"""The instruction set of Ethos-U55, U65 and U85 as tables of rows: code, name and field layout.

A row reads ``(code, name, kind, fields)``. ``kind`` says how the value travels: ``op`` starts an operation; ``param``
is the 16-bit parameter of a one-word command; ``address`` and ``stride`` are 40 bits (parameter [7:0] above the data
word), ``word`` is the data word, ``scale`` keeps the parameter's fields beside the data word. ``fields`` lists
``name:low-high`` bits of the parameter, with ``=enum`` where the value has names.
Source: ethos-u.md section 3 (ethos_u55_regs.py of Vela 5.1.0, ethos_u65/u85_interface.hpp of regor).
Leaves out what an operation does with its registers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Literal

Kind = Literal["op", "param", "address", "stride", "word", "scale"]
_Spec = tuple[int, str, Kind, str]

CMD1 = 0x400
"""Added to the 10-bit code of a two-word command, so that one number names a command."""

_ARITHMETIC = dict(enumerate(["MUL", "ADD", "SUB", "MIN", "MAX", "LRELU", "ABS", "CLZ", "SHR", "SHL"]))
ENUMS: dict[str, dict[int, str]] = {
    "bits": {0: "8", 1: "16", 2: "32", 3: "64"},
    "format": {0: "NHWC", 1: "NHCWB16"},
    "round55": {0: "DBL", 1: "TRUNCATE", 2: "NATURAL"},
    "round85": {
        0: "DOUBLE_SYMMETRIC",
        1: "NATURAL",
        2: "DOUBLE_ASYMMETRIC",
        3: "SYMMETRIC",
        4: "TRUNCATE",
        5: "TRUNCATE_TO_LOWER",
    },
    "inround85": {0: "DOUBLE_SYMMETRIC", 1: "NATURAL"},
    "scale_mode": {0: "OPA_OPB_16", 1: "OPA_32", 2: "OPB_32"},
    "global": {0: "PER_CHANNEL", 1: "GLOBAL"},
    "upscale": {0: "NONE", 1: "NEAREST", 2: "ZEROS"},
    "storage": {0: "TILE2X2", 1: "TILE3X1", 2: "CHAINED", 3: "NONE"},
    "reverse": {0: "NONE", 1: "H", 2: "W", 3: "C"},
    "transpose": {0: "HWC", 1: "WHC", 2: "HCW", 3: "WCH", 6: "CHW", 7: "CWH"},
    "acc55": {0: "I32", 1: "I40", 2: "F16"},
    "acc85": {0: "I32", 1: "I48"},
    "acc_input": {0: "RESET", 1: "KEEP", 2: "IFM2"},
    "microblock": {0: "1x1", 1: "1x2", 2: "1x4", 3: "2x2", 4: "2x4", 5: "4x4"},
    "act55": {0: "NONE", 3: "TANH", 4: "SIGMOID"} | {16 + n: f"TABLE_{n}" for n in range(8)},
    "clip55": {0: "OFM_PRECISION", 2: "FORCE_UINT8", 3: "FORCE_INT8", 5: "FORCE_INT16"},
    "act85": {
        0: "LUT_NONE",
        1: "LUT_U8_U8",
        4: "LUT_S8_S8",
        5: "LUT_S8_S16",
        7: "LUT_S8_S32",
        8: "LUT_S16_S16",
        9: "LUT_S16_S32",
        10: "LUT_TANH",
        11: "LUT_SIGMOID",
    },
    "clip85": {0: "B16", 1: "NONE"},
    "weights": {0: "SWD", 1: "FWD"},
    "dma": {0: "1D", 1: "2D", 2: "3D"},
    "pool55": {0: "MAX", 1: "AVERAGE", 2: "REDUCE_SUM"},
    "pool85": {
        0: "MAX",
        1: "AVERAGE",
        2: "REDUCE_SUM",
        3: "SUM",
        4: "NONE",
        5: "MIN",
        6: "ARGMAX_X",
        7: "ARGMAX_Y",
    },
    "elementwise55": _ARITHMETIC,
    "elementwise85": _ARITHMETIC
    | {10: "LSR", 11: "DIV", 16: "CMP_EQ", 17: "CMP_NE", 18: "CMP_GE", 19: "CMP_GT"}
    | {33: "AND", 34: "OR", 35: "XOR", 36: "NOT", 42: "AND_NOT"},
    "resize": {0: "BILINEAR", 1: "REPLICATE", 2: "NEAREST"},
    "branch": {0: "ALWAYS", 1: "RF_TRUE"},
}

_OPS: tuple[_Spec, ...] = (
    (0x000, "STOP", "op", "mask:0-15"),
    (0x001, "IRQ", "op", "mask:0-15"),
    (0x003, "DEPTHWISE", "op", ""),
    (0x010, "DMA_START", "op", ""),
    (0x011, "DMA_WAIT", "op", "outstanding:0-3"),
    (0x012, "KERNEL_WAIT", "op", "outstanding:0-3"),
    (0x013, "PMU_MASK", "op", "enable:0"),
)
_OPS_55: tuple[_Spec, ...] = (
    (0x002, "CONV", "op", ""),
    (0x005, "POOL", "op", "mode:0-2=pool55"),
    (0x006, "ELEMENTWISE", "op", "mode:0-5=elementwise55"),
)
_OPS_85: tuple[_Spec, ...] = (
    (0x002, "CONV", "op", "weights_ifm2:0"),
    (0x005, "POOL", "op", "mode:0-2=pool85"),
    (0x006, "ELEMENTWISE", "op", "mode:0-5=elementwise85"),
    (0x007, "RESIZE", "op", "mode:0-1=resize"),
    (CMD1 | 0x100, "BRANCH", "op", "condition:0=branch"),
)

_MAP_REGISTERS: tuple[tuple[int, str, Kind], ...] = (
    (0, "BASE0", "address"),
    (1, "BASE1", "address"),
    (2, "BASE2", "address"),
    (3, "BASE3", "address"),
    (4, "STRIDE_X", "stride"),
    (5, "STRIDE_Y", "stride"),
    (6, "STRIDE_C", "stride"),
)
_FEATURE_MAPS: tuple[_Spec, ...] = tuple(
    (CMD1 | (base + n), f"{tensor}_{name}", kind, "")
    for base, tensor in ((0x00, "IFM"), (0x10, "OFM"), (0x80, "IFM2"))
    for n, name, kind in _MAP_REGISTERS
)
_STATE: tuple[_Spec, ...] = (
    *_FEATURE_MAPS,
    (0x100, "IFM_PAD_TOP", "param", "value:0-6"),
    (0x101, "IFM_PAD_LEFT", "param", "value:0-6"),
    (0x102, "IFM_PAD_RIGHT", "param", "value:0-7"),
    (0x103, "IFM_PAD_BOTTOM", "param", "value:0-7"),
    (0x104, "IFM_DEPTH_M1", "param", "value:0-15"),
    (0x107, "IFM_UPSCALE", "param", "mode:0-1=upscale"),
    (0x109, "IFM_ZERO_POINT", "param", "value:0-15"),
    (0x10A, "IFM_WIDTH0_M1", "param", "value:0-15"),
    (0x10B, "IFM_HEIGHT0_M1", "param", "value:0-15"),
    (0x10C, "IFM_HEIGHT1_M1", "param", "value:0-15"),
    (0x10F, "IFM_REGION", "param", "value:0-2"),
    (0x111, "OFM_WIDTH_M1", "param", "value:0-15"),
    (0x112, "OFM_HEIGHT_M1", "param", "value:0-15"),
    (0x113, "OFM_DEPTH_M1", "param", "value:0-15"),
    (0x118, "OFM_ZERO_POINT", "param", "value:0-15"),
    (0x11A, "OFM_WIDTH0_M1", "param", "value:0-15"),
    (0x11B, "OFM_HEIGHT0_M1", "param", "value:0-15"),
    (0x11C, "OFM_HEIGHT1_M1", "param", "value:0-15"),
    (0x11F, "OFM_REGION", "param", "value:0-2"),
    (0x120, "KERNEL_WIDTH_M1", "param", "value:0-15"),
    (0x121, "KERNEL_HEIGHT_M1", "param", "value:0-15"),
    (
        0x122,
        "KERNEL_STRIDE",
        "param",
        "x_lsb:0 y_lsb:1 part_kernel:2 dilation_x:3 dilation_y:4 decomposition4x4:5 x_msb:6 y_msb:9",
    ),
    (0x126, "ACTIVATION_MIN", "param", "value:0-15"),
    (0x127, "ACTIVATION_MAX", "param", "value:0-15"),
    (0x128, "WEIGHT_REGION", "param", "value:0-2"),
    (0x129, "SCALE_REGION", "param", "value:0-2"),
    (0x12F, "BLOCKDEP", "param", "value:0-2"),
    (0x189, "IFM2_ZERO_POINT", "param", "value:0-15"),
    (0x18A, "IFM2_WIDTH0_M1", "param", "value:0-15"),
    (0x18B, "IFM2_HEIGHT0_M1", "param", "value:0-15"),
    (0x18C, "IFM2_HEIGHT1_M1", "param", "value:0-15"),
    (0x18F, "IFM2_REGION", "param", "value:0-2"),
    (CMD1 | 0x20, "WEIGHT_BASE", "address", ""),
    (CMD1 | 0x21, "WEIGHT_LENGTH", "word", ""),
    (CMD1 | 0x22, "SCALE_BASE", "address", ""),
    (CMD1 | 0x23, "SCALE_LENGTH", "word", ""),
    (CMD1 | 0x30, "DMA0_SRC", "address", ""),
    (CMD1 | 0x31, "DMA0_DST", "address", ""),
    (CMD1 | 0x32, "DMA0_LEN", "address", ""),
    (CMD1 | 0x90, "WEIGHT1_BASE", "address", ""),
    (CMD1 | 0x91, "WEIGHT1_LENGTH", "word", ""),
)

_STATE_55: tuple[_Spec, ...] = (
    (
        0x105,
        "IFM_PRECISION",
        "param",
        "signed:0 bits:2-3=bits format:6-7=format scale_mode:8-9=scale_mode round:14-15=round55",
    ),
    (0x10D, "IFM_IB_END", "param", "value:0-5"),
    (0x114, "OFM_PRECISION", "param", "signed:0 bits:1-2=bits format:6-7=format scale:8=global round:14-15=round55"),
    (0x115, "OFM_BLK_WIDTH_M1", "param", "value:0-5"),
    (0x116, "OFM_BLK_HEIGHT_M1", "param", "value:0-4"),
    (0x117, "OFM_BLK_DEPTH_M1", "param", "value:0-6"),
    (0x124, "ACC_FORMAT", "param", "format:0-1=acc55"),
    (0x125, "ACTIVATION", "param", "function:0-4=act55 clip:12-14=clip55"),
    (0x12D, "AB_START", "param", "value:0-5"),
    (0x180, "IFM2_BROADCAST", "param", "h:0 w:1 c:2 swap:6 scalar:7"),
    (0x181, "IFM2_SCALAR", "param", "value:0-15"),
    (0x185, "IFM2_PRECISION", "param", "signed:0 bits:2-3=bits format:6-7=format"),
    (0x18D, "IFM2_IB_START", "param", "value:0-5"),
    (CMD1 | 0x24, "OFM_SCALE", "scale", "shift:0-5"),
    (CMD1 | 0x25, "OPA_SCALE", "scale", "shift:0-5"),
    (CMD1 | 0x26, "OPB_SCALE", "scale", ""),
)
_DMA_55: tuple[_Spec, ...] = (
    (0x130, "DMA0_SRC_REGION", "param", "region:0-2 internal:8"),
    (0x131, "DMA0_DST_REGION", "param", "region:0-2 internal:8"),
)
_STATE_65: tuple[_Spec, ...] = (
    (0x123, "PARALLEL_MODE", "param", "depth_split:0"),
    (0x130, "DMA0_SRC_REGION", "param", "region:0-2 internal:8 stride:9-10=dma"),
    (0x131, "DMA0_DST_REGION", "param", "region:0-2 internal:8 stride:9-10=dma"),
    (0x132, "DMA0_SIZE0", "param", "value:0-15"),
    (0x133, "DMA0_SIZE1", "param", "value:0-15"),
    (CMD1 | 0x33, "DMA0_SKIP0", "stride", ""),
    (CMD1 | 0x34, "DMA0_SKIP1", "stride", ""),
    (CMD1 | 0x92, "SCALE1_BASE", "address", ""),
    (CMD1 | 0x93, "SCALE1_LENGTH", "word", ""),
)
_STATE_85: tuple[_Spec, ...] = (
    (0x105, "IFM_PRECISION", "param", "signed:0 bits:2-3=bits format:6-7=format storage:14-15=storage"),
    (0x108, "IFM_BROADCAST", "param", "h:0 w:1 c:2 scalar:3"),
    (
        0x114,
        "OFM_PRECISION",
        "param",
        (
            "signed:0 bits:1-2=bits format:6-7=format scale:8=global reverse:9-10=reverse "
            "transpose:11-13=transpose storage:14-15=storage"
        ),
    ),
    (0x115, "OFM_BLK_WIDTH_M1", "param", "value:0-6"),
    (0x116, "OFM_BLK_HEIGHT_M1", "param", "value:0-6"),
    (0x117, "OFM_BLK_DEPTH_M1", "param", "value:0-9"),
    (
        0x124,
        "ACC_FORMAT",
        "param",
        "format:0-1=acc85 input:4-5=acc_input output_off:6 microblock:8-10=microblock",
    ),
    (0x125, "ACTIVATION", "param", "function:0-4=act85 table:5-7 clip:12=clip85"),
    (0x12A, "RESIZE_X_SCALE_N_M1", "param", "value:0-10"),
    (0x12B, "RESIZE_Y_SCALE_N_M1", "param", "value:0-10"),
    (0x12C, "RESIZE_X_OFFSET", "param", "value:0-15"),
    (0x12D, "RESIZE_Y_OFFSET", "param", "value:0-15"),
    (0x12E, "WEIGHT_FORMAT", "param", "format:0=weights sparse:4"),
    (0x130, "DMA0_SRC_REGION", "param", "region:0-2 internal:8 stride:9-10=dma indexed:11"),
    (0x131, "DMA0_DST_REGION", "param", "region:0-2 internal:8 indexed:11"),
    (0x132, "DMA0_SIZE0", "param", "value:0-15"),
    (0x133, "DMA0_SIZE1", "param", "value:0-15"),
    (0x134, "DMA0_IDX_REGION", "param", "value:0-2"),
    (0x180, "IFM2_BROADCAST", "param", "h:0 w:1 c:2 scalar:3"),
    (0x185, "IFM2_PRECISION", "param", "signed:0 bits:2-3=bits format:6-7=format storage:14-15=storage"),
    (CMD1 | 0x24, "OFM_SCALE", "scale", "shift:0-5 dbl_rnd:6-10 round:13-15=round85"),
    (CMD1 | 0x25, "IFM_SCALE", "scale", "shift:0-5 dbl_rnd:6-10 round:13=inround85"),
    (CMD1 | 0x26, "IFM2_SCALE", "scale", "shift:0-5 dbl_rnd:6-10 round:13=inround85"),
    (CMD1 | 0x27, "OP_SCALAR", "word", ""),
    (CMD1 | 0x33, "DMA0_SRC_STRIDE0", "stride", ""),
    (CMD1 | 0x34, "DMA0_SRC_STRIDE1", "stride", ""),
    (CMD1 | 0x35, "DMA0_DST_STRIDE0", "stride", ""),
    (CMD1 | 0x36, "DMA0_DST_STRIDE1", "stride", ""),
    (CMD1 | 0x37, "DMA0_IDX", "address", ""),
    (CMD1 | 0x38, "DMA0_IDX_MAX", "word", ""),
    (CMD1 | 0x39, "DMA0_IDX_SKIP1", "stride", ""),
    (CMD1 | 0x92, "WEIGHT2_BASE", "address", ""),
    (CMD1 | 0x93, "WEIGHT2_LENGTH", "word", ""),
    (CMD1 | 0x94, "WEIGHT3_BASE", "address", ""),
    (CMD1 | 0x95, "WEIGHT3_LENGTH", "word", ""),
    (CMD1 | 0x96, "RESIZE_X", "scale", "one_step_int:0-3 blk_step_int:4-14"),
    (CMD1 | 0x97, "RESIZE_Y", "scale", "one_step_int:0-3 blk_step_int:4-14"),
)

PRODUCTS: dict[str, tuple[_Spec, ...]] = {
    "U55": _OPS + _OPS_55 + _STATE + _STATE_55 + _DMA_55,
    "U65": _OPS + _OPS_55 + _STATE + _STATE_55 + _STATE_65,
    "U85": _OPS + _OPS_85 + _STATE + _STATE_85,
}


@dataclass(frozen=True)
class Field:
    """Bits ``low`` to ``low + width - 1`` of a parameter; ``names`` where the values have names."""

    name: str
    low: int
    width: int
    names: dict[int, str] | None = None

    @cached_property
    def mask(self) -> int:
        """As many ones as the field has bits."""
        return (1 << self.width) - 1

    def of(self, param: int) -> int:
        """The field's number in a parameter."""
        return (param >> self.low) & self.mask


@dataclass(frozen=True)
class Row:
    """One command of one product."""

    code: int
    name: str
    kind: Kind
    fields: tuple[Field, ...]
    index: int = -1
    by_name: dict[str, Field] = field(default_factory=dict)

    @property
    def allowed(self) -> int:
        """The parameter bits that have a meaning; the sign of a 40-bit stride may fill the parameter."""
        if self.kind in ("address", "stride", "word"):
            return 0xFFFF
        return sum(((1 << f.width) - 1) << f.low for f in self.fields)

    def operands(self, param: int, data: int) -> dict[str, object]:
        """The command's fields with names for numbers that have them, in the order of the table."""
        if self.kind == "address":
            return {"value": address(param, data)}
        if self.kind == "stride":
            return {"value": signed40(param, data)}
        if self.kind == "word":
            return {"value": data}
        shown: dict[str, object] = {}
        for item in self.fields:
            number = item.of(param)
            shown[item.name] = item.names.get(number, number) if item.names else number
        if self.kind == "scale":
            shown["value"] = data
        elif self.code == CMD1 | 0x100:
            shown["target"] = data
        return shown


def address(param: int, data: int) -> int:
    """A 40-bit unsigned value of a two-word command."""
    return data | (param & 0xFF) << 32


def signed40(param: int, data: int) -> int:
    """A 40-bit signed value of a two-word command."""
    value = address(param, data)
    return value - (1 << 40) if value >> 39 else value


@dataclass(frozen=True)
class InstructionSet:
    """All commands of a product, by code and by name."""

    product: str
    rows: tuple[Row, ...]

    @cached_property
    def by_code(self) -> dict[int, Row]:
        """Rows by code, two-word codes with ``CMD1`` added."""
        return {row.code: row for row in self.rows}

    @cached_property
    def by_name(self) -> dict[str, Row]:
        """Rows by name."""
        return {row.name: row for row in self.rows}

    @cached_property
    def registers(self) -> tuple[str, ...]:
        """Names of the state registers in the order of their dense index."""
        return tuple(row.name for row in self.rows if row.kind != "op")


def _field(text: str) -> Field:
    name, _, rest = text.partition(":")
    bits, _, enum = rest.partition("=")
    low, _, high = bits.partition("-")
    return Field(name, int(low), int(high or low) - int(low) + 1, ENUMS[enum] if enum else None)


@cache
def instruction_set(product: str) -> InstructionSet:
    """The tables of ``U55``, ``U65`` or ``U85``."""
    rows = []
    state = 0
    for code, name, kind, spec in PRODUCTS[product]:
        fields = tuple(_field(text) for text in spec.split())
        rows.append(Row(code, name, kind, fields, -1 if kind == "op" else state, {f.name: f for f in fields}))
        state += kind != "op"
    return InstructionSet(product, tuple(rows))
