"""Codes, domains, budgets and hints by themselves."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.judge.bits import distance_lsb, ordered_integers
from corstone.judge.budget import Budget, Region, default_budget
from corstone.judge.codes import dequantize, quantize
from corstone.judge.domain import Domain, spoilt_codes
from corstone.judge.hints import pattern_of_difference, untouched
from corstone.program import QParams


def q(scale: float, zero: int = 0, lo: int = -128, hi: int = 127) -> QParams:
    return QParams(scale, zero, lo, hi, "int8")


def test_rounding_is_half_to_even_and_saturates() -> None:
    values = np.array([0.5, 1.5, 2.5, -0.5, 1e9, -1e9, np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(quantize(values, q(1.0, 3)), [3, 5, 5, 3, 127, -128, 127, -128, 3])


@given(st.integers(-128, 127), st.floats(1e-6, 10), st.integers(-128, 127))
def test_every_code_survives_its_value(code: int, scale: float, zero: int) -> None:
    assert quantize(dequantize(np.array([code]), q(scale, zero)), q(scale, zero))[0] == code


@pytest.mark.parametrize(
    ("scale", "bits", "expected"),
    [
        (0.007839, 8, [-128]),
        (2 / 256, 8, []),
        (1 / 127, 8, []),
        (1 / 32767, 16, []),
        (2 / 65536, 16, []),
        (1.01 / 127.5, 8, []),
        (1.999 / 255, 8, [-128]),
    ],
)
def test_spoilt_codes_of_the_unit_domain(scale: float, bits: int, expected: list[int]) -> None:
    # At 1/127 the range is -127..127, as the policy that uses this scale has it.
    qparams = q(scale, 0, -127, 127) if scale == 1 / 127 else q(scale)
    if bits == 16:
        qparams = QParams(scale, 0, -32767, 32767, "int16")
    assert spoilt_codes(Domain(-1, 1), qparams).tolist() == expected


def test_open_and_infinite_domains() -> None:
    assert spoilt_codes(Domain(-1, 1, lo_open=True, hi_open=True), q(1.998 / 256)).tolist() == []
    assert spoilt_codes(Domain(-1, 1, lo_open=True, hi_open=True), q(2 / 256)).tolist() == [-128]
    assert spoilt_codes(Domain(), q(1.0)).tolist() == []
    assert not Domain(0, 1).holds(np.array([math.nan]))[0]


def test_budget_needs_a_reason_and_a_range() -> None:
    with pytest.raises(ValueError, match="reason"):
        Budget(Region(0, 1, "r"), 1.0, " ")
    with pytest.raises(ValueError, match="max_lsb"):
        Budget(Region(0, 1, "r"), math.nan, "x")
    with pytest.raises(ValueError, match="lo <= hi"):
        Region(1, 0, "r")
    assert default_budget(-128, 127).max_lsb == 16


def test_ulp_distance_counts_steps_across_zero() -> None:
    tiny = np.float32(1e-45)
    ends = np.array([tiny, -tiny, 0.0, -0.0], np.float32)
    assert ordered_integers(ends).tolist() == [1, -1, 0, 0]
    assert distance_lsb(ends[:1], ends[1:2], None)[0] == 2
    doubles = np.array([5e-324, -5e-324])
    assert ordered_integers(doubles).tolist() == [1, -1]


@pytest.mark.parametrize(
    ("got", "text"),
    [
        ([0, 0, 0, 0], "all zeros"),
        ([7, 7, 7, 7], "every element is 7"),
        ([9, 1, 2, 3], "shifted by +1"),
        ([2, 3, 4, 9], "shifted by -1"),
        ([256, 512, 768, 1024], "swapped"),
        ([4, 3, 2, 1], "another order"),
        ([1, 2, 3, 5], ""),
    ],
)
def test_patterns(got: list[int], text: str) -> None:
    hints = pattern_of_difference(np.array([1, 2, 3, 4], np.int16), np.array(got, np.int16))
    assert (text in hints[0]) if text else not hints


def test_canary_says_all_tail_or_nothing() -> None:
    canary = b"\xa5\x17\x03"
    assert untouched(canary * 10, canary) == "all"
    assert untouched(b"x" * 10 + (canary * 10)[10:], canary) == "the last 20 of 30 bytes were never written"
    assert untouched(b"x" * 30, canary) == ""
    assert untouched(b"x" * 30, b"") == ""
