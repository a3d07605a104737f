"""Networks compiled by Vela for every target, with the TOSA reference model's outputs: equal, byte for byte."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from corstone.emulator.npu.fuzz.store import StoredCase, load
from corstone.emulator.npu.interpreter import forget_plans
from corstone.emulator.npu.offline import run_delegate
from corstone.targets import TARGETS

CASES = load(Path(__file__).parents[3] / "data" / "npu" / "cases.npz")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_outputs_equal_the_reference(case: StoredCase) -> None:
    assert run_delegate(case.blob, case.inputs).outputs == case.outputs


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.name.replace(" ", "-"))
def test_nothing_depends_on_what_memory_held_before(case: StoredCase) -> None:
    assert run_delegate(case.blob, case.inputs, fill=0x5A).outputs == case.outputs


@pytest.mark.parametrize("case", CASES[::7], ids=lambda case: case.name.replace(" ", "-"))
def test_tracing_changes_nothing_and_shows_every_operation(case: StoredCase) -> None:
    seen: Counter[str] = Counter()
    run = run_delegate(case.blob, case.inputs, lambda record: seen.update([record.name] if record.tensors else []))
    assert run.outputs == case.outputs
    assert sum(seen.values()) == run.stats.ops


def test_the_cases_hold_every_target_and_operation() -> None:
    targets: set[str] = set()
    operations: Counter[str] = Counter()
    for case in CASES:
        target = case.blob.payload.target
        assert target is not None
        targets.add(target.name)
        operations += run_delegate(case.blob, case.inputs).stats.operations
    assert targets == set(TARGETS)
    elementwise = "MUL ADD SUB MIN MAX ABS CLZ SHR SHL LSR CMP_EQ CMP_GE CMP_GT AND OR XOR NOT AND_NOT"
    expected = {f"ELEMENTWISE.{name}" for name in elementwise.split()}
    expected |= {f"POOL.{name}" for name in ("MAX", "AVERAGE", "REDUCE_SUM", "SUM", "NONE", "MIN", "ARGMAX_X")}
    expected |= {"CONV", "DEPTHWISE", "RESIZE.BILINEAR", "RESIZE.NEAREST", "DMA_START"}
    assert expected <= set(operations)


@pytest.mark.parametrize("case", CASES[::5], ids=lambda case: case.name.replace(" ", "-"))
def test_what_is_remembered_of_a_stream_changes_nothing(case: StoredCase) -> None:
    forget_plans()
    first, again = run_delegate(case.blob, case.inputs), run_delegate(case.blob, case.inputs)
    assert first.outputs == again.outputs == case.outputs
    assert first.stats == again.stats
