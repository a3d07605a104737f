"""A fail pattern counts although a pass pattern follows, and at once: public report D69.

A suite that reads on after a fault until the word that means success reports a pass; one that blocks on a silent
console never times out (``console-silent`` in ``test_session_endings``).
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.fakes.endings.case import (
    BANNER,
    ET_END,
    ET_RUN,
    ET_START,
    HANG,
    OUT0,
    Steps,
    says,
)
from tests.fakes.fakes import dummy_runner, install_fake, small_program

from corstone.boards import board_for_target, session
from corstone.boards.deadlines import Deadlines
from corstone.boards.providers import Simulator
from corstone.boards.request import BootRequest
from corstone.causes import Outcome

LONG_S = 60.0
CPU_FAULT = "FAULT UsageFault cfsr=0x00010000 hfsr=0x40000000 pc=0x00001234 lr=0x00000101 sp=0x20010000\r\n"
HARD_FAULT = (
    "Hard fault. irqn=-13, pc=0x10002468, lr=0x10001111, xpsr=0x41000003, sp=0x3007ff00\n"
    "        cfsr=0x00008200 bfar=0x11200000 mmfar=0x00000000\n"
)
CASES: dict[str, tuple[str, Steps]] = {
    "cpu-fault": ("semihosting", [BANNER, says(ET_START + CPU_FAULT), OUT0, says(ET_RUN + ET_END), HANG]),
    "hard-fault": ("semihosting", [BANNER, says(ET_START + HARD_FAULT), OUT0, says(ET_RUN + ET_END), HANG]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_fault_before_the_words_of_success_is_no_pass_and_ends_the_wait(name: str, tmp_path: Path) -> None:
    runner, steps = CASES[name]
    path = install_fake(tmp_path / "bin", {"steps": steps})
    deadlines = Deadlines(start=LONG_S, progress=LONG_S, total=LONG_S, settle=0.5, interrupt=2, terminate=0.3, kill=5)
    request = BootRequest(small_program(tmp_path / "program", (16,), (16,)), (bytes(16),), tmp_path / "capture")
    plan = session.Plan(
        board=board_for_target(request.program.target),
        simulator=Simulator("fvp", (str(path),), path.name, "11.27.42"),
        runner=dummy_runner(tmp_path, runner),
        image=tmp_path / "runner.elf",
        deadlines=deadlines,
    )
    began = time.monotonic()
    ending = session.boot_planned(request, plan).ending
    assert ending.outcome is Outcome.CRASHED, ending
    assert time.monotonic() - began < LONG_S / 2
