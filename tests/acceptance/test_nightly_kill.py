"""kill -9 at random moments of a run of 40 tests under ``-n 4``: no verdict is lost, none doubled, the counts agree."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
from tests.acceptance import nightly_project as project

from corstone.ledger.merge import merge
from corstone.ledger.model import State

TESTS = 40
SOURCE = f"""
    import pathlib, time, pytest
    @pytest.mark.parametrize("i", range({TESTS}))
    def test_sleep(i):
        time.sleep(0.02)
        with open("truth.txt", "a") as f:       # what really happened, beside the ledger
            f.write(f"{{i}}\\n")
        assert i % 10 != 3
"""
DEADLINE_S = 60.0


def lines(folder: Path, kind: str) -> list[dict[str, object]]:
    start = b'{"t":"' + kind.encode()
    raw = [x for path in folder.glob("*.ndjson") for x in path.read_bytes().splitlines(keepends=True)]
    return [json.loads(x) for x in raw if x.startswith(start) and x.endswith(b"\n")]


def wait_for_starts(folder: Path, count: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while len(lines(folder, "started")) < count:
        assert time.monotonic() < deadline, f"{count} tests did not start in {DEADLINE_S} s"
        time.sleep(0.002)


@pytest.mark.parametrize("who", ["worker", "controller"])
@pytest.mark.parametrize("moment", range(10))
def test_merged_counts_agree_after_kill_9(tmp_path: Path, who: str, moment: int) -> None:
    rng = random.Random(f"{who}-{moment}")
    # Near the end xdist has told every worker to stop, and what a dead one still had goes to nobody: they stay not run.
    last = TESTS - 20 if who == "worker" else TESTS - 8
    after, delay_s = rng.randint(1, last), rng.random() * 0.03
    folder = project.write_project(tmp_path / "p", SOURCE)
    ledgers = folder / "ledgers"
    ledgers.mkdir()
    with project.started(project.command("-n", "4", "--corstone-ledger=ledgers"), folder) as process:
        wait_for_starts(ledgers, after)
        time.sleep(delay_s)
        if who == "controller":
            victim = process.pid
        else:
            workers = [e for e in lines(ledgers, "open") if e["worker"]]
            victim = int(str(rng.choice(workers)["pid"]))
        os.kill(victim, signal.SIGKILL)
        process.wait(timeout=DEADLINE_S)
        if who == "controller":
            quiet(folder)
    merged = merge([ledgers])
    ran = [int(x) for x in (folder / "truth.txt").read_text().split()]

    assert len({c.test_id for c in merged.cases}) == len(merged.cases) == merged.collected == TESTS
    assert not merged.problems, merged.problems
    assert merged.red
    for case in merged.cases:
        i = int(case.test_id.rsplit("[", 1)[1].rstrip("]"))
        assert len(case.attempts) <= 1, "a test was counted twice"
        expected = State.FAILED if i % 10 == 3 else State.PASSED
        if case.state is expected:
            assert ran.count(i) == 1
        else:
            # Dead before its end was written: then it may have done its work, but no more than once.
            assert case.state in {State.ABORTED, State.NOT_RUN}
            assert ran.count(i) <= (case.state is State.ABORTED)
    unfinished = merged.counts[State.ABORTED] + merged.counts[State.NOT_RUN]
    if who == "worker":
        # xdist gives a dead worker's tests to the next one, but for the one it blames, which may not have begun.
        assert unfinished <= 1
    else:
        assert unfinished >= 1


def quiet(folder: Path) -> None:
    """Wait until the orphaned workers have stopped: the truth file no longer grows."""
    deadline, last = time.monotonic() + DEADLINE_S, -1
    while time.monotonic() < deadline:
        size = (folder / "truth.txt").stat().st_size if (folder / "truth.txt").exists() else 0
        if size == last:
            return
        last = size
        time.sleep(0.15)
