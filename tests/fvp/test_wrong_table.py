"""A compiler that writes a wrong table entry into the graph and the program alike: every bit is as the graph has it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import corstone.lowering
from corstone.accuracy.tables import TableUse, tables_of
from corstone.causes import Cause, Outcome
from corstone.lowering import LowerRequest, lower
from corstone.pipeline import CheckRequest, check_one
from corstone.program import Program

pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing")

HEAD = CheckRequest("joint-angle", stimulus="random", provider="emulator")


def with_entry(program: Program, use: TableUse, entry: int, step: int, folder: Path) -> Program:
    """The program with one int8 table entry moved, in its TOSA graph and in the Vela payload."""
    copy = Path(shutil.copytree(program.pte.parent, folder))
    right = use.entries.astype(np.int8)
    wrong = right.copy()
    wrong[entry] += step
    paths = [copy / program.pte.name, copy / program.tosa[use.delegate].name]
    for path in paths:
        data = path.read_bytes()
        assert data.count(right.tobytes()) == 1
        path.write_bytes(data.replace(right.tobytes(), wrong.tobytes()))
    return replace(program, pte=paths[0], tosa=(paths[1],))


def test_a_wrong_entry_inside_a_head_is_red_though_all_bits_agree_and_the_budget_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = lower(LowerRequest("joint-angle"))
    (acos,) = (use for use in tables_of(program) if use.operator == "acos")
    planted = with_entry(program, acos, 128, 3, tmp_path / "planted")
    monkeypatch.setattr(corstone.lowering.Lowering, "result", lambda _self, _i: planted)
    verdict = check_one(replace(HEAD, out=tmp_path / "out")).verdict
    assert all(c.passed for c in verdict.comparisons)
    assert any(c.exact for c in verdict.comparisons)
    assert (verdict.outcome, verdict.cause) == (Outcome.FAILED, Cause.WRONG_TABLE)
    expected = f"entry 128 is {acos.entries[128] + 3}, expected {acos.entries[128]}"
    assert "acos (acos): wrong entry: 1 entry at 0" in verdict.reason
    assert expected in verdict.reason
    assert "lower again" in verdict.hint
