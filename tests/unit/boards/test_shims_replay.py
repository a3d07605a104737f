"""Replaying captured programs: ExecuTorch's comparison as it is, and every way not to pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.boards.shims.suite_replay import Case, cases, replay
from corstone.boards.shims.suite_run import load
from corstone.errors import ConfigError

# Plays the FVP: finds its folder in the parameter, does what the case's name says.
FVP = """#!/bin/sh
for word in "$@"; do case "$word" in *semihosting-cwd=*) cd "${word#*=}";; esac; done
%s
"""


def make(folder: Path, name: str, expected: list[float], **facts: Any) -> Case:
    place = folder / "u55-128" / name
    place.mkdir(parents=True)
    (place / "program.pte").write_bytes(b"program")
    (place / "input-0.bin").write_bytes(np.array([1.0, 2.0], np.float32).tobytes())
    data = np.array(expected, np.float32).tobytes()
    (place / "expected-0.bin").write_bytes(data)
    (place / "tosa-program-0.bin").write_bytes(data)
    case = {
        "node_id": f"ops/test_{name}.py::test_{name}_u55_INT[x]",
        "target": "u55-128",
        "target_board": "corstone-300",
        "portable_ops_runner": False,
        "inputs": [{"file": "input-0.bin"}],
        "outputs": [{"file": "expected-0.bin", "dtype": "float32", "qparams": {"scale": 0.5}}],
        "tolerance": {"atol": 0.001, "rtol": 0.001, "qtol": 1, "compare_outputs": True},
    } | facts
    (place / "case.json").write_text(json.dumps(case))
    return Case(place, case)


def boot(tmp_path: Path, script: str, expected: list[float], **facts: Any) -> dict[str, Any]:
    """The row of one case; the played device copies its input to its output before the script goes on."""
    fvp = tmp_path / "bin" / "FVP_Corstone_SSE-300_Ethos-U55"
    fvp.parent.mkdir()
    fvp.write_text(FVP % script)
    fvp.chmod(0o755)
    case = make(tmp_path / "cases", "add", expected, **facts)
    environment = {"PATH": f"{fvp.parent}:/usr/bin:/bin", "EXECUTORCH_ROOT": str(tmp_path)}
    assert replay([case], tmp_path / "rows", environment) == 1
    assert replay([case], tmp_path / "rows", environment) == 0  # it has a row now
    return load(tmp_path / "rows")["test_add::test_add_u55_INT[x]"]


@pytest.fixture(autouse=True)
def _path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")


def test_the_same_bits(tmp_path: Path) -> None:
    row = boot(tmp_path, "cp i0.bin out-0.bin", [1.0, 2.0])
    assert (row["state"], row["bits"], row["exits"], row["boots"]) == ("passed", True, [0], 1)


def test_one_step_off_passes_as_upstream_but_not_in_bits(tmp_path: Path) -> None:
    row = boot(tmp_path, "cp i0.bin out-0.bin", [1.5, 2.0])
    assert (row["state"], row["bits"]) == ("passed", False)


@pytest.mark.parametrize(
    ("script", "expected", "why"),
    [
        ("cp i0.bin out-0.bin", [1.0, 2.6], "element 1 is 2.0, expected 2.59"),
        ("cp i0.bin out-0.bin", [1.0, float("nan")], "expected nan"),
        ("cp i0.bin out-0.bin", [1.0], "8 bytes, expected 4"),
        ("echo all good", [1.0, 2.0], "output 0 is missing: all good"),
        ("cp i0.bin out-0.bin; echo 'E: something'", [1.0, 2.0], "error on the console: E: something"),
        ("cp i0.bin out-0.bin; echo ended; exit 7", [1.0, 2.0], "exit 7: ended"),
    ],
)
def test_what_is_no_pass(tmp_path: Path, script: str, expected: list[float], why: str) -> None:
    row = boot(tmp_path, script, expected)
    assert row["state"] == "failed"
    assert why in row["why"]


@pytest.mark.parametrize(("script", "state"), [("cp i0.bin out-0.bin", "xpassed"), ("exit 4", "xfailed")])
def test_what_the_suite_expects_to_fail(tmp_path: Path, script: str, state: str) -> None:
    row = boot(tmp_path, script, [1.0, 2.0], upstream={"xfail_marks": ["no such operator"]})
    assert row["state"] == state
    assert row["why"].startswith("no such operator")


def test_cases_come_as_a_fair_sample(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        make(tmp_path, name, [0.0])
    assert [case.test for case in cases(tmp_path)] == [f"test_{n}::test_{n}_u55_INT[x]" for n in "abc"]
    with pytest.raises(ConfigError, match="no captured case"):
        cases(tmp_path / "u55-128")
