"""Progress of a run: counts, what is on the boards, time left; in the run itself and from outside."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from corstone.causes import Cause, Outcome
from corstone.cli import main
from corstone.ledger import open_ledger
from corstone.ledger.progress import Progress, duration
from corstone.ledger.writer import Identity

HOSTILE = "t.py::test[\x1b[2J\u202eevil\n::error::x]"


def test_time_left_is_by_recorded_durations_where_all_are_known_else_by_the_pace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    progress = Progress({"a": 1.0, "b": 10.0, "c": 30.0}, begun=now)
    progress.collected(["a", "b", "c"])
    assert progress.seconds_left() == 41
    progress.started("a")
    progress.started("b")
    assert progress.seconds_left() == 20.5, "two boards at once"
    now = 104.0
    progress.finished("a", "passed")
    assert progress.text() == "corstone 1/3 | 1 passed | about 40 s left | on the boards: b"
    progress.expected_s.pop("c")
    assert progress.seconds_left() == 8, "a test nobody has timed: 4 s for one, two are left"
    progress.finished("b", "failed")
    progress.finished("c", "passed")
    assert progress.text() == "corstone 3/3 | 1 failed | 2 passed"


def test_nothing_is_promised_before_the_first_end_and_a_name_moves_no_cursor() -> None:
    progress = Progress()
    progress.collected([HOSTILE, "b"])
    progress.started(HOSTILE)
    assert progress.seconds_left() is None
    assert "left" not in progress.text()
    assert progress.text().isprintable()
    assert len(progress.text(30)) <= 30


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0 s"), (59, "59 s"), (200, "3 min 20 s"), (7500, "2 h 05 min"), (59.7, "1 min 00 s")]
)
def test_durations_are_said_in_two_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_a_run_is_watched_from_another_process(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "watch", str(tmp_path), "--once"]) == 0
    assert "no run in" in capsys.readouterr().out
    book = open_ledger(tmp_path, Identity("r", "u55"))
    book.collected(["t.py::test_a", "t.py::test_b", HOSTILE])
    for test_id, outcome in (("t.py::test_a", Outcome.PASSED), ("t.py::test_b", Outcome.FAILED)):
        book.started(test_id)
        book.finished(test_id, outcome, Cause.NONE if outcome is Outcome.PASSED else Cause.BITS)
    book.started(HOSTILE)
    assert main(["report", "watch", str(tmp_path), "--once"]) == 0
    line = capsys.readouterr().out.rstrip("\n")
    assert line.startswith("2/3 | ")
    assert "1 passed" in line
    assert "1 failed" in line
    assert " left | on the boards: test[" in line
    assert line.isprintable(), "a name in a ledger moves no cursor and begins no line"
    book.finished(HOSTILE, Outcome.PASSED)
    book.close()
    assert main(["report", "watch", str(tmp_path)]) == 0, "ends with the run"
    assert capsys.readouterr().out.startswith("3/3 | ")
