"""Recorded boots classified again: the same facts and transcript give the same ending, whatever changes around them."""

from __future__ import annotations

import pytest
from tests.fakes.endings import CASES
from tests.fakes.endings.arm import ARM_CASES
from tests.fakes.endings.injections import INJECTIONS
from tests.fakes.recordings import TRANSCRIPTS, replay

from corstone.boards.endings import classify

NAMES = [case.name for case in CASES] + [case.name for case in ARM_CASES] + [case.name for case in INJECTIONS]


@pytest.mark.parametrize("name", NAMES)
def test_replay(name: str) -> None:
    facts, expected = replay(name)
    ending, _ = classify(facts)
    got = {"outcome": ending.outcome.value, "cause": ending.cause.value, "ending": ending.evidence["ending"]}
    assert got == expected


def test_each_recording_belongs_to_a_case() -> None:
    names = {path.stem for path in TRANSCRIPTS.glob("*.json")}
    assert names == set(NAMES)
    assert {path.stem for path in TRANSCRIPTS.glob("*.log")} >= names


def test_recordings_name_no_machine() -> None:
    for path in TRANSCRIPTS.iterdir():
        content = path.read_bytes()
        assert b"/tmp/" not in content, path.name
        assert b"/home/" not in content, path.name
