"""When what a shared boot says of its programs is believed: a whole console of just the runs asked for."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from dataclasses import replace

import pytest

from corstone.boards.console import Waited
from corstone.boards.deadlines import Deadlines
from corstone.boards.facts import Asked, BootFacts
from corstone.boards.shared_boot import _limits, _parts, _sound
from corstone.boards.transports.firmware import FirmwareRuns
from corstone.firmware.command import FirmwareRun
from corstone.runners import runner
from corstone.transcript import Transcript

PROGRAMS = ("p0.pte", "p1.pte", "p0.pte")


def frames(programs: Sequence[str] = PROGRAMS, code: int = 0) -> list[dict[str, object]]:
    events: list[dict[str, object]] = [{"e": "boot", "board": "corstone-300"}]
    for run, program in enumerate(programs):
        events.append({"e": "begin", "run": run, "program": program})
        events.append({"e": "output", "run": run, "index": 0, "name": f"r{run}-out-0.bin", "crc": "00000000"})
        events.append({"e": "end", "run": run, "code": code, "status": "ok", "outputs": 1})
    events.append({"e": "exit", "code": code, "runs": len(programs), "ok": len(programs), "lost": 0})
    return [{"n": number, **event} for number, event in enumerate(events)]


def console(events: Sequence[dict[str, object]]) -> bytes:
    lines = [json.dumps(event, separators=(",", ":")) for event in events]
    return "".join(f"@corstone {line} #{zlib.crc32(line.encode()):08x}\n" for line in lines).encode()


def sound(raw: bytes, **changes: object) -> bool:
    transport = FirmwareRuns(runner("corstone-300"))
    transport.told = [FirmwareRun(program) for program in PROGRAMS]
    facts = BootFacts(Asked(), Transcript(), Waited("marker", "exit-code"), exit_status=0)
    return _sound(replace(facts, **changes), raw, transport)  # type: ignore[arg-type]


def test_a_boot_that_did_as_it_was_told_is_believed() -> None:
    assert sound(console(frames()))


@pytest.mark.parametrize("gone", range(1, 11))
def test_a_console_with_a_gap_is_not(gone: int) -> None:
    events = frames()
    del events[gone]
    assert not sound(console(events))


def test_runs_of_another_program_or_too_few_or_many_are_not() -> None:
    assert not sound(console(frames(("p0.pte", "p0.pte", "p0.pte"))))
    assert not sound(console(frames(PROGRAMS[:2])))
    assert not sound(console(frames((*PROGRAMS, "p1.pte"))))


def test_a_spoiled_frame_a_fault_or_a_failed_run_are_not() -> None:
    raw = console(frames())
    assert not sound(raw.replace(b'"run":1,"program":"p1.pte"', b'"run":1,"program":"p0.pte"'))
    assert not sound(raw + b"@corstone half a line\n")
    assert not sound(console([*frames(), {"n": 11, "e": "fault", "fault": "UsageFault"}]))
    assert not sound(console(frames(code=8)))
    assert not sound(b"")


@pytest.mark.parametrize(
    "changes",
    [
        {"stopped": "kill"},
        {"interrupted": True},
        {"left_behind": 1},
        {"host_error": "disk full"},
        {"launch_error": "no"},
    ],
)
def test_a_boot_that_had_to_be_stopped_is_not(changes: dict[str, object]) -> None:
    assert not sound(console(frames()), **changes)


def test_a_part_is_the_boots_first_lines_and_one_run() -> None:
    parts = _parts(b"a first line\n" + console(frames()))
    assert sorted(parts) == [0, 1, 2]
    for number, part in parts.items():
        assert part.ended
        assert part.text.startswith(b"a first line\n")
        assert [run.number for run in part.log.runs] == [number]
        assert [output.name for output in part.log.runs[0].outputs] == ["out-0.bin"]
        assert not part.log.missing
    assert b'"e":"exit"' not in parts[2].text


def test_the_whole_may_take_what_all_may_and_a_turn_what_the_most_patient_may() -> None:
    whole, turns = _limits([Deadlines(total=10, progress=2), Deadlines(total=50, progress=1), Deadlines(start=70)])
    assert (whole.total, whole.progress, whole.start) == (120, 30, 70)
    assert turns.total_s == 60
