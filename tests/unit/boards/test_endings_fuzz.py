"""Any console and any facts get an ending: nothing raises, nothing is green without its evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fakes.recordings import TRANSCRIPTS, replay

from corstone.boards.console import Waited
from corstone.boards.endings import classify
from corstone.boards.transports.base import State
from corstone.causes import Outcome
from corstone.transcript import read_transcript

GOOD = ["passes", "passes-semihosting", "firmware-passes", "inject-nothing"]
LOGS = sorted(TRANSCRIPTS.glob("*.log"), key=lambda path: path.name)[::7]

mutation = st.tuples(st.integers(0, 1 << 16), st.integers(0, 64), st.binary(max_size=24))


def mutated(raw: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    data = bytearray(raw)
    for at, cut, new in changes:
        at %= len(data) + 1
        data[at : at + cut] = new
    return bytes(data)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(LOGS), st.lists(mutation, min_size=1, max_size=6), st.sampled_from(GOOD))
def test_mutated_consoles_with_untouched_outputs_are_never_green(
    log: object, changes: list[tuple[int, int, bytes]], name: str
) -> None:
    facts, _ = replay(name)
    raw = mutated(log.read_bytes()[:8192], changes)  # type: ignore[attr-defined]
    outputs = tuple(replace(o, state=State.UNTOUCHED) for o in facts.outputs)
    ending, _ = classify(replace(facts, transcript=read_transcript(raw), outputs=outputs))
    assert ending.outcome is not Outcome.PASSED


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(GOOD),
    st.sampled_from(["exit", "marker", "deadline", "flood", "fault"]),
    st.sampled_from(["by-itself", "int", "term", "kill", "not-started"]),
    st.one_of(st.none(), st.integers(-15, 255)),
    st.sampled_from(list(State)),
)
def test_any_facts_get_an_ending(name: str, kind: str, stopped: str, status: int | None, state: State) -> None:
    facts, _ = replay(name)
    outputs = tuple(replace(o, state=state) for o in facts.outputs)
    changed = replace(
        facts, waited=Waited(kind, "total", 3.0, 1.0), stopped=stopped, exit_status=status, outputs=outputs
    )
    ending, _ = classify(changed)
    assert ending.evidence["ending"]
    if ending.outcome is Outcome.PASSED:
        assert state is State.COMPLETE
        assert stopped != "not-started"
        assert status in {0, None} or stopped in {"int", "term", "kill"}
    else:
        assert ending.hint


@pytest.mark.parametrize("name", GOOD)
def test_a_good_run_loses_its_green_with_any_piece_of_evidence(name: str) -> None:
    facts, _ = replay(name)
    assert classify(facts)[0].outcome is Outcome.PASSED
    raw = (TRANSCRIPTS / f"{name}.log").read_bytes()
    for word in (
        b"Inference completed",
        b"copied to",
        b"populated with",
        b"Model run: 1",
        b'"e":"end"',
        b'"e":"output"',
    ):
        if word not in raw:
            continue
        lines = [line for line in raw.splitlines(keepends=True) if word not in line]
        if word == b"Model run: 1" and (b"Program complete" in raw or b"@corstone" in raw):
            continue  # said twice
        ending, _ = classify(replace(facts, transcript=read_transcript(b"".join(lines))))
        assert ending.outcome is not Outcome.PASSED, word
    for state in State:
        if state is not State.COMPLETE:
            outputs = tuple(replace(o, state=state) for o in facts.outputs)
            assert classify(replace(facts, outputs=outputs))[0].outcome is not Outcome.PASSED
    assert classify(replace(facts, outputs=()))[0].outcome is not Outcome.PASSED
    assert classify(replace(facts, exit_status=1))[0].outcome is not Outcome.PASSED
    assert classify(replace(facts, interrupted=True))[0].outcome is not Outcome.PASSED
