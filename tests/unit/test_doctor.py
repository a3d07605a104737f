"""The doctor's rows, and its answer on machines where things are missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.endings.case import BANNER, CPU_LIMIT, says
from tests.fakes.fakes import U55, install_fake

from corstone import doctor
from corstone.boards.fvp_report import fvp_report
from corstone.boards.providers import find_simulator
from corstone.boards.registry import board
from corstone.cli import main


def rows(fvp_dir: Path | None = None) -> dict[str, doctor.Row]:
    return {row.name: row for row in doctor.examine(fvp_dir)}


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No QEMU, no FVP, an empty cache."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path / "cache"))
    for name in ("CORSTONE_QEMU", "CORSTONE_FVP_DIR"):
        monkeypatch.delenv(name, raising=False)


def test_versions_that_decide_bits_are_listed() -> None:
    found = rows()
    for name in (
        "torch",
        "executorch",
        "ethos-u-vela",
        "tosa-tools",
        "python",
        "qemu-system-arm",
        "cache",
        "VGF tools",
    ):
        assert found[name].found
    assert found["torch"].status == doctor.OK
    assert {U55, "FVP_Corstone_SSE-300_Ethos-U65", "FVP_Corstone_SSE-320"} <= set(found)


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, corstone.doctor as d; d.examine(); print(sorted({'torch', 'executorch'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("bare")
def test_a_bare_machine_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 3
    text = capsys.readouterr().out
    assert "apt install qemu-system-arm" in text
    assert "corstone setup" in text
    assert "What to do:" in text


@pytest.mark.usefixtures("bare")
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert document["healthy"] is False
    statuses = {row["name"]: row["status"] for row in document["rows"]}
    assert statuses["qemu-system-arm"] == "missing"
    assert statuses["runner arm-executorch-u55"] == "missing"
    assert statuses["runner arm-executorch-u85"] == "optional"
    assert statuses[U55] == "optional"


def test_an_fvp_that_answers_and_one_that_does_not(tmp_path: Path) -> None:
    install_fake(tmp_path / "good", {"steps": []})
    install_fake(tmp_path / "bad", {"probe": [["error", "cannot execute binary file\n"], ["exit", 126]], "steps": []})
    good, bad = (rows(tmp_path / name)[U55] for name in ("good", "bad"))
    assert (good.status, "11.27.42" in good.found) == (doctor.OK, True)
    assert (bad.status, "status 126" in bad.found) == (doctor.OLD, True)


def test_a_qemu_that_is_named_and_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CORSTONE_QEMU", str(tmp_path / "gone"))
    assert rows()["qemu-system-arm"].status == doctor.MISSING


def test_the_report_for_those_who_have_an_fvp(tmp_path: Path) -> None:
    reject = ["reject", {"name": "no.such.parameter", "text": "Error: no parameter {}\n", "status": 7}]
    install_fake(tmp_path / "fvp", {"steps": [reject, BANNER, says(CPU_LIMIT), ["dump", {}], ["exit", 0]]})
    simulator = find_simulator(board("corstone-300"), "U55", "fvp", tmp_path / "fvp")
    elf = tmp_path / "runner.elf"
    elf.write_bytes(b"\x7fELF")
    fvp_report(simulator, elf, tmp_path / "report.json")
    document = json.loads((tmp_path / "report.json").read_text())
    answers = {row["name"]: row for row in document["answers"]}
    assert document["version"] == "11.27.42"
    assert answers["unknown-parameter"]["status"] == 7
    assert "no parameter no.such.parameter" in answers["unknown-parameter"]["text"]
    assert "CPU time has been exceeded" in answers["timelimit"]["text"]
    assert answers["dump"]["files"] == {"dump.bin": 64}
    assert str(tmp_path) not in json.dumps(document)
