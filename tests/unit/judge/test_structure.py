"""Count, size, dtype, shape and canary are checked before any value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from corstone.causes import Cause, Outcome
from corstone.judge.decide import judge
from corstone.judge.reference import ReferenceResult
from corstone.judge.structure import arrays
from corstone.judge.verdict import Verdict
from corstone.program import TensorSpec


def verdict(case: Any) -> Verdict:
    return judge(case.capture, case.program, case.references, case.budgets, domain=case.domain)


@pytest.mark.parametrize("names", [(), ("out-0.bin", "in-0.bin")])
def test_another_count_of_outputs_is_no_output(make_case: Any, names: tuple[str, ...]) -> None:
    case = make_case()
    case.capture = replace(case.capture, outputs=names)
    got = verdict(case)
    assert (got.outcome, got.cause, got.exit_code) == (Outcome.NO_OUTPUT, Cause.OUTPUT_COUNT, 4)
    assert f"the device gave {len(names)}" in got.reason


@pytest.mark.parametrize(
    ("size", "hint"),
    [(0, "nothing was written"), (1023, "cut short"), (256, "int8 or bool"), (2048, "float64"), (1025, "more bytes")],
)
def test_another_size_is_no_output_with_a_hint(make_case: Any, size: int, hint: str) -> None:
    case = make_case()
    (case.capture.folder / "out-0.bin").write_bytes(bytes(size))
    got = verdict(case)
    assert (got.outcome, got.cause) == (Outcome.NO_OUTPUT, Cause.OUTPUT_SIZE)
    assert f"should have 1024 bytes, the device gave {size}" in got.reason
    assert hint in got.hint


def test_untouched_canary_is_no_output(make_case: Any) -> None:
    canary = bytes.fromhex("a5c3015a77")
    case = make_case(evidence={"canary": canary.hex()})
    (case.capture.folder / "out-0.bin").write_bytes((canary * 300)[:1024])
    got = verdict(case)
    assert (got.outcome, got.cause) == (Outcome.NO_OUTPUT, Cause.CANARY)


def test_untouched_tail_is_noted_and_the_bits_fail(make_case: Any) -> None:
    canary = bytes.fromhex("a5c3015a77")
    case = make_case(evidence={"canary": canary.hex()})
    path = case.capture.folder / "out-0.bin"
    path.write_bytes(path.read_bytes()[:924] + (canary * 300)[924:1024])
    got = verdict(case)
    assert got.cause is Cause.BITS
    assert "output 0: the last 100 of 1024 bytes were never written" in got.notes


@pytest.mark.parametrize(
    ("outputs", "text"),
    [
        ((np.zeros((2, 128), np.float32),), "shape [2, 128]"),
        ((np.zeros(256, np.int8),), "is int8"),
        ((), "has 0 outputs"),
    ],
)
def test_reference_of_another_form_is_a_shape_failure(make_case: Any, outputs: Any, text: str) -> None:
    case = make_case()
    case.references[0] = ReferenceResult("table", outputs)
    got = verdict(case)
    assert (got.outcome, got.cause) == (Outcome.FAILED, Cause.SHAPE)
    assert text in got.reason


def test_float_reference_may_be_of_another_dtype(make_case: Any) -> None:
    assert verdict(make_case()).outcome is Outcome.PASSED


def test_channels_last_is_turned_to_torch_order() -> None:
    logical = np.arange(24, dtype=np.int16).reshape(1, 2, 3, 4)
    raw = np.ascontiguousarray(logical.transpose(0, 2, 3, 1)).tobytes()
    [got] = arrays([raw], [TensorSpec("x", "int16", (1, 2, 3, 4), (0, 2, 3, 1))])
    np.testing.assert_array_equal(got, logical)


def test_rank_zero_and_bool_are_compared(make_case: Any) -> None:
    case = make_case()
    (case.capture.folder / "out-0.bin").write_bytes(b"\x01")
    case.program = replace(case.program, outputs=(TensorSpec("y", "bool", ()),), output_qparams=(None,))
    case.references = [ReferenceResult("tosa", (np.array(True),))]
    assert verdict(case).outcome is Outcome.PASSED
    case.references = [ReferenceResult("tosa", (np.array(False),))]
    got = verdict(case)
    assert got.cause is Cause.BITS
    assert "the only element" in got.reason
