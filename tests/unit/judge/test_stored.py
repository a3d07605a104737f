"""A stored capture is judged again, with nothing but its folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError
from corstone.judge.budget import EVERYWHERE, Budget, Region
from corstone.judge.domain import Domain
from corstone.judge.finding import GraphFinding
from corstone.judge.stored import Question, judge_folder, store


def test_question_round_trip(tmp_path: Path) -> None:
    question = Question(
        (Budget(EVERYWHERE, 2.0, "r"), Budget(Region(0, 1, "e"), float("inf"), "pole")),
        "ramp",
        7,
        Domain(0.0, float("inf"), lo_open=True),
        (GraphFinding("m", "h", False), GraphFinding("w", cause=Cause.WRONG_TABLE)),
        (("TABLE", "int8"),),
    )
    question.save(tmp_path)
    json.loads((tmp_path / "judge.json").read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert Question.load(tmp_path) == question
    assert Question.load(tmp_path / "absent") == Question()


def test_folder_is_judged_like_the_live_case(make_case: Any) -> None:
    case = make_case()
    store(case.capture.folder, Question(case.budgets, "codes", 0, case.domain), case.references)
    _, program, question, verdict = judge_folder(case.capture.folder)
    assert verdict.outcome is Outcome.PASSED
    assert question.stimulus == "codes"
    assert program is not None
    assert [c.reference for c in verdict.comparisons] == ["table", "tosa", "float"]


def test_changed_output_changes_the_verdict(make_case: Any) -> None:
    case = make_case()
    store(case.capture.folder, Question(case.budgets, "codes", 0, case.domain), case.references)
    path = case.capture.folder / "out-0.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    assert judge_folder(case.capture.folder)[3].cause is Cause.BITS


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 1}'])
def test_a_damaged_capture_is_the_callers_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "capture.json").write_text(text)
    with pytest.raises(ConfigError) as error:
        judge_folder(tmp_path)
    assert error.value.exit_code == 2


def test_an_empty_folder_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"capture\.json"):
        judge_folder(tmp_path)


def test_without_a_program_a_good_boot_is_not_green(make_case: Any) -> None:
    case = make_case()
    (case.capture.folder / "program.json").unlink()
    verdict = judge_folder(case.capture.folder)[3]
    assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.REFERENCE)


def test_a_reference_cannot_point_outside_the_folder(make_case: Any, tmp_path: Path) -> None:
    case = make_case()
    store(case.capture.folder, Question(), case.references)
    index = json.loads((case.capture.folder / "references.json").read_text())
    index["references"][0]["files"] = ["../../../../etc/hostname"]
    (case.capture.folder / "references.json").write_text(json.dumps(index))
    with pytest.raises(ConfigError, match="missing"):
        judge_folder(case.capture.folder)


def test_judging_again_imports_no_torch(make_case: Any) -> None:
    case = make_case()
    store(case.capture.folder, Question(case.budgets, "codes", 0, case.domain), case.references)
    code = (
        "import sys; from pathlib import Path; from corstone.judge.stored import judge_folder;"
        f"judge_folder(Path({str(case.capture.folder)!r}));"
        "print([m for m in ('torch', 'executorch', 'ethosu') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
