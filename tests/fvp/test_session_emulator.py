"""Whole boots on the emulator with Arm's image: good, damaged and misfit programs, and simulators that die or hang.

What Arm's image prints here is the real thing. With CORSTONE_RECORD set, transcripts and facts are recorded as
``arm-*`` and replayed like those of the fake simulator.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.fakes.endings.arm import ARM_CASES, ArmCase
from tests.fakes.endings.injections import INJECTIONS, Injection
from tests.fakes.recordings import record

from corstone.boards import BootRequest, Deadlines, boot, session
from corstone.boards.endings import classify
from corstone.boards.facts import BootFacts
from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError, HarnessError
from corstone.formats.pte import read_pte
from corstone.program import Program
from corstone.runners import runner
from corstone.setup import image_path

ACOS = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
PATIENT = Deadlines(start=60, progress=60, total=120, settle=10, interrupt=10, terminate=2, kill=5)


def have_image() -> bool:
    try:
        image_path(runner("arm-executorch-u55"))
    except HarnessError:
        return False
    return True


pytestmark = [
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed"),
    pytest.mark.skipif(not have_image(), reason="Arm's runner image cannot be had: run 'corstone setup'"),
]


@dataclass
class Boots:
    """Boots programs into folders of the test."""

    folder: Path
    facts: list[BootFacts]

    def request(self, data: bytes | None = None, **more: object) -> BootRequest:
        pte = self.folder / "program.pte"
        pte.write_bytes(ACOS.read_bytes() if data is None else data)
        whole = read_pte(ACOS)
        program = Program(pte, str(more.pop("target", "ethos-u55-128")), whole.input_specs, whole.output_specs)
        inputs = tuple(bytes(spec.size_bytes) for spec in program.inputs)
        options = {"provider": "emulator", "runner": "arm-executorch-u55", "deadlines": PATIENT, **more}
        return BootRequest(program, inputs, self.folder / "out", **options)  # type: ignore[arg-type]

    def boot(self, data: bytes | None = None, **more: object) -> Capture:
        return boot(self.request(data, **more))


@pytest.fixture
def boots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Boots:
    seen: list[BootFacts] = []

    def spy(facts: BootFacts) -> object:
        seen.append(facts)
        return classify(facts)

    monkeypatch.setattr(session, "classify", spy)
    return Boots(tmp_path, seen)


def qemus_of(folder: Path) -> list[int]:
    """QEMU processes that carry the test's mark."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"CORSTONE_TEST_MARK={folder}".encode() in (entry / "environ").read_bytes():
                name = (entry / "comm").read_text().strip()
                if name.startswith("qemu"):
                    found.append(int(entry.name))
        except OSError:
            continue
    return found


def test_a_program_runs_and_leaves_evidence(boots: Boots) -> None:
    capture = boots.boot(trace=True)
    assert (capture.ending.outcome, capture.ending.evidence["ending"]) == (Outcome.PASSED, "passed"), capture.ending
    assert capture.executor.kind == "emulator"
    assert "QEMU" in capture.executor.version
    assert capture.exit_status == 0
    assert [len(data) for data in capture.output_bytes()] == [1024]
    assert len(set(capture.output_bytes()[0])) > 1
    assert capture.evidence["inputs populated"] == "1 tensors, 1024 bytes at 0x92000000"
    assert capture.evidence["outputs copied"] == "1 tensors, 1024 bytes at 0x93000000"
    assert {"NPU ACTIVE", "NPU TOTAL", "NPU IDLE"} <= set(capture.counters)
    assert b"program terminating" in capture.console
    assert (capture.folder / "trace.txt").read_text().strip()
    assert capture.notes == ()


def test_two_boots_give_the_same_bits(boots: Boots) -> None:
    first, second = boots.boot(), boots.boot()
    assert first.output_bytes() == second.output_bytes()
    assert first.counters == second.counters


@pytest.mark.parametrize("case", ARM_CASES, ids=lambda case: case.name)
def test_what_arms_image_says_of_a_misfit(case: ArmCase, boots: Boots) -> None:
    capture = boots.boot(case.change(ACOS.read_bytes()), preflight=False, target=case.target)
    ending = capture.ending
    assert (ending.outcome, ending.cause, ending.evidence["ending"]) == (case.outcome, case.cause, case.rule), ending
    assert case.message in ending.message
    if os.environ.get("CORSTONE_RECORD"):
        record(case, boots.facts[-1], capture)


@pytest.mark.parametrize("case", ARM_CASES, ids=lambda case: case.name)
def test_the_same_is_refused_before_the_boot(case: ArmCase, boots: Boots) -> None:
    if not case.refused:
        pytest.skip("this one shows on the device only")
    with pytest.raises(ConfigError) as refused:
        boots.boot(case.change(ACOS.read_bytes()), target=case.target)
    assert refused.value.exit_code == 2
    assert boots.facts == []


def injection(case: Injection) -> object:
    return pytest.param(case, id=case.name, marks=[pytest.mark.slow] if case.slow else [])


@pytest.mark.parametrize("case", [injection(case) for case in INJECTIONS])
def test_what_our_runner_does_when_told_to(case: Injection, boots: Boots) -> None:
    waits = Deadlines(start=60, progress=2, total=10, settle=1, interrupt=10, terminate=2, kill=5)
    capture = boots.boot(runner="corstone-300", inject=case.inject, deadlines=waits if case.slow else PATIENT)
    ending = capture.ending
    assert (ending.outcome, ending.cause, ending.evidence["ending"]) == (case.outcome, case.cause, case.rule), ending
    assert case.message in ending.message
    if os.environ.get("CORSTONE_RECORD"):
        record(case, boots.facts[-1], capture)


@pytest.mark.parametrize("at", [0.0, 0.3, 0.8])
def test_a_killed_emulator_leaves_no_qemu(boots: Boots, monkeypatch: pytest.MonkeyPatch, at: float) -> None:
    monkeypatch.setenv("CORSTONE_TEST_MARK", str(boots.folder))
    done = threading.Event()

    def killer() -> None:
        end = time.monotonic() + 60
        while not (found := qemus_of(boots.folder)) and time.monotonic() < end:
            time.sleep(0.005)
        done.wait(at)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):  # it may have been quicker
                os.kill(os.getsid(pid) if at == 0.3 else pid, signal.SIGKILL)

    thread = threading.Thread(target=killer)
    thread.start()
    capture = boots.boot()
    done.set()
    thread.join()
    assert capture.ending.outcome in {Outcome.CRASHED, Outcome.ERROR, Outcome.NO_OUTPUT, Outcome.PASSED}
    if capture.ending.outcome is Outcome.PASSED:  # it was done before the signal came
        assert capture.evidence["output-states"] == "complete"
    assert qemus_of(boots.folder) == []


def test_a_deadline_in_the_middle(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORSTONE_TEST_MARK", str(boots.folder))
    capture = boots.boot(deadlines=Deadlines(0.05, 0.05, 0.05, 0.05, 5, 1, 5))
    assert capture.ending.outcome is not Outcome.PASSED
    assert qemus_of(boots.folder) == []


def test_another_boards_image_is_refused(boots: Boots) -> None:
    elf = image_path(runner("arm-executorch-u85"))
    with pytest.raises(ConfigError, match="no memory there"):
        boots.boot(runner_elf=elf)
    capture = boots.boot(runner_elf=elf, preflight=False)
    assert (capture.ending.outcome, capture.ending.evidence["ending"]) == (Outcome.ERROR, "elf-rejected")


def test_without_qemu(boots: Boots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(boots.folder))
    monkeypatch.delenv("CORSTONE_QEMU", raising=False)
    with pytest.raises(HarnessError) as refused:
        boots.boot()
    assert refused.value.cause is Cause.MISSING_TOOL
    assert "apt install qemu-system-arm" in refused.value.hint


def test_a_setting_that_the_emulator_does_not_know(boots: Boots) -> None:
    capture = boots.boot(settings=("mps3_board.no_such=1",))
    assert (capture.ending.outcome, capture.ending.cause) == (Outcome.ERROR, Cause.CONFIGURATION)
    assert "no_such" in capture.ending.message
