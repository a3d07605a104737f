"""``corstone preflight`` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.fakes.elves import vectors, write_elf

from corstone.cli import main

ACOS = Path(__file__).parents[2] / "data" / "acos-int8-u55-128.pte"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path / "cache"))


def test_a_good_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", str(ACOS)]) == 0
    assert "nothing found" in capsys.readouterr().out


def test_for_another_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["preflight", str(ACOS), "--target", "ethos-u55-256"]) == 2
    text = capsys.readouterr().out
    assert "128 MACs" in text
    assert "--target ethos-u55-128" in text


def test_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.pte"
    bad.write_bytes(b"\0\0\0\0ETXX" + bytes(100))
    assert main(["preflight", str(bad), "--json"]) == 2
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [(f["check"], f["cause"]) for f in findings] == [("identifier", "bad-program")]


def test_an_elf_with_a_misplaced_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "r.elf", [(0x10000000, vectors())], {"model_data": (0x70000001, 512)})
    assert main(["preflight", str(ACOS), "--runner-elf", str(elf)]) == 2
    assert "model_data" in capsys.readouterr().out


def test_files_that_are_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["preflight", str(tmp_path / "gone.pte")]) == 2
    assert main(["preflight", str(ACOS), "--runner-elf", str(tmp_path / "gone.elf")]) == 2
    assert main(["preflight", str(ACOS), "--target", "ethos-u99-1"]) == 2
    text = capsys.readouterr().err
    assert "gone.pte" in text
    assert "gone.elf" in text
    assert "ethos-u55-128" in text
