"""Every report says how many programs came from the cache, and which."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.unit.report.conftest import MakeRecord

from corstone.report import terminal
from corstone.report.html_data import facts
from corstone.report.html_report import write_html
from corstone.report.json_file import summary
from corstone.report.junit import properties
from corstone.report.markdown import markdown
from corstone.report.record import CaseRecord


def test_every_report_says_what_came_from_the_cache(make_record: MakeRecord, tmp_path: Path) -> None:
    record = make_record("acos")
    records = [replace(record, program=origin) for origin in ("cache", "compiled", "cache", "")]
    words = "3 programs, 2 of them from the cache"
    assert terminal.from_cache(records) == words
    assert words in markdown(records)
    write_html(tmp_path / "report.html", records)
    assert words in (tmp_path / "report.html").read_text()
    assert summary(records, 0)["programs"] == {"cache": 2, "compiled": 1}
    assert ["program", "compiled in this run"] in facts(records[1])
    assert ("program", "cache") in properties(records[0])
    assert CaseRecord.from_json(json.loads(json.dumps(records[0].to_json()))).program == "cache"


def test_nothing_is_said_where_no_program_was_needed(make_record: MakeRecord) -> None:
    assert terminal.from_cache([make_record("acos")]) == ""
    assert "programs" not in markdown([make_record("acos")])


def test_the_seconds_of_all_cases_are_summed_by_what_they_went_to(make_record: MakeRecord) -> None:
    records = [
        replace(make_record("acos"), seconds={"lower": 8.06, "boot": 1.0, "judge": 0.01}),
        replace(make_record("asin"), seconds={"lower": 0.0, "boot": 0.5, "references": 0.2, "unknown": 9.0}),
    ]
    assert terminal.time_spent(records) == "waiting for programs 8.1 s, boots 1.5 s, references 0.2 s"
    assert terminal.time_spent([]) == ""
