"""Text, Markdown and JSON of cases, and the folder that holds all reports of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.capture import Ending
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError
from corstone.report import terminal
from corstone.report.folder import load_records, make_folder, write_folder
from corstone.report.json_file import summary, write_json
from corstone.report.markdown import markdown, text

EVIL = "a|b `c` <script> [x](http://y) **z**\x1b[2J\u202e\n# title"


def flip(y: Any) -> Any:
    y[10] += 0.5
    return y


def test_a_failure_reads_from_verdict_to_repro(make_record: Any) -> None:
    page = terminal.page(make_record(change=flip))
    lines = page.splitlines()
    assert lines[0].startswith("FAILED (bits): acos int8 fixed, ethos-u55-128 on corstone-300, corstone-emulator")
    assert "emulator, not an Arm product" in lines[0]
    row = next(line.split() for line in lines if line.split()[:1] == ["10"])
    # index, input, its code, expected and its code, got and its code, distance
    assert row[2] == "-118"
    assert float(row[5]) - float(row[3]) == pytest.approx(0.5, abs=1e-3)
    assert "scale 0.0078125, zero point 0, int8 codes -128..127" in page
    assert lines[-1] == "  again: corstone check acos --bits 8"


def test_a_crash_shows_evidence_and_the_end_of_the_console(make_record: Any) -> None:
    crash = Ending(Outcome.CRASHED, Cause.CPU_FAULT, "HardFault", "look there", {"pc": "0x1234"})
    page = terminal.page(make_record(ending=crash), b"one\n\x1b[31mtwo\xff\n")
    assert "pc: 0x1234" in page
    assert "| \\x1b[31mtwo" in page
    assert "\x1b" not in page
    assert "the console stayed empty" in terminal.page(make_record(ending=crash), b"\n\n")


def test_the_table_has_a_row_a_case(make_record: Any) -> None:
    rows = terminal.table([make_record(), make_record("asin", change=np.zeros_like)])
    assert len(rows) == 3
    assert rows[1].split()[:4] == ["PASSED", "acos", "int8", "fixed"]
    assert rows[2].startswith("FAILED (bits)")
    assert terminal.summary([make_record(), make_record(change=flip)]) == "1 FAILED, 1 PASSED"
    assert terminal.summary([]) == "nothing ran"


def test_the_last_line_counts_who_executed(make_record: Any) -> None:
    record = make_record()
    line = terminal.ran_on_device([record, replace(record, executor=None)], selected=3)
    assert line == "1 of 3 ran on a device, 0 on an FVP, 1 on the emulator"


def test_control_and_direction_characters_are_shown() -> None:
    assert terminal.safe("a\x1b[0m\x00\x9b\u202e\u2066\tb\n") == "a\\x1b[0m\\x00\\x9b\\u202e\\u2066\tb\n"


def test_markdown_of_a_hostile_case_stays_text(make_record: Any) -> None:
    record = make_record(change=flip)
    verdict = replace(record.verdict, reason=EVIL, hint=EVIL)
    page = markdown([replace(record, network=EVIL, case_id=EVIL, verdict=verdict, repro="x `` ` y")])
    table = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(table) == 2
    assert all(line.replace("\\|", "").count("|") == 10 for line in table)
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "\n# title" not in page
    assert "``` x `` ` y ```" in page


def test_markdown_says_red_or_green_first(make_record: Any) -> None:
    assert markdown([make_record()]).startswith("## ✅ Corstone: 1 PASSED")
    assert markdown([make_record(change=flip)]).startswith("## ❌ Corstone: 1 FAILED")
    assert markdown([]).startswith("## ❌ Corstone: nothing ran")
    assert "50 more cases are in the report" in markdown([make_record()] * 250)


def test_markdown_text_has_one_line() -> None:
    assert text("a\nb  c") == "a b c"


def test_json_has_verdict_provider_and_output_files(make_record: Any, tmp_path: Path) -> None:
    data = summary([make_record()], 0)
    write_json(tmp_path / "r.json", data)
    read = json.loads((tmp_path / "r.json").read_text())
    assert (read["verdict"], read["provider"], read["exit_status"]) == ("PASSED", "emulator", 0)
    [output] = read["outputs"]
    assert Path(output["file"]).read_bytes()
    assert (output["dtype"], output["shape"], output["size_bytes"]) == ("float32", [256], 1024)


def test_json_of_several_cases_has_the_worst_verdict(make_record: Any) -> None:
    fvp = replace(make_record(), executor=None)
    data = summary([make_record("a"), make_record("b", change=flip), fvp], 1)
    assert (data["verdict"], data["cause"], data["provider"]) == ("FAILED", "bits", None)
    assert data["counts"] == {"FAILED": 1, "PASSED": 2}
    assert summary([], 5)["cause"] == "nothing-ran"


def test_json_is_strict_whatever_the_numbers(make_record: Any, tmp_path: Path) -> None:
    def spoil(y: Any) -> Any:
        y[3] = np.nan
        return y

    record = make_record(change=spoil)
    write_json(tmp_path / "r.json", summary([record], 1))
    json.loads((tmp_path / "r.json").read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    [again] = load_records([tmp_path / "r.json"])
    assert again.verdict.comparisons[0].max_lsb == float("inf")


def test_a_folder_of_reports_is_read_back(make_record: Any, tmp_path: Path) -> None:
    records = [make_record("a"), make_record("b")]
    page = write_folder(tmp_path, records, 0)
    assert page == tmp_path / "report.html"
    assert {p.name for p in tmp_path.iterdir()} == {"cases", "report.html", "report.json", "junit.xml", "summary.md"}
    assert {r.case_id for r in load_records([tmp_path])} == {r.case_id for r in records}


@pytest.mark.parametrize("content", ["{", "[]", '{"case_id": 1}', "\xff"])
def test_a_file_that_is_no_record_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "record.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match=r"record\.json is no case record"):
        load_records([tmp_path])


def test_a_folder_that_cannot_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as error:
        make_folder(tmp_path / "file" / "out")
    assert (error.value.cause, error.value.exit_code) == (Cause.NOT_WRITABLE, 2)
    make_folder(tmp_path / "fine" / "deep")
    assert list((tmp_path / "fine" / "deep").iterdir()) == []
