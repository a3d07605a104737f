"""TOSA's integer operators in plain numpy: TABLE, RESCALE, RESHAPE, TRANSPOSE, IDENTITY. Slow, exact, and nothing else.

Source: TOSA 1.0 specification, ``apply_lookup_s``, ``apply_scale_32``, ``apply_scale_16`` and the RESCALE, TABLE pages;
its REQUIRE and saturation rules. Broken REQUIREs raise ``Unpredictable``: TOSA leaves the answer open there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.reference.graph import Graph, Op

Array = npt.NDArray[Any]
Int64 = npt.NDArray[np.int64]

INT16 = (-(1 << 15), (1 << 15) - 1)
INT32 = (-(1 << 31), (1 << 31) - 1)
TABLE_8_ENTRIES = 256
TABLE_16_NODES = 513


class Unpredictable(Exception):
    """A REQUIRE of the specification is broken: the answer is left open. The message says where."""


def lookup_8(codes: Array, table: Array) -> Array:
    """int8 TABLE. ``codes``: int8, any shape; ``table``: int8 [256], entry ``code + 128``; returns int8."""
    return np.asarray(table[codes.astype(np.int64) + 128])


def lookup_16(codes: Array, table: Array) -> Array:
    """int16 TABLE. ``codes``: int16; ``table``: int16 [513], node i at code ``128 i - 32768``; returns int32.

    Raises
    ------
    Unpredictable: a slope that these codes meet does not fit into int16.
    """
    x = codes.astype(np.int64)
    nodes = table.astype(np.int64)
    index, fraction = (x + 32768) >> 7, x & 0x7F
    slope = nodes[index + 1] - nodes[index]
    if slope.size and (slope.min() < INT16[0] or slope.max() > INT16[1]):
        worst = int(index.reshape(-1)[np.abs(slope).argmax()])
        raise Unpredictable(
            f"TABLE: the slope between nodes {worst} and {worst + 1} is {int(nodes[worst + 1] - nodes[worst])}, "
            f"outside int16"
        )
    # 16 bits and 7 bits of fraction.
    return np.asarray((nodes[index] << 7) + slope * fraction, dtype=np.int32)


def scale_32(value: Int64, multiplier: Int64, shift: Int64, rounding: str) -> Int64:
    """``apply_scale_32``: value * multiplier / 2^shift, rounded; all int64 arrays that broadcast.

    INEXACT_ROUND lets the implementation choose; here it is rounded as SINGLE_ROUND, as the reference model does.

    Raises
    ------
    Unpredictable: shift outside 2..62, negative multiplier, or a result outside int32.
    """
    if shift.min() < 2 or shift.max() > 62 or multiplier.min() < 0:
        raise Unpredictable("RESCALE: expected 2 <= shift <= 62 and multiplier >= 0")
    half = np.left_shift(np.int64(1), shift - 1)
    if rounding == "DOUBLE_ROUND":
        half = half + np.where(shift > 31, np.where(value >= 0, 1 << 30, -(1 << 30)), 0)
    result = np.right_shift(value * multiplier + half, shift)
    if result.size and (result.min() < INT32[0] or result.max() > INT32[1]):
        raise Unpredictable("RESCALE: a scaled value does not fit into int32")
    return np.asarray(result)


def scale_16(value: Int64, multiplier: Int64, shift: Int64) -> Int64:
    """``apply_scale_16``, for 48-bit values and 16-bit multipliers."""
    if shift.min() < 2 or shift.max() > 62 or multiplier.min() < 0:
        raise Unpredictable("RESCALE: expected 2 <= shift <= 62 and multiplier >= 0")
    result = np.right_shift(value * multiplier + np.left_shift(np.int64(1), shift - 1), shift)
    if result.size and (result.min() < INT32[0] or result.max() > INT32[1]):
        raise Unpredictable("RESCALE: a scaled value does not fit into int32")
    return np.asarray(result)


def rescale(op: Op, values: list[Array], dtype: str) -> Array:
    """RESCALE. ``values``: input, multiplier [1] or [C], shift, input zero point [1], output zero point [1]."""
    data, multiplier, shift, input_zp, output_zp = values
    attributes = op.attributes
    x = _wide(data, attributes["input_unsigned"]) - int(_wide(input_zp, attributes["input_unsigned"]).reshape(-1)[0])
    factor, places = multiplier.astype(np.int64), shift.astype(np.int64)
    if not attributes["per_channel"]:
        factor, places = factor.reshape(-1)[:1], places.reshape(-1)[:1]
    if attributes["scale32"]:
        scaled = scale_32(x, factor, places, attributes["rounding_mode"])
    else:
        scaled = scale_16(x, factor, places)
    scaled = scaled + int(_wide(output_zp, attributes["output_unsigned"]).reshape(-1)[0])
    signed = np.dtype(dtype)
    limits = np.iinfo(np.dtype(f"u{dtype}") if attributes["output_unsigned"] else signed)
    clipped = np.clip(scaled, int(limits.min), int(limits.max))
    # An unsigned result lives in a tensor of the signed type of the same width.
    return np.asarray(clipped.astype(limits.dtype).view(signed))


def _wide(array: Array, unsigned: bool) -> Int64:
    return (array.view(np.dtype(f"u{array.dtype.name}")) if unsigned else array).astype(np.int64)


def _table(graph: Graph, op: Op, values: list[Array]) -> Array:
    del graph, op
    data, table = values
    return lookup_8(data, table) if table.size == TABLE_8_ENTRIES else lookup_16(data, table)


def _rescale(graph: Graph, op: Op, values: list[Array]) -> Array:
    return rescale(op, values, graph.tensors[op.outputs[0]].dtype)


def _reshape(graph: Graph, op: Op, values: list[Array]) -> Array:
    return values[0].reshape(graph.tensors[op.outputs[0]].shape)


def _transpose(graph: Graph, op: Op, values: list[Array]) -> Array:
    del graph
    return np.ascontiguousarray(values[0].transpose(op.attributes["perms"]))


def _identity(graph: Graph, op: Op, values: list[Array]) -> Array:
    del graph, op
    return values[0]


OPERATORS: dict[str, Callable[[Graph, Op, list[Array]], Array]] = {
    "IDENTITY": _identity,
    "RESCALE": _rescale,
    "RESHAPE": _reshape,
    "TABLE": _table,
    "TRANSPOSE": _transpose,
}
CONSTANTS = frozenset({"CONST", "CONST_SHAPE"})
