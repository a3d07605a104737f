"""Running somebody's pytest suite as it is: order, batches, resume, ends. A small suite stands in for ExecuTorch's."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from corstone.boards.shims import suite_run
from corstone.boards.shims.suite_run import Plan, Suite, files_of, load, spread
from corstone.boards.shims.suite_table import render
from corstone.boards.shims.suite_worker import key
from corstone.errors import ConfigError, ToolError

# A boot is a line in the log; the shims write it, here the tests do.
BOOT = """
import json, os, time, pytest
def boot(status=0, started=True):
    with open(os.environ["CORSTONE_BOOT_LOG"], "a") as log:
        log.write(json.dumps({"started": started, "exit": status, "wall_s": 0.5}) + "\\n")
"""
FIRST = (
    BOOT
    + """
@pytest.mark.parametrize("n", range(3))
def test_add_u55_INT(n): boot()
def test_add_u85_INT(): boot(4); assert 1 == 2, "other bits"
def test_add_tosa_INT(): raise SystemExit("not wanted")
def test_add_u55_INT_quiet(): "OpNotSupportedPipeline"
def test_add_u85_INT_popped(): "pipeline.pop_stage(-1)"
def test_add_u85_INT_fault(): boot(8); raise RuntimeError("Failed running FVP" + 900 * " -C x=1" + "Stderr: NPU fault")
def test_add_u85_INT_refused(): boot(2, started=False)
@pytest.mark.xfail(reason="MLETORCH-1")
def test_add_u55_INT_known(): boot(); raise ValueError
@pytest.mark.skip(reason="too slow")
def test_add_u85_INT_skip(): pass
"""
)
SECOND = (
    BOOT
    + """
def test_sub_u55_a(): boot()
def test_sub_u55_b(): os._exit(7)
def test_sub_u55_c(): boot()
def test_sub_u85_d(): time.sleep(60)
def test_sub_u85_e(): boot()
"""
)


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "test_add.py").write_text(FIRST)
    (folder / "test_sub.py").write_text(SECOND)
    # Whatever lies around the suite must not matter.
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--no-such-option"\n')
    monkeypatch.setattr(suite_run, "suite_folder", lambda: folder)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    return Plan(out=tmp_path / "out with blank", files=("test_add",), shims=False, say=lambda _text: None)


def states(plan: Plan) -> dict[str, str]:
    return {test.partition("::")[2]: row["state"] for test, row in load(plan.out / "results.ndjson").items()}


def test_only_what_booted_counts_as_passed(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Suite(plan).run() == 10
    assert states(plan) == {
        "test_add_u55_INT[0]": "passed",
        "test_add_u55_INT[1]": "passed",
        "test_add_u55_INT[2]": "passed",
        "test_add_u85_INT": "failed",
        "test_add_u55_INT_quiet": "no-device",
        "test_add_u85_INT_popped": "no-device",
        "test_add_u85_INT_fault": "failed",
        "test_add_u85_INT_refused": "no-device",
        "test_add_u55_INT_known": "xfailed",
        "test_add_u85_INT_skip": "skipped",
    }
    rows = load(plan.out / "results.ndjson")
    failed = rows["test_add::test_add_u85_INT"]
    assert (failed["boots"], failed["exits"]) == (1, [4])
    assert "other bits" in failed["why"]
    assert rows["test_add::test_add_u55_INT_known"]["why"] == "MLETORCH-1"
    assert rows["test_add::test_add_u85_INT_skip"]["why"] == "Skipped: too slow"
    assert rows["test_add::test_add_u55_INT_quiet"]["why"] == "checks that the operator is not delegated"
    assert rows["test_add::test_add_u85_INT_popped"]["why"] == "takes its own device stage out"
    fault = rows["test_add::test_add_u85_INT_fault"]["why"]
    assert fault.startswith("call: RuntimeError: Failed running FVP")
    assert "NPU fault" in fault
    assert len(fault) < 620
    for line in (plan.out / "results.ndjson").read_text().splitlines():
        assert set(json.loads(line)) == {"test", "state", "boots", "exits", "boot_s", "wall_s", "why"}
    assert not (plan.out / "tmp").exists()
    # What has a row is not run again, unless its state is asked for.
    with (plan.out / "results.ndjson").open("a") as stream:
        stream.write('{"test": "test_add::test_add_u55_INT[0]", "sta')  # killed while it wrote
    listed = Suite(plan).collect()
    monkeypatch.setattr(Suite, "collect", lambda _self: listed)
    assert Suite(plan).run() == 0
    assert Suite(dataclasses.replace(plan, again=("failed",))).todo() == [
        "test_add::test_add_u85_INT",
        "test_add::test_add_u85_INT_fault",
    ]
    parts = [Suite(dataclasses.replace(plan, out=plan.out / "other", shard=(k, 3))).todo() for k in (1, 2, 3)]
    assert sorted(test for part in parts for test in part) == sorted(rows)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_a_dead_process_and_a_hang_cost_one_test_each(plan: Plan) -> None:
    Suite(dataclasses.replace(plan, files=("test_sub",), test_s=5, batch=2)).run()
    assert states(plan) == {
        "test_sub_u55_a": "passed",
        "test_sub_u55_b": "crashed",
        "test_sub_u55_c": "passed",
        "test_sub_u85_d": "timed-out",
        "test_sub_u85_e": "passed",
    }
    assert "status 7" in load(plan.out / "results.ndjson")["test_sub::test_sub_u55_b"]["why"]


def test_a_suite_that_cannot_be_collected_is_said(plan: Plan) -> None:
    (suite_run.suite_folder() / "test_add.py").write_text("import no_such_module")
    with pytest.raises(ToolError, match="cannot be collected"):
        Suite(plan).run()


def test_any_beginning_of_the_order_covers_all_functions() -> None:
    tests: list[dict[str, Any]] = [
        {"test": f"test_{file}::{name}[{n}]", "function": name}
        for file, name, cases in (("a", "u55", 5), ("a", "u85", 1), ("b", "u55", 3))
        for n in range(cases)
    ]
    order = spread(tests)
    assert sorted(order) == sorted(row["test"] for row in tests)
    assert {test.partition("[")[0] for test in order[:3]} == {"test_a::u55", "test_a::u85", "test_b::u55"}
    assert order == spread(tests)


def test_names(tmp_path: Path) -> None:
    (tmp_path / "test_acos.py").write_text("")
    assert files_of([], tmp_path) == ("test_acos",)
    with pytest.raises(ConfigError, match="test_cosh"):
        files_of(["acos", "cosh"], tmp_path)
    assert key("ops/test_a.py::test_b[x::y/z.py]") == "test_a::test_b[x::y/z.py]"


def test_the_table_counts_and_names() -> None:
    def row(test: str, state: str, boots: int, why: str = "") -> dict[str, Any]:
        times = {"boot_s": 1.0 * boots, "wall_s": 5.0}
        return {"test": test, "state": state, "boots": boots, "exits": [0] * boots, "why": why} | times

    rows = [
        row("test_a::test_a_u55_INT[1]", "passed", 1),
        row("test_a::test_a_u55_INT[2]", "no-device", 0, "says run_on_fvp=False"),
        row("test_a::test_a_u85_INT", "failed", 2, "a | b\nc"),
    ]
    text = render(rows, [*(r["test"] for r in rows), "test_b::test_b_u55_INT"])
    assert "3 of 4 tests were run; 2 reached a device, 1 of these passed, 1 failed. That is 50.00 %." in text
    assert "| a | u55 | 2 of 2 | 1 | 1 |  | 1 |" in text
    assert "| **all** | u55 | 2 of 3 | 1 | 1 |  | 1 |" in text
    assert "| `test_a::test_a_u85_INT` | failed | 2 | 0, 0 | a \\| b c |" in text
    assert "| u55 | no-device | 1 | says run_on_fvp=False |" in text
    replayed = [rows[0] | {"bits": True}, rows[2] | {"bits": None}]
    assert "bit for bit: 1 of 1 that have them" in render(replayed, [])
    assert render([], []).startswith("0 of 0 tests")
