"""TABLE and RESCALE against vectors worked out by hand from the specification's pseudo code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.reference.graph import Op
from corstone.reference.operators import Unpredictable, lookup_8, lookup_16, rescale, scale_32


def wide(*values: int) -> Any:
    return np.array(values, np.int64)


def rescale_op(**attributes: Any) -> Op:
    defaults = {
        "scale32": True,
        "rounding_mode": "SINGLE_ROUND",
        "per_channel": False,
        "input_unsigned": False,
        "output_unsigned": False,
    }
    return Op("RESCALE", ("x", "m", "s", "a", "b"), ("y",), defaults | attributes)


def test_int8_table_is_a_look_up_by_code_plus_128() -> None:
    table = np.arange(-128, 128).astype(np.int8)[::-1].copy()
    assert lookup_8(np.array([-128, 0, 127], np.int8), table).tolist() == [127, -1, -128]


def test_int16_table_interpolates_with_seven_bits() -> None:
    nodes = np.zeros(513, np.int16)
    nodes[256], nodes[257] = 100, 228
    # Code 0 is node 256; code 64 halfway to the next; code 127 one step before it.
    assert lookup_16(np.array([0, 64, 127], np.int16), nodes).tolist() == [100 << 7, 164 << 7, (100 << 7) + 128 * 127]


def test_int16_table_uses_the_last_node_for_the_last_codes() -> None:
    nodes = np.linspace(-32768, 32767, 513).astype(np.int16)
    nodes[512] = 0
    low, high = lookup_16(np.array([32640, 32767], np.int16), nodes).tolist()
    assert low == int(nodes[511]) << 7
    assert high == (int(nodes[511]) << 7) - int(nodes[511]) * 127


def test_a_slope_outside_int16_is_unpredictable_only_where_a_code_meets_it() -> None:
    nodes = np.zeros(513, np.int16)
    nodes[10], nodes[11] = -32768, 32767
    inside = np.array([128 * 10 - 32768 + 1], np.int16)
    with pytest.raises(Unpredictable, match="nodes 10 and 11 is 65535"):
        lookup_16(inside, nodes)
    # Fraction 0 takes the slope in all the same: the specification's REQUIRE stands before the multiplication.
    with pytest.raises(Unpredictable):
        lookup_16(np.array([128 * 10 - 32768], np.int16), nodes)
    assert lookup_16(np.array([0], np.int16), nodes).tolist() == [0]


@pytest.mark.parametrize(
    ("value", "multiplier", "shift", "rounding", "expected"),
    [
        (3, 1 << 30, 31, "SINGLE_ROUND", 2),  # 1.5 goes up
        (-3, 1 << 30, 31, "SINGLE_ROUND", -1),  # -1.5 goes up, too
        (1, 1 << 30, 32, "SINGLE_ROUND", 0),
        (3, 1 << 30, 32, "DOUBLE_ROUND", 1),  # 0.75
        (-3, 1 << 30, 32, "DOUBLE_ROUND", -1),
        (127, 0x40383800, 30, "SINGLE_ROUND", 127),  # 127.4: the requantization of acos in int8
        (-128, 0x40383800, 30, "SINGLE_ROUND", -128),
        (1 << 20, 5, 2, "SINGLE_ROUND", 5 << 18),
    ],
)
def test_scale_32_rounds_as_specified(value: int, multiplier: int, shift: int, rounding: str, expected: int) -> None:
    assert scale_32(wide(value), wide(multiplier), wide(shift), rounding).tolist() == [expected]


@pytest.mark.parametrize(("multiplier", "shift", "value"), [(1, 1, 1), (1, 63, 1), (-1, 10, 1), (1 << 30, 2, 1 << 20)])
def test_scale_32_outside_its_range_is_unpredictable(multiplier: int, shift: int, value: int) -> None:
    with pytest.raises(Unpredictable):
        scale_32(wide(value), wide(multiplier), wide(shift), "SINGLE_ROUND")


@given(
    st.integers(-(1 << 31), (1 << 31) - 1),
    st.integers(0, (1 << 31) - 1),
    st.integers(31, 62),
    st.sampled_from(["SINGLE_ROUND", "DOUBLE_ROUND"]),
)
def test_scale_32_equals_exact_arithmetic(value: int, multiplier: int, shift: int, rounding: str) -> None:
    half = 1 << (shift - 1)
    if rounding == "DOUBLE_ROUND" and shift > 31:
        half += 1 << 30 if value >= 0 else -(1 << 30)
    # Python's integers do not overflow, and >> rounds down as the specification's arithmetic shift.
    expected = (value * multiplier + half) >> shift
    assert scale_32(wide(value), wide(multiplier), wide(shift), rounding).tolist() == [expected]


def test_rescale_takes_zero_points_off_and_on_and_saturates() -> None:
    x = np.array([-128, 0, 127], np.int8)
    values: list[Any] = [x, np.array([1 << 30], np.int32), np.array([29], np.int8), np.array([-128], np.int8)]
    result = rescale(rescale_op(), [*values, np.array([-100], np.int8)], "int8")
    assert result.dtype == np.int8
    assert result.tolist() == [-100, 127, 127]


def test_rescale_per_channel_takes_the_last_dimension() -> None:
    x = np.ones((2, 3), np.int32) * 8
    multipliers, shifts = np.array([1 << 30] * 3, np.int32), np.array([30, 31, 32], np.int8)
    zero = np.array([0], np.int32)
    result = rescale(rescale_op(per_channel=True), [x, multipliers, shifts, zero, zero.astype(np.int16)], "int16")
    assert result.tolist() == [[8, 4, 2]] * 2


def test_rescale_of_unsigned_codes_keeps_their_meaning() -> None:
    x = np.array([200], np.uint8).view(np.int8)
    values: list[Any] = [x, np.array([1 << 30], np.int32), np.array([30], np.int8)]
    signed = [*values, np.array([128], np.uint8).view(np.int8), np.array([0], np.int8)]
    assert rescale(rescale_op(input_unsigned=True), signed, "int8").tolist() == [72]
    to_unsigned = [np.array([100], np.int8), *values[1:], np.array([0], np.int8), np.array([-56], np.int8)]
    assert rescale(rescale_op(output_unsigned=True), to_unsigned, "int8").view(np.uint8).tolist() == [255]
