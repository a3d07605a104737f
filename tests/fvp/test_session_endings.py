"""Each ending happens for real: a scripted simulator is booted; verdict, time, log and what is left are checked.

With CORSTONE_RECORD set the transcripts and facts are recorded into tests/transcripts, replayed by
tests/unit/boards/test_endings_replay.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fakes.endings import CASES, Case
from tests.fakes.fakes import dummy_runner, install_fake, small_program
from tests.fakes.recordings import record

from corstone.boards import board_for_target, endings, session
from corstone.boards.endings import RESIDUAL, RULES, UNKNOWN
from corstone.boards.facts import BootFacts
from corstone.boards.providers import Simulator
from corstone.boards.request import BootRequest
from corstone.capture import Capture
from corstone.causes import Outcome


@pytest.fixture
def boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BootFacts]]:
    """The facts of every boot of the test; afterwards no process of it may live and no folder be left."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    seen: list[BootFacts] = []
    classify = endings.classify

    def spy(facts: BootFacts) -> object:
        seen.append(facts)
        return classify(facts)

    monkeypatch.setattr(session, "classify", spy)
    mark = f"CORSTONE_TEST_MARK={tmp_path}"
    monkeypatch.setenv("CORSTONE_TEST_MARK", str(tmp_path))
    yield seen
    assert living(mark) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def living(mark: str) -> list[str]:
    """Command lines of other processes that carry the mark, be their session what it may."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and mark.encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


def boot_case(case: Case, tmp_path: Path) -> Capture:
    """Boot the case's fake as an FVP, past the probe."""
    path = install_fake(tmp_path / "bin", {"steps": case.steps})
    if case.launch == "missing":
        path.unlink()
    elif case.launch == "loader":
        path.write_text("#!/no/such/loader\n")
    elif case.launch == "mode":
        path.chmod(0o644)
    elif case.launch == "foreign":
        path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf3\x00" + bytes(200))
    request = BootRequest(
        program=small_program(tmp_path / "program", case.inputs, case.outputs),
        inputs=tuple(bytes(range(n)) for n in case.inputs),
        folder=tmp_path / "capture",
        deadlines=case.deadlines,
    )
    plan = session.Plan(
        board=board_for_target(request.program.target),
        simulator=Simulator("fvp", (str(path),), path.name, "11.27.42"),
        runner=dummy_runner(tmp_path, case.runner),
        image=tmp_path / "runner.elf",
        deadlines=case.deadlines,
    )
    return session.boot_planned(request, plan)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ending(case: Case, tmp_path: Path, boots: list[BootFacts]) -> None:
    began = time.monotonic()
    capture = boot_case(case, tmp_path)
    took = time.monotonic() - began
    ending = capture.ending
    assert (ending.outcome, ending.cause, ending.evidence["ending"]) == (case.outcome, case.cause, case.rule), ending
    assert case.message in ending.message
    assert ending.outcome is Outcome.PASSED or ending.hint
    assert case.note in "\n".join(capture.notes)
    # The promise is the deadlines' sum; a loaded machine gets as much again.
    d = case.deadlines
    assert took < 2 * (d.total + d.settle + d.interrupt + d.terminate + d.kill)
    said = [text for name, text in case.steps if name == "print"]
    if said and not case.launch:
        assert said[0].split("{")[0].splitlines()[0].encode() in capture.console
    assert case.keep.encode() in capture.console
    assert Capture.load(tmp_path / "capture") == capture
    if os.environ.get("CORSTONE_RECORD"):
        record(case, boots[-1], capture)


def test_every_row_of_the_catalogue_happens() -> None:
    rows = {rule.id for rule in (*RULES, *RESIDUAL, UNKNOWN)} | {"passed"}
    # An interrupt, two host errors and a process limit have tests of their own: no simulator can play them.
    elsewhere = {"interrupted", "host-error", "launch-error", "launch-argument-list"}
    assert {case.rule for case in CASES} == rows - elsewhere


def test_at_least_sixty_distinct_endings() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert len({case.rule for case in CASES}) >= 60
