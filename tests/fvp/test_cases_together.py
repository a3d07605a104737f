"""Cases of ``corstone check`` that share a boot of our runner have the rows of cases with a boot each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.pipeline import CheckRequest, build, check_all, check_one, path
from corstone.report.record import CaseRecord

pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing")
OURS = CheckRequest("acos", provider="emulator", runner="corstone-300")


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """The programs are in the cache: a program that is still being compiled is not waited for."""
    for bits, policy in ((8, "fixed"), (16, "fixed"), (8, "observer")):
        build("acos", bits=bits, policy=policy)


def cases(out: Path) -> list[CheckRequest]:
    one = replace(OURS, out=out)
    return [one, replace(one, bits=16), replace(one, policy="observer"), replace(one, stimulus="ramp")]


def facts(record: CaseRecord) -> dict[str, Any]:
    """All that a record says but its times, its folder, and by what the end of a boot of many is known."""
    plain = json.loads(json.dumps(record.to_json()).replace(str(Path(record.capture).parent), "CASES"))
    del plain["seconds"]
    for name in ("shared boot", "waited for"):
        plain["verdict"]["evidence"].pop(name, None)
    return dict(plain)


def boots(records: Sequence[CaseRecord]) -> list[str]:
    return [Capture.load(Path(r.capture)).evidence.get("shared boot", "") for r in records if r.capture]


def test_rows_and_outputs_are_those_of_a_boot_each(tmp_path: Path) -> None:
    alone = [check_one(request) for request in cases(tmp_path / "alone")]
    together = check_all(cases(tmp_path / "together"))
    assert [r.verdict.outcome for r in together] == [Outcome.PASSED, Outcome.PASSED, Outcome.FAILED, Outcome.PASSED]
    assert [facts(r) for r in together] == [facts(r) for r in alone]
    assert [Capture.load(Path(r.capture)).output_bytes() for r in together] == [
        Capture.load(Path(r.capture)).output_bytes() for r in alone
    ]
    log = f"{together[0].case_id}-0.log"
    assert boots(together) == [f"run {n} of 4 in {log}" for n in (1, 2, 3, 4)]
    assert boots(alone) == [""] * 4
    assert [p.name for p in (tmp_path / "together/boots").iterdir()] == [log]
    assert all({"stimulus", "boot", "references", "judge"} <= r.seconds.keys() for r in together)


def test_a_crash_is_that_of_its_case_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = path._boot_request

    def spoiled(request: CheckRequest, program: Any, inputs: Any) -> Any:
        return replace(asked(request, program, inputs), inject="udf" if request.bits == 16 else "")

    monkeypatch.setattr(path, "_boot_request", spoiled)
    records = check_all(cases(tmp_path))
    outcomes = [(str(r.verdict.outcome), r.verdict.cause) for r in records]
    assert outcomes[1] == ("CRASHED", Cause.CPU_FAULT)
    assert [outcome for outcome, _ in outcomes] == ["PASSED", "CRASHED", "FAILED", "PASSED"]
    assert boots(records) == [""] * 4, "each was booted again by itself"


def test_a_case_that_cannot_begin_costs_no_other(tmp_path: Path) -> None:
    requests = cases(tmp_path)[:2]
    records = check_all([requests[0], replace(requests[0], stimulus="nonsense"), requests[1]])
    assert [r.verdict.outcome for r in records] == [Outcome.PASSED, Outcome.ERROR, Outcome.PASSED]
    assert records[1].verdict == check_one(replace(requests[0], stimulus="nonsense")).verdict
    assert [where[:11] for where in boots(records)] == ["run 1 of 2 ", "run 2 of 2 "]


@pytest.mark.parametrize("change", [{"runner": None}, {"trace": True}, {"runner": "no-such"}], ids=str)
def test_others_get_a_boot_each(tmp_path: Path, change: dict[str, Any]) -> None:
    records = check_all([replace(request, **change) for request in cases(tmp_path)[:2]])
    assert not any(boots(records))
    assert {r.verdict.outcome for r in records} == {
        Outcome.ERROR if change == {"runner": "no-such"} else Outcome.PASSED
    }
    assert not (tmp_path / "boots").exists()
