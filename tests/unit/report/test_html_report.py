"""The page's text: nothing from a network, nothing that a hostile name can do, everything that is behind a case."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.causes import Outcome
from corstone.report import html_curve, html_data
from corstone.report.html_curve import Detail, curve, detail_for
from corstone.report.html_pack import unpack
from corstone.report.html_report import write_html

HOSTILE = "</script><img src=x onerror=alert(1)>\u202eevil\x1b[31m"


def read_page(path: Path) -> tuple[str, dict[str, Any], list[dict[str, Any]]]:
    text = path.read_text(encoding="utf-8")
    index = json.loads(text.split('id="index">', 1)[1].split("</script>", 1)[0])
    lines = text.split('id="details">', 1)[1].split("</script>", 1)[0].split()
    details = [unpack(line) for line in lines]
    return text, index, details


def test_a_page_holds_every_case_worst_first_and_asks_for_nothing(make_record: Any, tmp_path: Path) -> None:
    records = [make_record("acos"), make_record("wrong", change=np.zeros_like)]
    write_html(tmp_path / "r.html", records)
    text, index, details = read_page(tmp_path / "r.html")
    assert [c["verdict"] for c in index["cases"]] == ["FAILED", "PASSED"]
    assert [d["id"] for d in details] == [c["id"] for c in index["cases"]]
    assert "default-src 'none'" in text
    outside = re.findall(r"""(?:src|href)=["']?(https?:|//)|url\((?!data:)|@import|fetch\(|XMLHttpRequest""", text)
    assert outside == []


def test_a_hostile_name_stays_text(make_record: Any, tmp_path: Path) -> None:
    record = replace(make_record(console=HOSTILE.encode()), network=HOSTILE, case_id=HOSTILE, repro=HOSTILE)
    write_html(tmp_path / "r.html", [record], title=HOSTILE)
    text, index, details = read_page(tmp_path / "r.html")
    assert "<img" not in text
    assert text.count("</script>") == 3
    shown = json.dumps([index["cases"], details], ensure_ascii=False)
    assert "\u202e" not in shown
    assert "\x1b" not in shown
    assert "onerror=alert(1)" in index["cases"][0]["network"]
    assert "\\x1b[31m" in details[0]["console"]


def test_emulator_and_fvp_are_told_apart(make_record: Any, tmp_path: Path) -> None:
    record = make_record()
    write_html(tmp_path / "r.html", [record, replace(record, executor=None)])
    _, index, _ = read_page(tmp_path / "r.html")
    assert [c["by"] for c in index["cases"]] == ["emulator", "none"]
    assert index["device"] == "1 of 2 ran on a device, 0 on an FVP, 1 on the emulator"


def test_nan_in_a_verdict_is_a_word_in_the_page(make_record: Any, tmp_path: Path) -> None:
    def spoil(y: Any) -> Any:
        y[3] = np.nan
        return y

    write_html(tmp_path / "r.html", [make_record(change=spoil)])
    _, index, details = read_page(tmp_path / "r.html")
    assert index["cases"][0]["lsb"] == "∞"
    assert details[0]["worst"][0][-1] == "∞"
    assert None in details[0]["curve"]["d"]


def test_nothing_ran_is_still_a_page(tmp_path: Path) -> None:
    write_html(tmp_path / "r.html", [])
    _, index, details = read_page(tmp_path / "r.html")
    assert (index["cases"], details) == ([], [])


def test_every_code_of_int8_is_drawn_with_edges_and_budgets(make_record: Any) -> None:
    record = make_record()
    drawn = curve(record.capture, detail_for(1))
    assert drawn is not None
    assert (drawn["by"], drawn["unit"], drawn["count"], len(drawn["x"])) == ("input", "LSB", 256, 256)
    assert "D" not in drawn
    assert [b[3] for b in drawn["budgets"]] == ["edge", "interior"]
    assert [e["c"][0] for e in drawn["edges"]] == [-128, 96]
    assert drawn["within"][0] == [0.5, 256]
    assert "bits" not in drawn


def test_no_outlier_is_lost_in_buckets(make_record: Any) -> None:
    def spoil(y: Any) -> Any:
        y[31234] += 1.0
        return y

    drawn = curve(make_record(bits=16, change=spoil).capture, Detail(100, 16))
    assert drawn is not None
    assert (len(drawn["x"]), len(drawn["E"])) == (100, 100)
    assert max(drawn["E"]) == pytest.approx(65535 / np.pi, rel=1e-3)
    assert drawn["bits"]["reference"] == "table"
    assert max(drawn["bits"]["E"]) == pytest.approx(65535 / np.pi, rel=1e-3)


def test_a_capture_that_is_gone_or_damaged_has_no_curve(make_record: Any) -> None:
    record = make_record()
    (Path(record.capture) / "ref-float-0.npy").write_bytes(b"no array")
    assert curve(record.capture, detail_for(1)) is None
    assert curve("", detail_for(1)) is None
    assert curve(record.capture + "-gone", detail_for(1)) is None


def test_a_large_report_draws_less_of_each_case() -> None:
    assert detail_for(3000).buckets < detail_for(300).buckets < detail_for(30).buckets


def test_beyond_so_many_cases_a_page_has_no_more_curves_and_says_so(
    make_record: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_curve, "MOST_DRAWN", 2)
    record = make_record("acos", console=b"said by the board")
    wrong = make_record("wrong", change=np.zeros_like, console=b"said by the board")
    write_html(tmp_path / "r.html", [record, replace(record, case_id="second"), wrong])
    _, index, details = read_page(tmp_path / "r.html")
    assert [c["verdict"] for c in index["cases"]] == ["FAILED", "PASSED", "PASSED"], "the worst first"
    assert [d["curve"] is not None for d in details] == [True, True, False]
    assert [d["console"] for d in details] == ["said by the board", "said by the board", ""]
    assert [html_data.UNDRAWN_NOTE in d["notes"] for d in details] == [False, False, True]
    assert details[2]["comparisons"] == details[1]["comparisons"], "what was decided is there all the same"


def test_verdict_words_of_the_page_are_the_outcomes_and_the_states_of_a_test() -> None:
    from corstone.ledger.model import State
    from corstone.report.html_report import ASSETS

    script = (ASSETS / "case.js").read_text(encoding="utf-8")
    icons = script.split("var ICON = {", 1)[1].split("}", 1)[0]
    states = {s.value.upper().replace(" ", "_").replace("-", "_") for s in State}
    assert set(re.findall(r"(\w+):", icons)) == {str(o) for o in Outcome} | states
