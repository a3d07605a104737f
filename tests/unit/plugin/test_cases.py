"""Cases of a test: the option lists, narrowed by its marker; and the folder names of tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.capture import Executor
from corstone.causes import Cause, Outcome
from corstone.judge.verdict import Verdict
from corstone.report.record import CaseRecord
from pytest_corstone.cases import DeviceCase, Mark, cases_of, read_mark
from pytest_corstone.device import folder_name
from pytest_corstone.settings import Settings
from pytest_corstone.tally import Tally, TestTally


def settings(
    targets: tuple[str, ...] = ("ethos-u55-128",),
    bits: tuple[int, ...] = (8,),
    policies: tuple[str, ...] = ("fixed",),
    given: bool = False,
) -> Settings:
    return Settings(
        "auto", None, None, targets, given, bits, policies, "", (), None, None, None, 0, None, require_fvp=False
    )


def test_every_combination_in_a_fixed_order() -> None:
    cases = cases_of(settings(("a", "b"), (8, 16), ("fixed", "observer")), Mark())
    assert len(cases) == 8
    assert [c.id for c in cases[:3]] == ["int8-fixed-a", "int8-fixed-b", "int8-observer-a"]


def test_a_markers_targets_replace_the_default_and_narrow_a_given_list() -> None:
    mark = Mark(targets=("x", "y"))
    assert [c.target for c in cases_of(settings(), mark)] == ["x", "y"]
    assert [c.target for c in cases_of(settings(("y", "z"), given=True), mark)] == ["y"]
    assert cases_of(settings(("z",), given=True), mark) == []


def test_widths_and_policies_of_a_marker_only_narrow() -> None:
    assert [c.bits for c in cases_of(settings(bits=(8, 16)), Mark(bits=(16,)))] == [16]
    assert cases_of(settings(bits=(8,)), Mark(bits=(16,))) == []
    assert cases_of(settings(), Mark(policies=("observer",))) == []


def test_the_closest_marker_counts_for_each_argument() -> None:
    close = pytest.mark.fvp(targets="a", timeout_s=5).mark
    far = pytest.mark.fvp(targets=["b"], bits=8, known="why").mark
    assert read_mark([close, far]) == Mark(("a",), (8,), (), 5, "why")
    assert read_mark([]) == Mark()


@pytest.mark.parametrize("wrong", [pytest.mark.fvp("a"), pytest.mark.fvp(target="a")])
def test_an_argument_that_does_not_exist_is_refused(wrong: pytest.MarkDecorator) -> None:
    with pytest.raises(pytest.UsageError, match="marker fvp"):
        read_mark([wrong.mark])


def test_known_reasons_are_found_by_any_name_of_the_case() -> None:
    case = DeviceCase("ethos-u85-256", 16, "fixed")
    for key in ("ethos-u85-256", "int16", "fixed", case.id, "corstone-320"):
        assert Mark(known={key: "why"}).known_reason(case, "corstone-320") == "why"
    assert Mark(known={"int8": "why"}).known_reason(case) == ""
    assert Mark(known="always").known_reason(case) == "always"


@given(st.text(), st.text())
def test_folder_names_are_safe_and_differ(one: str, two: str) -> None:
    names = [folder_name(f"t.py::test[{text}]") for text in (one, two)]
    assert (names[0] == names[1]) == (one == two)
    for name in names:
        assert len(name) < 100
        assert Path(name).name == name
        assert name.isascii()
        assert not name.startswith(".")


def test_a_plain_host_target_is_one_case_whatever_the_widths() -> None:
    cases = cases_of(settings(("tosa-fp", "tosa-int"), (8, 16), ("fixed", "observer"), given=True), Mark())
    assert [c.target for c in cases].count("tosa-fp") == 1
    assert [c.target for c in cases].count("tosa-int") == 4


@pytest.mark.parametrize(("kind", "red"), [("host", True), ("emulator", False), ("fvp", False)])
def test_a_run_of_host_targets_alone_is_red(kind: str, red: bool) -> None:
    verdict = Verdict(Outcome.PASSED, Cause.NONE, "why")
    record = CaseRecord("id", "acos", 8, "fixed", "t", "b", "codes", verdict, Executor(kind, "name", "1"))
    tally = Tally()
    tally.tests["test"] = TestTally("test", marked=True, records=[record])
    assert bool(tally.red(require_fvp=False)) is red
    assert bool(tally.red(require_fvp=True)) is (kind != "fvp")
    assert tally.last_line.startswith(f"{int(not red)} of 1 ran on a device")
