"""The parts of ``corstone check``: words to values, statuses of a run, progress lines."""

from __future__ import annotations

import argparse
import io
from pathlib import Path

import pytest

from corstone.capture import Executor
from corstone.causes import Cause, Outcome
from corstone.commands import TABLE, available, options
from corstone.commands.check import status_of
from corstone.commands.progress import Lines
from corstone.judge.verdict import Verdict
from corstone.pipeline import CheckRequest
from corstone.report import terminal
from corstone.report.record import CaseRecord
from corstone.targets import HOST_TARGETS, TARGETS

EMULATOR = Executor("emulator", "corstone-emulator", "0.1.0")
FVP = Executor("fvp", "FVP_Corstone_SSE-300_Ethos-U55", "11.27")


def record(outcome: Outcome, cause: Cause = Cause.NONE, executor: Executor | None = EMULATOR) -> CaseRecord:
    return CaseRecord("id", "acos", 8, "fixed", "t", "b", "codes", Verdict(outcome, cause, "why"), executor)


@pytest.mark.parametrize(
    ("cases", "status"),
    [
        ([], 5),
        ([record(Outcome.PASSED)], 0),
        ([record(Outcome.PASSED), record(Outcome.FAILED, Cause.BITS)], 1),
        ([record(Outcome.ERROR, Cause.BAD_PROGRAM)], 2),
        ([record(Outcome.ERROR, Cause.COMPILE)], 3),
        ([record(Outcome.ERROR, Cause.BAD_PROGRAM), record(Outcome.ERROR, Cause.COMPILE)], 3),
        ([record(Outcome.FAILED, Cause.BITS), record(Outcome.CRASHED, Cause.CPU_FAULT)], 4),
        ([record(Outcome.TIMED_OUT, Cause.NO_PROGRESS)], 4),
        ([record(Outcome.NO_OUTPUT, Cause.CANARY)], 4),
        ([record(Outcome.SKIPPED, Cause.NO_DEVICE, None)], 5),
        ([record(Outcome.SKIPPED, Cause.NO_DEVICE, None), record(Outcome.PASSED)], 5),
        ([record(Outcome.CRASHED, Cause.CPU_FAULT), record(Outcome.ERROR, Cause.LAUNCH)], 3),
    ],
)
def test_the_worst_verdict_gives_the_status(cases: list[CaseRecord], status: int) -> None:
    assert status_of(cases).status == status


def test_a_required_fvp_is_not_satisfied_by_the_emulator() -> None:
    assert status_of([record(Outcome.PASSED, executor=FVP)], require_fvp=True).status == 0
    mixed = status_of([record(Outcome.PASSED, executor=FVP), record(Outcome.PASSED)], require_fvp=True)
    assert mixed.status == 5
    assert "1 of 2 cases did not run on one" in mixed.reasons[0]
    failed = status_of([record(Outcome.FAILED, Cause.BITS)], require_fvp=True)
    assert failed.status == 1


def test_host_targets_alone_are_red_and_count_as_no_device() -> None:
    host = record(Outcome.PASSED, executor=Executor("host", "TOSA reference model, quantized", "tosa-tools 2026.2"))
    alone = status_of([host])
    assert alone.status == 5
    assert "nothing ran on a device" in alone.reasons[0]
    assert status_of([host, record(Outcome.PASSED)]).status == 0
    assert status_of([host, record(Outcome.PASSED, executor=FVP)], require_fvp=True).status == 5
    assert terminal.ran_on_device([host, record(Outcome.PASSED)]) == (
        "1 of 2 ran on a device, 0 on an FVP, 1 on the emulator"
    )
    assert "no board: host reference" in terminal.executed_by(host)


def test_groups_of_targets_become_targets() -> None:
    assert options.targets("all") == list(TARGETS)
    assert options.targets("vgf,tosa-fp,vgf-fp") == ["vgf-fp", "vgf-int", "tosa-fp"]
    assert set(options.targets("host")) == set(HOST_TARGETS)


def test_words_become_values() -> None:
    assert options.words(" a, b ,a") == ["a", "b"]
    assert options.widths("8,16") == [8, 16]
    assert options.shape("2,3,4") == (2, 3, 4)
    assert options.shape("1,1,28,28") == (1, 1, 28, 28), "equal sizes are no repetitions"
    assert options.shape("()") == ()
    assert options.seconds("1.5") == 1.5
    assert options.path("~/x") == Path.home() / "x"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (options.words, "a,,b"),
        (options.widths, "eight"),
        (options.shape, "2,-1"),
        (options.shape, "2,x"),
        (options.seconds, "0"),
        (options.seconds, "nan"),
        (options.seconds, "soon"),
    ],
)
def test_words_that_are_no_values_are_refused(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(argparse.ArgumentTypeError, match="expected"):
        read(text)


def test_progress_in_a_log_is_plain_lines() -> None:
    stream = io.StringIO()
    requests = [CheckRequest("acos"), CheckRequest("asin")]
    with Lines(requests, stream) as lines:
        for case in ("one", "two"):
            lines.progress(case, "lower")
        for case, outcome in (("one\x1b[2J", "PASSED"), ("two", "FAILED")):
            lines.progress(case, "boot")
            lines.progress(case, outcome)
    text = stream.getvalue()
    assert "\x1b" not in text
    assert "\r" not in text
    assert [line.split("  ")[0] for line in text.splitlines()] == [
        "2 cases",
        "compiling, or taking from the cache",
        "[1/2] PASSED",
        "[2/2] FAILED",
    ]
    assert lines.finished == ["one\x1b[2J", "two"]


def test_quiet_is_silent() -> None:
    stream = io.StringIO()
    with Lines([CheckRequest("acos")], stream, quiet=True) as lines:
        lines.progress("one", "lower")
        lines.progress("one", "PASSED")
    assert stream.getvalue() == ""


def test_every_command_that_is_listed_has_its_two_functions() -> None:
    import importlib

    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    for row in available():
        module = importlib.import_module(f"corstone.commands.{row.module}")
        module.add_parser(subparsers)
        assert callable(module.run), row.name
    assert len({row.name for row in TABLE}) == len(TABLE)
    assert {"check", "run", "judge", "doctor", "setup"} <= {row.name for row in available()}
