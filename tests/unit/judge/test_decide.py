"""Verdicts of whole captures: each outcome and cause the judge can give, with its words."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.capture import Ending
from corstone.causes import Cause, Outcome
from corstone.judge.budget import Budget, Region
from corstone.judge.codes import dequantize, quantize
from corstone.judge.decide import judge
from corstone.judge.domain import Domain
from corstone.judge.finding import GraphFinding
from corstone.judge.reference import ReferenceResult, Status
from corstone.judge.verdict import Verdict
from corstone.program import QParams


def verdict(case: Any, **changes: Any) -> Verdict:
    return judge(
        case.capture, case.program, case.references, case.budgets, "codes", **{"domain": case.domain, **changes}
    )


def test_a_device_that_equals_both_references_passes_and_says_so(make_case: Any) -> None:
    got = verdict(make_case())
    assert (got.outcome, got.cause) == (Outcome.PASSED, Cause.NONE)
    assert "all 256 elements of stimulus codes equal table and tosa, bit for bit" in got.reason
    names = ["float", "table", "tosa", "command stream", "device"]
    assert [(s.earlier, s.later) for s in got.stages] == list(itertools.pairwise(names))
    assert [s.max_lsb for s in got.stages[1:]] == [0, 0, 0]
    # The program came without its graph: the stage between has no distance, and the verdict says so.
    (note,) = (n for n in got.notes if n.startswith("stages without a distance"))
    assert "fake-quantized (it is not among the references)" in note
    assert "command stream" not in note
    assert got.exit_code == 0


def test_one_flipped_bit_fails_with_index_input_code_and_distance(make_case: Any) -> None:
    def flip(y: Any) -> Any:
        bits = y.view(np.uint32)
        bits[200] ^= 1
        return y

    got = verdict(make_case(change=flip))
    assert (got.outcome, got.cause, got.exit_code) == (Outcome.FAILED, Cause.BITS, 1)
    table = next(c for c in got.comparisons if c.reference == "table")
    assert (table.differing, table.worst[0].index, table.worst[0].input_code) == (1, (200,), 72)
    assert table.worst[0].input_value == pytest.approx(72 / 128)
    assert "1 of 256 elements differ" in got.reason
    assert got.first_difference.startswith("device")


def test_worst_elements_come_worst_first(make_case: Any) -> None:
    def spoil(y: Any) -> Any:
        y[10] += 1.0
        y[20] += 2.0
        y[30] -= 3.0
        return y

    table = verdict(make_case(change=spoil)).comparisons[0]
    assert [w.index for w in table.worst] == [(30,), (20,), (10,)]
    assert table.worst[0].distance_lsb == pytest.approx(3.0 / (np.pi / 255), rel=1e-5)


@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN where a number was expected"), (math.inf, "an infinity")])
def test_nan_and_infinity_are_named(make_case: Any, value: float, text: str) -> None:
    def spoil(y: Any) -> Any:
        y[5] = value
        return y

    got = verdict(make_case(change=spoil))
    assert got.cause is Cause.BITS
    assert text in got.reason
    assert "infinitely far" in got.reason
    assert Verdict.from_json(got.to_json()).comparisons[0].max_lsb == math.inf


def test_any_nan_equals_any_nan_and_is_noted(make_case: Any) -> None:
    case = make_case()
    y = case.references[0].outputs[0].copy()
    y[0] = np.float32(np.nan)
    device = y.copy()
    device.view(np.uint32)[0] = 0xFFC00000
    (case.capture.folder / "out-0.bin").write_bytes(device.tobytes())
    case.references = [ReferenceResult("table", (y,))]
    got = verdict(case)
    assert got.outcome is Outcome.PASSED
    assert "1 NaN with another payload" in got.comparisons[0].note


def test_negative_zero_is_another_bit(make_case: Any) -> None:
    case = make_case()
    expected = np.zeros(256, np.float32)
    device = expected.copy()
    device[3] = -0.0
    (case.capture.folder / "out-0.bin").write_bytes(device.tobytes())
    case.references = [ReferenceResult("tosa", (expected,))]
    got = verdict(case)
    assert got.cause is Cause.BITS
    assert "a zero of the other sign" in got.reason
    assert got.comparisons[0].worst[0].index == (3,)


def test_all_zero_reference_is_compared_like_any_other(make_case: Any) -> None:
    case = make_case()
    zeros = np.zeros(256, np.float32)
    case.references = [ReferenceResult("tosa", (zeros,)), ReferenceResult("float", (zeros.astype(np.float64),))]
    got = verdict(case)
    assert got.cause is Cause.BITS
    assert {c.passed for c in got.comparisons} == {False}


def test_all_zero_output_has_its_hint(make_case: Any) -> None:
    got = verdict(make_case(change=np.zeros_like))
    assert "all zeros: the output was cleared or never computed" in got.reason


def test_float_beyond_the_budget_is_accuracy_and_names_region_and_stage(make_case: Any) -> None:
    case = make_case(np.linspace(-1, 1, 256))
    assert verdict(case).outcome is Outcome.PASSED
    case.budgets = (Budget(Region(-1, 1, "all"), 3.0, "wished for"),)
    got = verdict(case)
    assert (got.outcome, got.cause) == (Outcome.FAILED, Cause.ACCURACY)
    assert "1 of 256" in got.reason or "2 of 256" in got.reason
    assert "'all' of 3 LSB (wished for)" in got.reason
    assert got.comparisons[-1].worst[0].input_value == 1.0
    assert got.comparisons[-1].worst[0].distance_lsb == pytest.approx(10, abs=0.5)
    assert got.first_difference.startswith("quantization or lowering: the table reference")


def test_inputs_beyond_the_calibration_are_the_callers_to_change(make_case: Any) -> None:
    """The output's codes end at 1.57: float goes on to pi, the program and both references stay there."""
    x = np.linspace(-1, 1, 256)
    narrow = QParams(np.pi / 2 / 255, -128, -128, 127, "int8")
    expected = np.arccos(x)
    stays = dequantize(quantize(expected.astype(np.float32), narrow), narrow)
    case = make_case(x, change=lambda _: stays)
    case.program = replace(case.program, output_qparams=(narrow,))
    case.references = [ReferenceResult(r.name, (expected if r.name == "float" else stays,)) for r in case.references]
    case.budgets = (Budget(Region(-1, 1, "all"), 16.0, "wished for"),)
    got = verdict(case)
    assert (got.outcome, got.cause) == (Outcome.FAILED, Cause.ACCURACY)
    assert "float leaves the output's range at " in got.hint
    assert "calibrated on other inputs" in got.hint


def test_first_difference_tells_quantization_from_lowering(make_case: Any) -> None:
    case = make_case(np.array([0.0, 0.5, 1.0]))
    case.budgets = (Budget(Region(-1, 1, "all"), 3.0, "wished for"),)
    table = case.references[0].outputs[0].astype(np.float64)
    with_error = ReferenceResult("fake-quantized", (table,))
    without = ReferenceResult("fake-quantized", (case.references[2].outputs[0],))
    references = case.references
    case.references = [*references, with_error]
    assert verdict(case).first_difference.startswith("quantization: the fake-quantized")
    case.references = [*references, without]
    assert verdict(case).first_difference.startswith("lowering: the TABLE")


def test_share_of_budget_is_the_largest_over_the_regions(make_case: Any) -> None:
    got = verdict(make_case(np.linspace(-1, 1, 256)))
    comparison = got.comparisons[-1]
    shares = {r.name: r.share for r in comparison.regions}
    assert comparison.budget_share == max(shares.values())
    assert shares["edge"] == pytest.approx(10.0 / 10.5, abs=0.05)
    assert sum(r.count for r in comparison.regions) == 256


def test_a_gap_between_regions_is_judged_by_the_smallest_budget(make_case: Any) -> None:
    case = make_case(np.array([0.0, 0.99, 1.0]))
    case.budgets = (Budget(Region(-0.5, 0.5, "a"), 1.0, "r"), Budget(Region(0.98, 0.995, "b"), 20.0, "r"))
    got = verdict(case)
    assert got.cause is Cause.ACCURACY
    assert got.comparisons[-1].worst[0].input_value == 1.0


def test_observer_scale_is_out_of_domain_in_words_about_the_network(make_case: Any, observer: Any) -> None:
    got = verdict(make_case(np.linspace(-1, 1, 256), observer))
    assert (got.outcome, got.cause, got.exit_code) == (Outcome.FAILED, Cause.OUT_OF_DOMAIN, 1)
    assert "code -128 (-1.00339) outside the domain [-1, 1]" in got.reason
    assert "--policy fixed" in got.hint
    assert any(note.startswith("also accuracy") for note in got.notes)


def test_spoilt_code_that_no_input_reaches_is_no_finding(make_case: Any, observer: Any) -> None:
    assert verdict(make_case(np.linspace(-0.5, 0.5, 64), observer)).outcome is Outcome.PASSED


def test_spoilt_code_that_the_graph_repairs_is_no_finding(make_case: Any, observer: Any) -> None:
    case = make_case(np.array([-1.0, 0.0]), observer)
    repaired = case.references[0].outputs[0].copy()
    repaired[0] = np.float32(np.pi)
    (case.capture.folder / "out-0.bin").write_bytes(repaired.tobytes())
    case.references[:2] = [ReferenceResult("table", (repaired,)), ReferenceResult("tosa", (repaired,))]
    assert verdict(case).outcome is Outcome.PASSED


def test_the_guards_finding_is_not_doubled_by_the_judges_own(make_case: Any, observer: Any) -> None:
    case = make_case(np.linspace(-1, 1, 256), observer)
    got = verdict(case, findings=(GraphFinding("node -128 is NaN"),))
    assert got.reason == "node -128 is NaN"
    assert not any(note.startswith("also out-of-domain") for note in got.notes)


def test_inputs_outside_the_domain_are_judged_by_bits_alone(make_case: Any) -> None:
    got = verdict(make_case(np.array([-1.5, 0.0, 2.0])))
    assert got.outcome is Outcome.PASSED
    assert "2 of 3 inputs lie outside the domain" in got.comparisons[-1].note


def test_nan_from_float_inside_an_unstated_domain_is_not_accepted(make_case: Any) -> None:
    case = make_case(np.array([-1.5, 0.0, 1.0]))
    got = verdict(case, domain=None)
    assert got.cause is Cause.ACCURACY
    assert math.isnan(got.comparisons[-1].worst[0].expected)


def test_unpredictable_reference_is_a_finding_about_the_network(make_case: Any) -> None:
    case = make_case(change=lambda y: y + 1)
    case.references[1] = ReferenceResult("tosa", (), Status.UNPREDICTABLE, "slope outside int16")
    got = verdict(case)
    assert (got.outcome, got.cause) == (Outcome.FAILED, Cause.OUT_OF_DOMAIN)
    assert "slope outside int16" in got.reason
    assert any(note.startswith("also bits") for note in got.notes)


def test_guard_findings_fail_or_note(make_case: Any) -> None:
    case = make_case()
    fatal = verdict(case, findings=(GraphFinding("node -32768 is NaN", "use segmented"),))
    assert (fatal.cause, fatal.reason, fatal.hint) == (Cause.OUT_OF_DOMAIN, "node -32768 is NaN", "use segmented")
    mild = verdict(case, findings=(GraphFinding("flat end", fatal=False),))
    assert mild.outcome is Outcome.PASSED
    assert "flat end" in mild.notes


def test_references_that_disagree_are_told_apart_from_a_wrong_device(make_case: Any) -> None:
    case = make_case()
    other = case.references[0].outputs[0].copy()
    other[7] += 1
    case.references[0] = ReferenceResult("table", (other,))
    got = verdict(case)
    assert got.cause is Cause.BITS
    assert got.first_difference.startswith("the references disagree: the device equals tosa and differs from table")


def test_without_an_exact_reference_nothing_is_green(make_case: Any) -> None:
    case = make_case()
    case.references = [
        case.references[2],
        ReferenceResult("tosa", (), Status.UNAVAILABLE, "the program came without a graph"),
    ]
    got = verdict(case)
    assert (got.outcome, got.cause) == (Outcome.ERROR, Cause.REFERENCE)
    assert any("came without a graph" in note for note in got.notes)


def test_a_broken_reference_is_an_error_even_beside_a_good_one(make_case: Any) -> None:
    case = make_case()
    case.references[1] = ReferenceResult("tosa", (), Status.ERROR, "signal 11")
    assert verdict(case).outcome is Outcome.ERROR


@pytest.mark.parametrize("outcome", [Outcome.ERROR, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.NO_OUTPUT])
def test_the_end_of_the_boot_comes_before_the_numbers(make_case: Any, outcome: Outcome) -> None:
    ended = Ending(outcome, Cause.CPU_FAULT, "HardFault at 0x1234", "look there", {"pc": "0x1234"})
    got = verdict(make_case(ending=ended))
    assert (got.outcome, got.reason, got.hint, got.evidence) == (
        outcome,
        "HardFault at 0x1234",
        "look there",
        {"pc": "0x1234"},
    )
    assert not got.comparisons


def test_finished_without_stopping_is_a_pass_with_a_note(make_case: Any) -> None:
    ended = Ending(Outcome.PASSED, Cause.DID_NOT_STOP, "the simulator did not stop by itself")
    got = verdict(make_case(ending=ended))
    assert got.outcome is Outcome.PASSED
    assert any("did not stop by itself" in note for note in got.notes)


def test_known_divergence_is_a_note_never_a_tolerance(make_case: Any) -> None:
    case = make_case()
    case.program = replace(case.program, target="ethos-u85-256")
    got = verdict(case, operators={("REDUCE_SUM", "int16")})
    assert any(note.startswith("not FVP-equivalent (u85-int16-reduce-sum)") for note in got.notes)
    got = verdict(case, operators={("REDUCE_SUM", "int32")})
    assert not any(note.startswith("not FVP-equivalent") for note in got.notes)


def test_default_budget_is_used_and_named(make_case: Any) -> None:
    case = make_case(np.linspace(-1, 1, 256))
    case.budgets = ()
    got = verdict(case)
    assert got.outcome is Outcome.PASSED
    assert got.comparisons[-1].budget_lsb == 16
    assert "brought no budget" in got.comparisons[-1].note


def test_inputs_removed_from_the_capture_are_said_to_be(make_case: Any) -> None:
    case = make_case()
    Path(case.capture.folder / "in-0.bin").unlink()
    got = verdict(case)
    assert any("inputs are not in the capture any more" in note for note in got.notes)


def test_a_range_that_stands_in_for_a_domain_is_no_ground_for_a_finding(make_case: Any, observer: Any) -> None:
    case = make_case(np.linspace(-1, 1, 256), observer)
    case.domain = Domain(-1.0, 1.0, declared=False)
    assert verdict(case).cause is Cause.ACCURACY
    outside = make_case(np.array([-1.5, 0.0, 1.0]))
    outside.domain = Domain(-1.0, 1.0, declared=False)
    assert verdict(outside).outcome is Outcome.PASSED


def test_open_domain_leaves_its_ends_out(make_case: Any) -> None:
    case = make_case(np.array([-1.0, 0.0, 1.0]))
    case.domain = Domain(-1.0, 1.0, lo_open=True, hi_open=True)
    assert "2 of 3 inputs" in verdict(case).comparisons[-1].note
