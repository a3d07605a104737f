"""``corstone sweep`` in process, on a stored program with the NPU model as device; nothing is lowered or booted."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.accuracy import sweep as sweeping
from corstone.accuracy.guard import guard_program
from corstone.capture import Capture, Ending, Executor
from corstone.causes import Cause, Outcome
from corstone.cli import main
from corstone.errors import ConfigError
from corstone.formats.pte import read_pte
from corstone.judge.codes import dequantize
from corstone.judge.domain import Domain
from corstone.judge.reference import ReferenceResult
from corstone.judge.stored import Question, judge_folder, store
from corstone.looking.walk import walk
from corstone.pipeline import CheckRequest
from corstone.program import Program, QParams
from corstone.report.record import CaseRecord

DATA = Path(__file__).parents[2] / "data"
GIVEN = QParams(0.007839307188987732, 0, -128, 127, "int8")
TABLE = QParams(0.0078125, 0, -128, 127, "int8")
OUTPUT = QParams(0.012313955463469028, -128, -128, 127, "int8")


class Device:
    """Runs a case of the stored program; ``flipped`` codes get another answer than the NPU model's."""

    def __init__(self) -> None:
        self.flipped: tuple[int, ...] = ()
        self.broken = False

    def check_all(self, requests: Sequence[CheckRequest], _progress: Any = None) -> list[CaseRecord]:
        return [self._case(request) for request in requests]

    def _case(self, request: CheckRequest) -> CaseRecord:
        folder = request.out / "cases" / request.case_id
        folder.mkdir(parents=True)
        shutil.copy(DATA / "acos-int8-u55-128.pte", folder / "program.pte")
        shutil.copy(DATA / "acos-int8.tosa", folder / "delegate-0.tosa")
        row = {"name": "acos", "target": "aten.acos.default", "inputs": [vars(TABLE)], "output": vars(OUTPUT)}
        (folder / "operators.json").write_text(json.dumps([row | {"constants": []}]))
        pte = read_pte(folder / "program.pte")
        Program(
            folder / "program.pte",
            request.target,
            pte.input_specs,
            pte.output_specs,
            (folder / "delegate-0.tosa",),
            input_qparams=(GIVEN,),
            output_qparams=(OUTPUT,),
            network=request.network,
            bits=request.bits,
            policy=request.policy,
            source="network:acos",
        ).save(folder / "program.json")
        x = dequantize(np.arange(-128, 128), GIVEN).astype(np.float32)
        (right,) = walk(pte, [x], feature_maps=False).outputs
        device = right.copy()
        device[[code + 128 for code in self.flipped]] += np.float32(OUTPUT.scale)
        (folder / "in-0.bin").write_bytes(x.tobytes())
        (folder / "out-0.bin").write_bytes(device.tobytes())
        executor = Executor("emulator", "NPU model", "0")
        ending = Ending(Outcome.PASSED, Cause.NONE, "finished")
        if self.broken:
            ending = Ending(Outcome.CRASHED, Cause.CPU_FAULT, "UsageFault at 0x10001234")
        names = "corstone-300", request.target, "r", "0"
        Capture(folder, executor, *names, ending, outputs=("out-0.bin",), inputs=("in-0.bin",)).save()
        with np.errstate(invalid="ignore"):
            exact = np.arccos(x.astype(np.float64))
        references = [ReferenceResult("tosa", (right,)), ReferenceResult("float", (exact,))]
        store(folder, Question((), "codes", 0, Domain(-1, 1)), references)
        _, _, question, verdict = judge_folder(folder)
        case = request.case_id, request.network, request.bits, request.policy, request.target, "corstone-300"
        return CaseRecord(*case, question.stimulus, verdict, executor, capture=str(folder))


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    found = Device()
    monkeypatch.setattr(sweeping, "check_all", found.check_all)
    monkeypatch.setattr(sweeping, "lower_all", lambda _requests: [])
    return found


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_sweep_writes_page_tables_and_json_and_lists_what_is_refused(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "here"
    words = ["sweep", "acos", "--bits", "8,16", "--policy", "edge_exact", "--target", "ethos-u55-128,ethos-u65-256"]
    assert main([*words, "--out", str(out), "--quiet", "--provider", "emulator"]) == 0
    text = capsys.readouterr().out
    assert "refused: acos int16 edge_exact: " in text
    assert "int8 only" in text
    assert str((out / "sweep.html").resolve()) in text

    data = json.loads((out / "sweep.json").read_text())
    assert [(c["network"], c["bits"], c["policy"], c["target"]) for c in data["cases"]] == [
        ("acos", 8, "edge_exact", "ethos-u55-128"),
        ("acos", 8, "edge_exact", "ethos-u65-256"),
    ]
    case = data["cases"][0]
    # The figures of docs/accuracy.md for the policy that the stored program was compiled with.
    assert (case["codes"], case["codes_outside"], case["within_1_lsb"], round(case["max_lsb"], 1)) == (255, 1, 244, 2.5)
    assert case["within_0.5_lsb"] <= case["within_1_lsb"] <= case["within_2_lsb"] <= case["within_8_lsb"] == 255
    assert case["npu_operations"] == 1
    assert case["npu_bytes"] == (DATA / "acos-int8-u55-128.pte").stat().st_size
    worst = case["worst"][0]
    assert worst["lsb"] == case["max_lsb"]
    assert worst["made_of"].startswith("entry ")
    program = Program.load(Path(case["capture"]) / "program.json")
    said = [f.to_json() for f in guard_program(program).findings]
    assert case["guard"] == json.loads(json.dumps(said)) != []
    (refused,) = data["refused"]
    assert (refused["network"], refused["bits"], refused["policy"]) == ("acos", 16, "edge_exact")
    assert "int8 only" in refused["reason"]
    assert {"run", "curves", "page", "total"} <= set(data["seconds"])

    rows = _rows(out / "summary.csv")
    assert [r["refused"] != "" for r in rows] == [False, False, True]
    assert float(rows[0]["max_lsb"]) == case["max_lsb"]
    assert "int8 only" in rows[2]["refused"]

    codes = _rows(out / "codes.csv")
    assert len(codes) == 512
    first = codes[:256]
    assert [int(r["code"]) for r in first] == list(range(-128, 128))
    assert [r["code"] for r in first if not r["float"]] == ["-128"]
    for r in first[1:]:
        assert abs(float(r["device"]) - float(r["float"])) / OUTPUT.scale == pytest.approx(
            float(r["error_lsb"]), abs=2e-3
        )
        assert float(r["device"]) == float(r["tosa"])
        assert float(r["x"]) == pytest.approx(int(r["code"]) * GIVEN.scale, rel=1e-6)
    assert all(r["fake_quantized"] for r in first)
    # The stored program is ``fixed``: acos(+1) is 0.123 instead of 0, since its largest code is 127/128.
    found = data["findings"]
    ends = [(e["target"], e["x"], round(e["device"], 4), round(e["exact"], 4)) for e in found["edges"]]
    for target in ("ethos-u55-128", "ethos-u65-256"):
        assert (target, -1.0, 3.1401, 3.1416) in ends
        assert (target, 1.0, 0.1231, 0.0) in ends
    assert [(w["codes"], w["outside"], w["bits_equal"]) for w in found["codes"]] == [(255, 1, True)] * 2
    assert all(w["why"] for w in found["codes"])
    text = (out / "findings.md").read_text()
    assert "| acos | 8 | edge_exact | ethos-u55-128 | 1 | 0.1231 | 0.0000 | 0.1231 |" in text
    assert "| acos | 8 | edge_exact | ethos-u55-128 | 255 | 2.5 |" in text
    page = (out / "sweep.html").read_text()
    assert "At the ends of the domain" in page
    assert "The same answer to every code on ethos-u65-256" in page
    assert "acos int16 edge_exact" in page


def test_other_bits_end_with_one_and_no_codes_leaves_the_long_file_out(device: Device, tmp_path: Path) -> None:
    device.flipped = (-3,)
    words = ["sweep", "acos", "--bits", "8", "--policy", "fixed", "--out", str(tmp_path), "--no-codes", "--quiet"]
    assert main([*words, "--jobs", "1"]) == 1
    assert not (tmp_path / "codes.csv").exists()
    (case,) = json.loads((tmp_path / "sweep.json").read_text())["cases"]
    assert "device fault" in case["first_difference"]
    assert "1 elements differ from the device" in case["first_difference"]


def test_a_case_that_crashed_is_listed_and_gives_its_exit_status(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    device.broken = True
    words = ["sweep", "acos", "--bits", "8", "--policy", "fixed", "--out", str(tmp_path), "--quiet"]
    assert main(words) == 4
    assert "refused: acos int8 fixed ethos-u55-128: " in capsys.readouterr().out
    data = json.loads((tmp_path / "sweep.json").read_text())
    assert data["cases"] == []
    assert "UsageFault at 0x10001234" in data["refused"][0]["reason"]


def test_nothing_but_edge_exact_at_int16_is_the_callers_error(
    device: Device, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", "acos", "--bits", "16", "--policy", "edge_exact", "--out", str(tmp_path / "none")]
    assert main(words) == ConfigError("x").exit_code == 2
    assert "int8 only" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
