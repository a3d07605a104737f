"""``corstone explain`` and ``corstone trace``: text, JSON, npz, and how bad input ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from corstone.cli import main
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela

DATA = Path(__file__).parents[2] / "data"
ACOS = DATA / "acos-int8-u55-128.pte"


def _input(folder: Path) -> Path:
    path = folder / "x.bin"
    path.write_bytes(np.linspace(-1, 1, 256).astype("<f4").tobytes())
    return path


def test_explain_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "made" / "explain.json"
    assert main(["explain", str(ACOS), "--commands", "--json", str(report)]) == 0
    out = capsys.readouterr().out
    assert "ethos-u55-128" in out
    assert "POOL.AVERAGE" in out
    assert "in arm-executorch-u55, corstone-300" in out or "in corstone-300" in out
    data = json.loads(report.read_text())
    assert data["delegates"][0]["scratch_bytes"] == 256
    assert data["commands"]["0"][-1]["name"] == "STOP"


@pytest.mark.parametrize("damage", ["cut", "magic", "blob", "empty", "missing"])
@pytest.mark.parametrize("command", ["explain", "trace"])
def test_a_damaged_file_is_the_callers_error(
    command: str, damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = ACOS.read_bytes()
    data = {
        "cut": good[:700],
        "magic": good[:4] + b"nope" + good[8:],
        "blob": good.replace(b"vela_bin_stream", b"vela_BAD_stream"),
        "empty": b"",
        "missing": None,
    }[damage]
    path = tmp_path / "bad.pte"
    if data is not None:
        path.write_bytes(data)
    words = [command, str(path)] + (["-i", str(_input(tmp_path)), "-o", str(tmp_path)] if command == "trace" else [])
    assert main(words) == 2
    assert "what to do" in capsys.readouterr().err


def test_trace_without_tosa_says_that_nothing_is_matched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["trace", str(ACOS), "-i", str(_input(tmp_path)), "-o", str(out), "--registers"]) == 0
    text = capsys.readouterr().out
    assert "came without its TOSA graph" in text
    assert "IFM_BASE0" in text
    assert not (out / "feature-maps.npz").exists()
    rows = json.loads((out / "trace.json").read_text())["commands"]
    assert [row["name"] for row in rows] == ["DMA_START", "DMA_WAIT", "POOL.AVERAGE", "STOP"]
    assert rows[2]["tensors"]["OFM"]["strides"]
    codes = np.fromfile(out / "out-0.bin", "<f4")
    assert np.abs(codes - np.arccos(np.linspace(-1, 1, 256))).max() < 0.13


def test_trace_names_the_tensor_and_keeps_the_feature_map(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["trace", str(ACOS), "-i", str(_input(tmp_path)), "-o", str(tmp_path), "--feature-maps"]
    assert main([*words, "--tosa", str(DATA / "acos-int8.tosa")]) == 0
    assert "= tosa_table_default" in capsys.readouterr().out
    rows = json.loads((tmp_path / "trace.json").read_text())["commands"]
    (row,) = [row for row in rows if row["tosa"]]
    assert row["tosa"] == {"tensor": "tosa_table_default", "part": "whole", "differing": 0}
    with np.load(tmp_path / "feature-maps.npz") as maps:
        assert maps[row["feature_map"]].shape == (1, 1, 256)


def test_an_npu_fault_in_a_trace_has_name_and_offset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = read_vela(read_pte(ACOS).delegates[0].data).payload.stream
    path = tmp_path / "broken.pte"
    path.write_bytes(ACOS.read_bytes().replace(stream, stream[:0x128] + b"\xff\x03\x00\x00" + stream[0x12C:]))
    assert main(["trace", str(path), "-i", str(_input(tmp_path)), "-o", str(tmp_path)]) == 4
    assert "at stream offset 0x128" in capsys.readouterr().err


def test_trace_refuses_inputs_that_do_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", str(ACOS), "-o", str(tmp_path)]) == 2
    assert "takes 1 inputs, 0 files" in capsys.readouterr().err
