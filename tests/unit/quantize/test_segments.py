"""The planner of segmented tables: plain numpy, every one of 65,536 codes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corstone.errors import ConfigError
from corstone.quantize.sampling import Function, real_inputs, sample_steps
from corstone.quantize.segments import CODE_MAX, CODE_MIN, POSITIONS, Segments, lookup, plan
from corstone.reference.operators import lookup_16

CODES = np.arange(CODE_MIN, CODE_MAX + 1)
FIXED_SCALE = {"acos": 2.0**-15, "asin": 2.0**-15, "atanh": 1.99998 / 65536}
FUNCTIONS: dict[str, Function] = {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}


def output_scale(function: Function, input_scale: float) -> float:
    """What a calibration over all codes gives."""
    with np.errstate(all="ignore"):
        values = function(real_inputs(input_scale)[:-1])
    return float(np.abs(values[np.isfinite(values)]).max()) / 32767


def planned(function: Function, input_scale: float, scale: float | None = None) -> Segments:
    return plan(sample_steps(function, input_scale, scale or output_scale(function, input_scale)))


def exact_error(segments: Segments, function: Function, input_scale: float, scale: float) -> float:
    """Distance to float64 at every in-domain code, computed without anything of ``plan``."""
    with np.errstate(all="ignore"):
        values = function((CODES.astype(np.float32) * np.float32(input_scale)).astype(np.float64)) / scale
    inside = np.isfinite(values)
    return float(np.abs(segments.evaluate(CODES)[inside] - values[inside]).max())


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("times", [1.0, 32767 / 32768, 1.0000305, 0.95, 1.3, 2.0, 7.77, 100.0])
def test_inverse_functions_stay_within_a_step_and_a_half_on_every_code(name: str, times: float) -> None:
    function, input_scale = FUNCTIONS[name], times / 32767
    scale = output_scale(function, input_scale)
    segments = planned(function, input_scale)
    assert exact_error(segments, function, input_scale, scale) <= 1.5
    assert segments.tables <= 3


@pytest.mark.parametrize("name", FUNCTIONS)
def test_fixed_scale_of_upstream(name: str) -> None:
    function, input_scale = FUNCTIONS[name], FIXED_SCALE[name]
    segments = planned(function, input_scale)
    assert exact_error(segments, function, input_scale, output_scale(function, input_scale)) <= 1.15
    assert segments.tables == 3


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(sorted(FUNCTIONS)),
    times=st.floats(0.2, 300.0),
    narrow=st.floats(0.3, 1.5),
)
def test_any_pair_of_scales_is_served_or_refused(name: str, times: float, narrow: float) -> None:
    function, input_scale = FUNCTIONS[name], times / 32767
    scale = output_scale(function, input_scale) * narrow
    steps = sample_steps(function, input_scale, scale, (-32767, 32767))
    try:
        segments = plan(steps, 1.5, (-32767, 32767))
    except ConfigError as refusal:
        assert "off by" in refusal.message
        return
    assert np.abs(segments.evaluate(CODES) - steps[:-1]).max() <= 1.5


STEEP: dict[str, tuple[Function, float, float]] = {
    "sqrt": (np.sqrt, 4 / 32767, 2 / 32767),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 4 / 32767, 10 / 32767),
    "log": (np.log, 4 / 32767, 4.6 / 32767),
    "log1p": (np.log1p, 1 / 32767, 4.6 / 32767),
    "log10": (np.log10, 100 / 32767, 2 / 32767),
    "acosh": (np.arccosh, 4.02 / 32767, 2.07 / 32767),
    "reciprocal": (lambda x: 1 / x, 4 / 32767, 50 / 32767),
    "pow 0.3": (lambda x: x**0.3, 10 / 32767, 2 / 32767),
}


@pytest.mark.parametrize("name", STEEP)
def test_other_steep_operators(name: str) -> None:
    function, input_scale, scale = STEEP[name]
    segments = plan(sample_steps(function, input_scale, scale, (-32767, 32767)), limits=(-32767, 32767))
    assert segments.max_lsb <= 1.5
    # 1/x is steep on both sides of its pole; one stretched table of 512 parts is not enough for both.
    assert segments.tables <= (5 if name == "reciprocal" else 3)


def test_a_jump_over_the_whole_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="jumps by more than 32767"):
        plan(sample_steps(lambda x: 1 / x, 4 / 32767, 50 / 32767))


def test_a_pole_of_two_signs_stands_between_its_sides() -> None:
    steps = sample_steps(lambda x: 1 / x, 4 / 32767, 50 / 32767)
    at = 32768
    assert (steps[at - 1], steps[at], steps[at + 1]) == (CODE_MIN, 0, CODE_MAX)


def test_only_one_table_moves_at_a_time_and_the_warp_is_exact() -> None:
    segments = planned(np.arcsin, 1 / 32767)
    (window,) = segments.windows
    warp = lookup(window.warp, CODES)
    core = lookup(segments.core, CODES)
    rises, moves = np.diff(warp), np.diff(core)
    interval = (CODES[:-1] - CODE_MIN) // 128
    stretched = np.isin(interval, np.unique(interval[rises > 0]))
    assert not moves[stretched].any()
    # The slope is the same whole number over an interval: nothing is rounded.
    for i in np.unique(interval[stretched]):
        assert len(set(rises[interval == i].tolist())) == 1


def test_every_table_is_one_that_tosa_defines() -> None:
    for function, scale in ((np.arccos, 1 / 32767), (np.arctanh, 1.99998 / 65536)):
        segments = planned(function, scale)
        for nodes in (segments.core, *(t for w in segments.windows for t in (w.warp, w.table))):
            table = np.array(nodes, np.int16)
            assert table.tolist() == list(nodes)
            full = lookup_16(CODES.astype(np.int16), table)
            assert np.array_equal((full.astype(np.int64) + 64) >> 7, lookup(nodes, CODES))


def test_one_table_is_enough_where_nothing_is_steep() -> None:
    segments = planned(np.tanh, 1 / 32767)
    assert segments.tables == 1
    assert segments.max_lsb < 1.1


def test_a_goal_that_cannot_be_reached_is_refused_with_what_was_reached() -> None:
    with pytest.raises(ConfigError, match=r"no segmented table reaches 0\.3 output steps: .* off by 0\.\d+"):
        plan(sample_steps(np.arcsin, 1 / 32767, math.pi / 2 / 32767), goal_lsb=0.3)


def test_a_curve_with_noise_on_every_code_is_refused() -> None:
    noise = np.random.default_rng(0).uniform(-3000, 3000, POSITIONS)
    with pytest.raises(ConfigError, match="up to 3 pairs of tables is off by"):
        plan(noise)


def test_input_all_outside_the_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match="no value at any code"):
        sample_steps(np.arccosh, 0.5 / 32767, 1.0)
