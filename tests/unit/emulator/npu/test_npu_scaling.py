"""Rounding: every mode against its definition in fractions, both forms of the output stage against each other."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.lut import Table
from corstone.emulator.npu.output import ChannelScale, OutputStage, float_finish, read_records
from corstone.emulator.npu.scaling import Rounding, Scale, reciprocal, scale_round

VALUES = st.lists(st.integers(-(1 << 40), 1 << 40), min_size=1, max_size=30)
NO_TABLES = np.zeros(2048, np.uint8)


def by_definition(value: int, multiplier: int, shift: int, rounding: Rounding, dbl_rnd: int) -> int:
    exact = Fraction(value * multiplier, 1 << shift)
    if rounding is Rounding.LOWER:
        return math.floor(exact)
    if rounding is Rounding.TRUNCATE:
        return math.trunc(exact)
    if rounding is Rounding.SYMMETRIC:
        return int(math.copysign(1, exact)) * math.floor(abs(exact) + Fraction(1, 2)) if shift else int(exact)
    half = Fraction(1, 2) if shift else Fraction(0)
    extra = Fraction(0)
    if rounding is not Rounding.NATURAL and shift > 31 - dbl_rnd:
        extra = Fraction(1 << (30 - dbl_rnd), 1 << shift)
        if rounding is Rounding.DBL and value < 0:
            extra = -extra
    return math.floor(exact + half + extra)


@given(VALUES, st.integers(0, (1 << 32) - 1), st.integers(0, 63), st.sampled_from(Rounding), st.integers(0, 30))
@settings(max_examples=300, deadline=None)
def test_every_mode_is_its_definition(
    values: list[int], multiplier: int, shift: int, rounding: Rounding, dbl_rnd: int
) -> None:
    wanted = [by_definition(v, multiplier, shift, rounding, dbl_rnd) for v in values]
    array = np.array(values, np.int64)
    if any(abs(w) >= 1 << 63 for w in wanted):
        with pytest.raises(NpuError, match="64 bits"):
            scale_round(array, multiplier, shift, rounding, dbl_rnd)
    else:
        assert scale_round(array, multiplier, shift, rounding, dbl_rnd).tolist() == wanted


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_arrays_of_scales_are_as_one_at_a_time(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    multipliers = data.draw(st.lists(st.integers(0, (1 << 31) - 1), min_size=count, max_size=count))
    shifts = data.draw(st.lists(st.integers(0, 62), min_size=count, max_size=count))
    values = np.array(data.draw(st.lists(st.integers(-(1 << 31), 1 << 31), min_size=count, max_size=count)), np.int64)
    rounding = data.draw(st.sampled_from(Rounding))
    together = scale_round(values, np.array(multipliers), np.array(shifts), rounding)
    apart = [int(scale_round(values[n : n + 1], multipliers[n], shifts[n], rounding)[0]) for n in range(count)]
    assert together.tolist() == apart


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(1 << 30, (1 << 31) - 1), st.integers(32, 50))
@settings(max_examples=400, deadline=None)
def test_double_rounding_is_tflite_in_two_steps(value: int, multiplier: int, shift: int) -> None:
    # SaturatingRoundingDoublingHighMul, then RoundingDivideByPOT with halves away from zero.
    product = value * multiplier
    nudge = 1 << 30 if product >= 0 else 1 - (1 << 30)
    high = math.trunc(Fraction(product + nudge, 1 << 31))
    exponent = shift - 31
    remainder, threshold = high & ((1 << exponent) - 1), ((1 << exponent) - 1) // 2 + (high < 0)
    wanted = (high >> exponent) + (remainder > threshold)
    assert scale_round(np.array([value]), multiplier, shift, Rounding.DBL).tolist() == [wanted]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 9, 16, 49, 64])
def test_reciprocals_round_as_tosa_does(count: int) -> None:
    multiplier, shift = reciprocal(count)
    sums = np.arange(-128 * count, 128 * count, dtype=np.int64)
    got = scale_round(sums, multiplier, shift, Rounding.NATURAL)
    # AVG_POOL2D of the TOSA specification 1.0: reciprocal_scale, then apply_scale_32 with one rounding.
    k = 32 - (32 - (count - 1).bit_length()) if count > 1 else 0
    assert (multiplier, shift) == ((((1 << 30) + 1) << k) // count if count > 1 else 1 << 30, 30 + k)
    nearest = np.abs(got - sums / count)
    assert (nearest <= 0.5 + 1e-6).all()


STAGES = st.builds(
    lambda bits, zero, bounds: (bits, zero, *sorted(bounds)),
    st.sampled_from((8, 16)),
    st.integers(-128, 127),
    st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
)


@given(STAGES, st.data())
@settings(max_examples=150, deadline=None)
def test_the_float_form_equals_the_integer_form(parts: tuple[int, int, int, int], data: st.DataObject) -> None:
    bits, zero, low, high = parts
    dtype = np.dtype(f"<i{bits // 8}")
    table = Table(0, dtype, dtype) if bits == 8 and data.draw(st.booleans()) else None
    stage = OutputStage(dtype, None, zero, low, high, True, table)
    count = data.draw(st.integers(1, 6))

    def lists(elements: st.SearchStrategy[int]) -> list[int]:
        return data.draw(st.lists(elements, min_size=count, max_size=count))

    channels = ChannelScale(
        np.array(lists(st.integers(-(1 << 20), 1 << 20))),
        np.array(lists(st.integers(0, (1 << 31) - 1))),
        np.array(lists(st.integers(0, 45))),
        data.draw(st.sampled_from((Rounding.NATURAL, Rounding.DBL))),
    )
    reach = data.draw(st.sampled_from((1 << 10, 1 << 20, 1 << 24)))
    seed = data.draw(st.integers(0, 1 << 30))
    sums = np.random.default_rng(seed).integers(-reach, reach + 1, (40, count))
    # Halves and their neighbours are where a form could differ: put each channel's there.
    with np.errstate(divide="ignore"):
        near = (np.ldexp(0.5, channels.shift.astype(int)) / np.maximum(channels.multiplier, 1)).clip(-reach, reach)
    sums[0], sums[1], sums[2] = near, near + 1, -near
    form = float_finish(stage, channels, reach)
    entries = np.random.default_rng(1).integers(0, 256, 2048).astype(np.uint8)
    if form is None:
        assert int(channels.shift.max()) > 31 or channels.rounding is Rounding.DBL
        return
    wanted = stage.finish(sums, entries, channels)
    for exact in (np.float64, np.float32) if reach <= 1 << 24 else (np.float64,):
        got = form.finish(sums.astype(exact), entries)
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted)


def test_the_float_form_folds_the_bias_only_where_that_is_exact() -> None:
    stage = OutputStage(np.dtype("<i1"), None, 0, -128, 127, True, None)
    small = ChannelScale(np.array([5]), np.array([1 << 30]), np.array([38]), Rounding.NATURAL)
    large = ChannelScale(np.array([1 << 24]), np.array([(1 << 31) - 1]), np.array([38]), Rounding.NATURAL)
    folded, apart = float_finish(stage, small, 1 << 20), float_finish(stage, large, 1 << 20)
    assert folded is not None
    assert apart is not None
    assert folded.bias is None
    assert apart.bias is not None


@pytest.mark.parametrize(
    ("layout", "record", "wanted"),
    [
        ("U55", "ffffffffffffffffff3f", (-1, 0xFFFF_FFFF, 63)),
        ("U55", "000000008001000000ff", (-(1 << 39), 1, 63)),
        ("U85 I32", "00000080ffffffff2500", (-(1 << 31), (1 << 31) - 1, 37)),
        ("U85 I48", "000000000080ffff1100", (-(1 << 47), (1 << 15) - 1, 17)),
    ],
)
def test_scale_records_are_read_by_their_layout(layout: str, record: str, wanted: tuple[int, int, int]) -> None:
    data = np.frombuffer(bytes.fromhex(record) * 2, np.uint8)
    bias, multiplier, shift = read_records(data, 2, layout)
    assert [(int(b), int(m), int(s)) for b, m, s in zip(bias, multiplier, shift, strict=True)] == [wanted] * 2
    with pytest.raises(NpuError, match="scale records"):
        read_records(data, 3, layout)


def test_an_identity_scale_returns_what_it_got() -> None:
    values = np.array([-7, 0, 1 << 60])
    assert Scale(1, 0, Rounding.DBL).apply(values) is values
