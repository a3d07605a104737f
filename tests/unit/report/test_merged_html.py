"""The page of a merged run: its answer in one line, and nothing said twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.test_html_report import read_page

from corstone.causes import Cause, Outcome
from corstone.ledger import open_ledger
from corstone.ledger.merge import merge
from corstone.ledger.writer import Identity
from corstone.report import merged_html

P, F, S = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED


@pytest.mark.parametrize(
    ("outcomes", "answer"),
    [
        ((P, P), "Green: all 2 tests passed"),
        ((P, S), "Green: none of 2 tests is red"),
        ((P, F), "Red: 1 of 2 tests is red"),
        ((F, F), "Red: 2 of 2 tests are red"),
        ((), "Red: 0 of 0 tests are red"),
    ],
)
def test_the_answer_is_one_line(tmp_path: Path, outcomes: tuple[Outcome, ...], answer: str) -> None:
    ids = [f"t.py::test[{n}]" for n in range(len(outcomes))]
    with open_ledger(tmp_path / "led", Identity("r")) as book:
        book.collected(ids)
        for test_id, outcome in zip(ids, outcomes, strict=True):
            book.started(test_id)
            book.finished(test_id, outcome, Cause.BITS if outcome is F else Cause.NONE, reason="why")
    merged_html.write_html(merge([tmp_path / "led"]), tmp_path / "r.html")
    _, index, _ = read_page(tmp_path / "r.html")
    assert index["answer"] == answer


def test_a_reason_that_holds_that_of_the_record_is_said_once(make_record: Any, tmp_path: Path) -> None:
    record = make_record("wrong", change=lambda y: y * 0)
    for n, reason in enumerate((f"FAILED, as expected: {record.verdict.reason}", "AssertionError: something else")):
        with open_ledger(tmp_path / str(n), Identity("r")) as book:
            book.collected(["t.py::test_a"])
            book.started("t.py::test_a")
            book.finished("t.py::test_a", Outcome.PASSED, reason=reason, records=[record])
        merged_html.write_html(merge([tmp_path / str(n)]), tmp_path / "r.html")
        _, _, (detail,) = read_page(tmp_path / "r.html")
        assert detail["reason"] == reason
        assert sum(record.verdict.reason in note for note in detail["notes"]) == n
