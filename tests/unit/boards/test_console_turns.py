"""Work in turns on one console: each turn has its own time, and talking does not lengthen it."""

from __future__ import annotations

import os
import pty
import re
import tty
from collections.abc import Callable
from pathlib import Path

import pytest

from corstone.boards import console as console_module
from corstone.boards.console import Console, Turns, Waited
from corstone.boards.deadlines import Deadlines

TURNS = Turns(re.compile(rb"begin (?P<turn>\d+)\n"), 10.0)
PATIENT = Deadlines(start=1000.0, progress=1000.0, total=1000.0)


class Clock:
    """Stands in for ``time``: every look at the process moves it on, and the target says its next line."""

    def __init__(self, say: Callable[[int], bytes], step: float) -> None:
        self.now = 0.0
        self.looks = 0
        self._say = say
        self._step = step
        self.fd = -1

    def monotonic(self) -> float:
        return self.now

    def status(self) -> int | None:
        self.now += self._step
        text = self._say(self.looks)
        self.looks += 1
        if text:
            os.write(self.fd, text)
        return None if text else 0


def waited(clock: Clock, folder: Path, monkeypatch: pytest.MonkeyPatch, turns: Turns | None) -> Waited:
    master, clock.fd = pty.openpty()
    tty.setraw(clock.fd)
    monkeypatch.setattr(console_module, "time", clock)
    try:
        with Console(master, folder / "console.log") as console:
            return console.wait((), PATIENT, clock.status, lambda _tail: True, turns)
    finally:
        os.close(clock.fd)
        os.close(master)


def test_a_turn_that_talks_without_end_is_over_at_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lambda look: b"begin 0\n" if look == 0 else b"still here\n", 1.0)
    ended = waited(clock, tmp_path, monkeypatch, TURNS)
    assert (ended.kind, ended.name) == ("deadline", "total")
    assert clock.now == pytest.approx(11.0)  # it began at 1


def test_every_turn_has_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lambda look: b"begin %d\n" % (look // 8) if look < 80 else b"", 1.0)
    assert waited(clock, tmp_path, monkeypatch, TURNS).kind == "exit"
    assert clock.now > 80.0


def test_a_beginning_that_is_repeated_is_no_new_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lambda _look: b"begin 3\n", 1.0)
    assert waited(clock, tmp_path, monkeypatch, TURNS).name == "total"


def test_without_turns_only_the_whole_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(lambda _look: b"begin 3\n", 300.0)
    ended = waited(clock, tmp_path, monkeypatch, None)
    assert (ended.kind, ended.name) == ("deadline", "total")
    assert clock.now == pytest.approx(1200.0)
