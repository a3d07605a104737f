"""A bound of each code, from the operator alone: right programs keep it, a wrong entry anywhere is over it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from tests.unit.accuracy.making import int8, int16, table, with_entries

from corstone.accuracy.tables import TableUse, evaluate, values_of
from corstone.judge.accuracy import Accuracy, compare_accuracy
from corstone.judge.bound import Bound, agrees
from corstone.judge.budget import EVERYWHERE, Budget
from corstone.judge.elements import InputView
from corstone.program import QParams

LOG = table("log", int16(4 / 32767), int16(4.6051702 / 32767))
RSQRT_8 = table("rsqrt", int8(4 / 255, -128), int8(10 / 255, -128))
WIDE = Budget(EVERYWHERE, 65535.0, "the whole output range")


def bound(use: TableUse, segmented: bool = False) -> Bound:
    assert use.input is not None
    assert use.output is not None
    return Bound(use.operator, use.constants, use.input, use.input, use.output, use.output, segmented)


def compare(use: TableUse, x: npt.NDArray[np.float64], own: bool = True) -> Accuracy:
    """The table's answers for real inputs, against the operator in float64 under the widest budget there is."""
    made = bound(use)
    assert use.output is not None
    codes = made.codes_of(x)
    got = values_of(np.clip(evaluate(use, codes), use.output.qmin, use.output.qmax), use.output).astype(np.float32)
    limits = made.limits(x)
    exact = made.function(x)
    assert agrees(limits, exact, use.output)
    expected = np.where(limits.held, limits.expected, exact) if own else exact
    return compare_accuracy(0, expected, got, use.output, InputView(x, codes), [WIDE], x > 0, limits if own else None)


def every_code(use: TableUse) -> npt.NDArray[np.float64]:
    assert use.input is not None
    return values_of(np.arange(use.input.qmin, use.input.qmax + 1), use.input)


def test_a_wrong_entry_far_from_the_pole_is_red_where_the_regions_budget_is_the_whole_range() -> None:
    """int16 log: what its widest budget let pass is found, and only at the codes beside the wrong node."""
    x = every_code(LOG)
    x = x[x > 128 * 4 / 32767]
    planted = with_entries(LOG, e400=int(LOG.entries[400]) + 9)
    assert compare(planted, x, own=False).comparison.passed
    assert compare(LOG, x).comparison.passed
    found = compare(planted, x)
    assert not found.comparison.passed
    over = bound(LOG).codes_of(x[found.error > found.allowed])
    assert (np.abs(over - (400 * 128 - 32768)) < 128).all()
    assert over.size > 150
    assert found.comparison.budget_share == pytest.approx(9 / 1.05, rel=0.15)
    assert "each code by its own bound: " in found.comparison.regions[0].reason


@pytest.mark.parametrize(
    ("operator", "lo", "hi", "top"),
    [("rsqrt", 0.01, 4.0, 10.0), ("reciprocal", 0.02, 4.0, 50.0), ("log", 0.01, 4.0, 4.6052), ("sqrt", 0.0, 4.0, 2.0)],
)
def test_right_int8_tables_keep_it_for_any_input_and_answers_towards_a_pole_are_the_ends(
    operator: str, lo: float, hi: float, top: float
) -> None:
    if operator == "log":
        use = table(operator, int8(hi / 255, -128), int8((top + 1.3863) / 255, 68))
    else:
        use = table(operator, int8(hi / 255, -128), int8(top / 255, -128))
    x = np.unique(np.linspace(1e-6, hi, 40_001).astype(np.float32)).astype(np.float64)
    found = compare(use, x)
    assert found.comparison.passed
    held = bound(use).limits(x).held
    assert held.any() == (operator != "sqrt")
    assert (x[held] < lo).all()
    assert compare(use, x, own=False).error.max() > (1000 if operator in ("rsqrt", "reciprocal") else 0)


def test_an_answer_that_is_clipped_anywhere_else_is_an_error() -> None:
    """exp has no pole: an output calibrated too small is over the bound at every code that it clips."""
    use = table("exp", int8(4 / 127), int8(20 / 255, -128))
    x = every_code(use)
    x = x[x > 0]
    found = compare(use, x)
    clipped = np.exp(x) > 20.1
    assert clipped.any()
    assert ((found.error > found.allowed) == clipped).all()


def test_a_node_at_a_pole_allows_nothing_to_the_codes_beside_it() -> None:
    x = every_code(LOG)
    x = x[x > 0]
    found = compare(LOG, x)
    over = bound(LOG).codes_of(x[found.error > found.allowed])
    assert over.tolist() == list(range(1, 128))
    assert found.pole == 127


def test_an_int8_entry_one_step_too_far_is_over_it() -> None:
    x = every_code(RSQRT_8)
    x = x[x > 0]
    assert compare(RSQRT_8, x).comparison.passed
    for entry in (30, 120, 255):
        wrong = with_entries(RSQRT_8, **{f"e{entry}": int(RSQRT_8.entries[entry]) + 1})
        assert compare(wrong, x).comparison.differing == 1


def test_segmented_tables_are_held_to_their_goal_and_another_network_is_told() -> None:
    made = bound(LOG, segmented=True)
    x = every_code(LOG)
    limits = made.limits(x[x > 0])
    assert limits.allowed == pytest.approx(1.55)
    assert limits.held.sum() == 81
    assert not agrees(limits, 2 * made.function(x[x > 0]), made.taken)
    assert Bound.from_json(made.to_json()) == made


def test_a_program_that_requantizes_may_take_either_code_half_way() -> None:
    assert LOG.input is not None
    coarse = replace(LOG.input, scale=LOG.input.scale * 1.5)
    made = replace(bound(LOG), given=coarse)
    odd = values_of(np.array([20_001]), coarse)
    assert made.limits(odd).allowed[0] > replace(made, given=made.input).limits(odd).allowed[0]


def test_the_last_code_of_a_calibrated_range_may_be_clipped_by_the_rounding_of_its_ends() -> None:
    """int8 sqrt as calibrated on [0, 4]: the last answer lies 0.6 steps beyond the last code, which is no fault."""
    use = table("sqrt", int8(4 / 255, -128), int8(2 / 255.1, -127))
    x = every_code(use)
    found = compare(use, x[x > 0])
    assert 1.0 < found.error.max() < 1.2
    assert found.comparison.passed


def test_an_error_of_exactly_the_budget_is_not_over_it_for_the_rounding_of_float32() -> None:
    """int16 erfinv: 393 steps, of which values as float32 make 393.00075; a step more is over, NaN and infinity are."""
    qparams = QParams(5.5586002417840064e-05, 0, -32767, 32767, "int16")
    budget = [Budget(EVERYWHERE, 393.0, "what straight lines are worth")]
    expected = np.full(4, -32767 * qparams.scale)
    got = values_of(np.array([-32374, -32373, 0, 0]), qparams).astype(np.float32)
    got[2:] = np.nan, np.inf
    found = compare_accuracy(0, expected, got, qparams, None, budget, None)
    assert (found.error > found.allowed).tolist() == [False, True, True, True]
    assert found.error[0] > 393
    assert found.comparison.differing == 3
