"""The writer: what survives a kill, a full disk, a fork, a clock that jumps, and text nobody should print."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from corstone.causes import Cause, Outcome
from corstone.ledger import LedgerError, open_ledger
from corstone.ledger.events import TEXT_CAP_CHARS
from corstone.ledger.merge import merge
from corstone.ledger.model import State
from corstone.ledger.writer import Identity, new_run_id


def test_every_line_is_there_after_kill_9(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom corstone.causes import Outcome\n"
        "from corstone.ledger import open_ledger\n"
        "b = open_ledger(Path(sys.argv[1]))\nb.collected(['a','b'])\nb.started('a')\nb.finished('a', Outcome.PASSED)\n"
        "b.started('b')\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [c.state for c in merge([tmp_path]).cases] == [State.PASSED, State.ABORTED]


HOSTILE = "\x00\x04\x1b[31m red \r\n \ud800 \u202e <script>alert(1)</script> \U0001f600"


def test_any_text_comes_back_as_it_was(tmp_path: Path) -> None:
    with open_ledger(tmp_path, Identity("r")) as book:
        book.collected([HOSTILE])
        book.started(HOSTILE)
        book.finished(HOSTILE, Outcome.FAILED, Cause.TEST_FAILED, reason=HOSTILE, text=HOSTILE, out=HOSTILE)
    assert all(json.loads(line) for line in book.path.read_bytes().splitlines())
    case = merge([tmp_path]).cases[0]
    assert case.test_id == HOSTILE
    assert case.reason == HOSTILE
    assert case.last is not None
    assert case.last.detail()["out"] == HOSTILE


def test_a_huge_transcript_keeps_head_and_tail(tmp_path: Path) -> None:
    with open_ledger(tmp_path, Identity("r")) as book:
        book.collected(["a"])
        book.started("a")
        book.finished("a", Outcome.PASSED, out="HEAD" + "x" * 5_000_000 + "TAIL")
    case = merge([tmp_path]).cases[0]
    assert case.last is not None
    out = case.last.detail()["out"]
    assert out.startswith("HEAD")
    assert out.endswith("TAIL")
    assert "characters left out" in out
    assert len(out) < TEXT_CAP_CHARS + 100


def _limited(folder: str, limit: int) -> None:
    """Child: a file may not grow beyond ``limit`` bytes, as on a full disk, until the limit is lifted."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    book = open_ledger(Path(folder), Identity("r"))
    book.collected([f"t{i}" for i in range(10)])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    for i in range(10):
        book.started(f"t{i}")
        book.finished(f"t{i}", Outcome.PASSED, out="y" * 100)
        if i == 7:
            print(book.incomplete)
            if len(sys.argv) > 3:
                resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    book.close()


def _run_limited(folder: Path, limit: int, *more: str) -> str:
    done = subprocess.run(
        [sys.executable, __file__, str(folder), str(limit), *more],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_a_full_disk_stops_nothing_and_the_merge_is_red_with_every_test_in_it(tmp_path: Path) -> None:
    printed = _run_limited(tmp_path, 1500)
    assert "entries not written" in printed
    merged = merge([tmp_path])
    assert merged.red
    assert len(merged.cases) == 10
    states = [c.state for c in merged.cases]
    assert State.PASSED in states
    assert State.NOT_RUN in states


def test_when_the_disk_has_room_again_nothing_is_lost(tmp_path: Path) -> None:
    printed = _run_limited(tmp_path, 1500, "recover")
    assert "entries not written" in printed
    merged = merge([tmp_path])
    assert merged.final_line == "10 collected = 10 reported: 10 passed"
    assert not merged.red
    assert any("damaged" in n for n in merged.notes)  # the torn line, told again in full


def test_a_device_that_is_always_full_refuses_no_test(tmp_path: Path) -> None:
    book = open_ledger(tmp_path, Identity("r"))
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, book._fd)
    os.close(full)
    book.collected(["a"])
    book.started("a")
    book.finished("a", Outcome.PASSED)
    assert "No space left" in book.incomplete
    book.close()


def test_a_folder_that_cannot_be_made_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot open a ledger"):
        open_ledger(tmp_path / "file" / "sub")


def test_a_forked_child_writes_nothing(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom corstone.causes import Outcome\n"
        "from corstone.ledger import open_ledger\n"
        "b = open_ledger(Path(sys.argv[1]))\nb.collected(['a'])\n"
        "pid = os.fork()\nb.started('a')\nb.finished('a', Outcome.PASSED)\nb.close()\n"
        "os._exit(0) if pid == 0 else os.waitpid(pid, 0)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=60, check=True)
    merged = merge([tmp_path])
    assert merged.final_line == "1 collected = 1 reported: 1 passed"
    assert len(merged.cases[0].attempts) == 1


def test_threads_do_not_tear_lines(tmp_path: Path) -> None:
    with open_ledger(tmp_path, Identity("r"), fsync="never") as book:
        ids = [f"t{i}" for i in range(200)]
        book.collected(ids)

        def work(part: list[str]) -> None:
            for test_id in part:
                book.started(test_id)
                book.finished(test_id, Outcome.PASSED, out="z" * 300)

        threads = [threading.Thread(target=work, args=(ids[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    merged = merge([tmp_path])
    assert merged.final_line == "200 collected = 200 reported: 200 passed"
    assert not merged.notes


def test_two_runs_at_once_into_one_folder_stay_two(tmp_path: Path) -> None:
    with open_ledger(tmp_path, Identity("one")) as one, open_ledger(tmp_path, Identity("two")) as two:
        for book in (one, two):
            book.collected(["a"])
            book.started("a")
        one.finished("a", Outcome.PASSED)
        two.finished("a", Outcome.FAILED)
    assert [(c.run, c.state) for c in merge([tmp_path]).cases] == [("one", State.PASSED), ("two", State.FAILED)]


@pytest.mark.parametrize("jump_s", [-1e9, -3600, 3600, 1e9])
def test_a_clock_that_jumps_changes_neither_durations_nor_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump_s: float
) -> None:
    real, offset = time.time, 0.0
    monkeypatch.setattr(time, "time", lambda: real() + offset)
    with open_ledger(tmp_path, Identity("r", worker="gw0")) as first:
        first.collected(["a"])
        first.started("a")
        offset = jump_s
        first.finished("a", Outcome.FAILED)
    with open_ledger(tmp_path, Identity("r", worker="gw1")) as second:
        second.started("a")
        second.finished("a", Outcome.PASSED)
    case = merge([tmp_path]).cases[0]
    assert case.state is State.FLAKY
    assert [a.outcome for a in case.attempts] == [Outcome.FAILED, Outcome.PASSED]
    assert all(0 <= a.seconds < 60 for a in case.attempts)


def test_runs_of_one_second_are_named_in_their_order() -> None:
    names = []
    for _ in range(20):
        names.append(new_run_id())
        time.sleep(0.001)
    assert names == sorted(names)


def test_identity_comes_from_ci(tmp_path: Path) -> None:
    env = {"CORSTONE_RUN": "77", "CORSTONE_CELL": "u55", "CORSTONE_SHARD": "2/4", "CORSTONE_JOB_ATTEMPT": "3"}
    identity = Identity.from_environment(env, "gw1", "ignored")
    assert identity == Identity("77", "u55", "2/4", "gw1", 3)
    assert Identity.from_environment({}, run="mine").run == "mine"


if __name__ == "__main__":
    _limited(sys.argv[1], int(sys.argv[2]))
