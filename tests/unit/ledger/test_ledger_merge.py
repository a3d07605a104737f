"""What a merge makes of ledgers: states, attempts, counts, copies, shards, and damage of every kind."""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import date
from pathlib import Path

import pytest

from corstone.capture import Executor
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError
from corstone.judge.verdict import Comparison, Verdict
from corstone.ledger import Ledger, open_ledger
from corstone.ledger.merge import merge
from corstone.ledger.model import State
from corstone.ledger.quarantine import Quarantine
from corstone.ledger.writer import Identity
from corstone.report.record import CaseRecord


def record(outcome: Outcome = Outcome.PASSED, max_lsb: float = 1.5, capture: str = "") -> CaseRecord:
    comparisons = (
        Comparison("tosa", 0, 256, 0, 0.0, 0.0, exact=True, passed=True),
        Comparison(
            "float", 0, 256, 9, max_lsb, 0.01, exact=False, passed=True, budget_lsb=3.0, budget_share=max_lsb / 3
        ),
    )
    return CaseRecord(
        "acos-int8-fixed-ethos-u55-128-corstone-300-codes",
        "acos",
        8,
        "fixed",
        "ethos-u55-128",
        "corstone-300",
        "codes",
        Verdict(outcome, Cause.NONE, "ok", comparisons=comparisons),
        executor=Executor("emulator", "corstone-emulator", "0.1.0"),
        capture=capture,
        counters={"npu_total_cycles": 900},
        versions={"vela": "5.1.0"},
    )


def ledger(folder: Path, **identity: object) -> Ledger:
    return open_ledger(folder, Identity(**{"run": "r1", **identity}))  # type: ignore[arg-type]


def passed(book: Ledger, *ids: str) -> None:
    for test_id in ids:
        book.started(test_id)
        book.finished(test_id, Outcome.PASSED)


def test_a_run_in_order_is_green_and_says_so(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.collected(["a", "b"])
        passed(book, "a", "b")
    merged = merge([tmp_path])
    assert not merged.red
    assert merged.final_line == "2 collected = 2 reported: 2 passed"
    assert merged.sources[0].closed


def test_killed_between_lines_gives_aborted_and_not_run(tmp_path: Path) -> None:
    book = ledger(tmp_path)
    book.collected(["a", "b", "c"])
    passed(book, "a")
    book.started("b")
    merged = merge([tmp_path])
    assert [c.state for c in merged.cases] == [State.PASSED, State.ABORTED, State.NOT_RUN]
    assert merged.red
    assert merged.collected == 3
    assert "never finished" in merged.cases[1].reason
    book.close()


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_half_last_line_is_read_around(tmp_path: Path, cut: int) -> None:
    with ledger(tmp_path) as book:
        book.collected(["a", "b"])
        passed(book, "a")
        book.started("b")
    data = book.path.read_bytes()
    lines = data.splitlines(keepends=True)
    book.path.write_bytes(b"".join(lines[:-1])[:-cut])
    merged = merge([tmp_path])
    assert merged.red
    assert {c.test_id for c in merged.cases} == {"a", "b"}
    assert merged.cases[0].state is State.PASSED
    assert merged.cases[1].state in {State.ABORTED, State.NOT_RUN}


def test_every_prefix_of_a_ledger_can_be_merged_and_is_red_until_it_is_whole(tmp_path: Path) -> None:
    with ledger(tmp_path / "whole") as book:
        book.collected(["a", "b"])
        book.started("a")
        book.finished("a", Outcome.PASSED, records=[record()], out="x" * 50)
        passed(book, "b")
    data = book.path.read_bytes()
    ended = data.index(b'{"t":"close"')
    target = tmp_path / "cut" / "one.ndjson"
    target.parent.mkdir()
    for length in range(0, len(data), 5):
        target.write_bytes(data[:length])
        merged = merge([target])
        assert merged.red == (length < ended), length
        assert len({c.test_id for c in merged.cases}) == len(merged.cases)


def test_damage_in_the_middle_is_noted_and_the_lost_line_shows(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.collected(["a", "b"])
        passed(book, "a", "b")
    lines = book.path.read_bytes().splitlines(keepends=True)
    broken = [b"\x00\xff garbage\n" if b'"finished"' in x and b'"a"' in x else x for x in lines]
    book.path.write_bytes(b"".join(broken))
    merged = merge([tmp_path])
    assert merged.cases[0].state is State.ABORTED
    assert merged.cases[1].state is State.PASSED
    assert any("damaged" in n for n in merged.notes)
    assert any("2 started and 2 finished by its own count" in p for p in merged.problems)


def test_a_rerun_that_passes_is_flaky_and_its_first_log_is_kept(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.collected(["a"])
        book.started("a")
        book.finished("a", Outcome.FAILED, Cause.BITS, reason="bit 3 differs", out="first log")
        book.started("a")
        book.finished("a", Outcome.PASSED, out="second log")
    case = merge([tmp_path]).cases[0]
    assert case.state is State.FLAKY
    assert not case.red
    assert [a.n for a in case.attempts] == [1, 2]
    assert case.attempts[0].detail()["out"] == "first log"
    assert "bit 3 differs" in case.reason


def test_a_killed_worker_and_a_pass_in_its_successor_are_two_attempts_of_one_case(tmp_path: Path) -> None:
    main = ledger(tmp_path)
    main.collected(["a"])
    first = ledger(tmp_path, worker="gw0")
    first.started("a")
    main.lost("a", "worker 'gw0' crashed while running 'a'")
    with ledger(tmp_path, worker="gw1") as second:
        passed(second, "a")
    main.close()
    merged = merge([tmp_path])
    assert len(merged.cases) == 1
    assert merged.cases[0].state is State.FLAKY
    assert [a.finished for a in merged.cases[0].attempts] == [False, True]


def test_a_finish_that_reached_the_disk_stands_against_the_report_of_a_lost_worker(tmp_path: Path) -> None:
    main = ledger(tmp_path)
    main.collected(["a"])
    worker = ledger(tmp_path, worker="gw0")
    passed(worker, "a")
    main.lost("a", "worker 'gw0' crashed while running 'a'")
    main.close()
    merged = merge([tmp_path])
    assert [c.state for c in merged.cases] == [State.PASSED]
    assert not merged.red


def test_a_shard_without_a_ledger_is_red(tmp_path: Path) -> None:
    for shard in ("1/3", "3/3"):
        with ledger(tmp_path, shard=shard) as book:
            book.collected([shard])
            passed(book, shard)
    merged = merge([tmp_path])
    assert merged.problems == ["shard 2/3: left no ledger"]
    assert merged.red
    assert not merge([tmp_path], alone=True).red


def test_a_cell_that_was_expected_and_left_nothing_is_red(tmp_path: Path) -> None:
    with ledger(tmp_path, cell="u55") as book:
        book.collected(["a"])
        passed(book, "a")
    merged = merge([tmp_path], expected=[("u55", "1/1"), ("u85", "1/1")])
    assert merged.problems == ["cell u85, shard 1/1: left no ledger"]


def test_a_job_run_again_replaces_what_its_first_attempt_could_not_say(tmp_path: Path) -> None:
    first = ledger(tmp_path, shard="1/1", job_attempt=1)
    first.started("a")  # killed before the collection was named
    with ledger(tmp_path, job_attempt=2) as second:
        second.collected(["a", "b"])
        passed(second, "a", "b")
    merged = merge([tmp_path])
    assert not merged.red, merged.problems
    assert [c.state for c in merged.cases] == [State.FLAKY, State.PASSED]
    assert any("collection never finished" in n for n in merged.notes)


def test_nothing_collected_is_red(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.collected([])
    assert merge([tmp_path]).red
    (tmp_path / "empty").mkdir()
    assert merge([tmp_path / "empty"]).red


def test_a_path_that_is_not_there_is_the_callers_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no ledger at"):
        merge([tmp_path / "missing"])


def test_copies_and_half_copies_of_a_ledger_count_once(tmp_path: Path) -> None:
    with ledger(tmp_path / "a") as book:
        book.collected(["a", "b"])
        passed(book, "a", "b")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "renamed.ndjson").write_bytes(book.path.read_bytes()[:-300])
    shutil.copy(book.path, tmp_path / "b" / "copy.ndjson")
    merged = merge([tmp_path, book.path])
    assert merged.final_line == "2 collected = 2 reported: 2 passed"
    assert [len(c.attempts) for c in merged.cases] == [1, 1]


def test_the_same_test_in_two_cells_is_two_cases(tmp_path: Path) -> None:
    for cell in ("u55", "u85"):
        with ledger(tmp_path, cell=cell) as book:
            book.collected(["a"])
            passed(book, "a")
    assert [(c.cell, c.state) for c in merge([tmp_path]).cases] == [("u55", State.PASSED), ("u85", State.PASSED)]


def test_a_gzip_ledger_is_read_also_cut_short(tmp_path: Path) -> None:
    with ledger(tmp_path / "plain") as book:
        book.collected([f"t{i}" for i in range(50)])
        passed(book, *[f"t{i}" for i in range(50)])
    packed = gzip.compress(book.path.read_bytes())
    whole = tmp_path / "whole.ndjson.gz"
    whole.write_bytes(packed)
    assert not merge([whole]).red
    cut = tmp_path / "cut.ndjson.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    merged = merge([cut])
    assert merged.red
    assert any("half a last line" in n or "a half last line" in n for n in merged.notes)


def test_a_record_and_its_figures_come_back(tmp_path: Path) -> None:
    capture = tmp_path / "captures" / "c1"
    capture.mkdir(parents=True)
    with ledger(tmp_path) as book:
        book.collected(["a"])
        book.started("a")
        book.finished("a", Outcome.PASSED, records=[record(capture=str(capture))], out="log")
    moved = tmp_path.parent / (tmp_path.name + "-moved")
    tmp_path.rename(moved)
    case = merge([moved]).cases[0]
    assert case.last is not None
    assert case.figures == {"worst_lsb": 1.5, "share": 0.5, "npu_cycles": 900}
    assert case.names["target"] == "ethos-u55-128"
    assert case.names["provider"] == "emulator"
    assert case.last.versions == {"vela": "5.1.0"}
    assert Path(case.last.records()[0].capture) == moved / "captures" / "c1"


def test_xpass_is_counted_and_red_only_when_strict(tmp_path: Path) -> None:
    with ledger(tmp_path) as book:
        book.collected(["loose", "strict", "expected"])
        for name, outcome, word in (
            ("loose", Outcome.PASSED, "xpassed"),
            ("strict", Outcome.FAILED, "xpassed"),
            ("expected", Outcome.SKIPPED, "xfailed"),
        ):
            book.started(name)
            book.finished(name, outcome, word=word)
    merged = merge([tmp_path])
    assert merged.counts == {State.XPASS: 2, State.XFAIL: 1}
    assert {c.test_id for c in merged.cases if c.red} == {"strict"}


LIST = """
[[quarantine]]
test = "t[*"
owner = "kim"
issue = "#12"
expires = 2026-06-30
"""


def test_quarantine_sets_failures_apart_until_it_expires(tmp_path: Path) -> None:
    file = tmp_path / "quarantine.toml"
    file.write_text(LIST)
    with ledger(tmp_path) as book:
        book.collected(["t[1]", "t[2]"])
        passed(book, "t[1]")
        book.started("t[2]")
        book.finished("t[2]", Outcome.CRASHED, Cause.CPU_FAULT)
    listed = Quarantine.load(file)
    before = merge([tmp_path], quarantine=listed, today=date(2026, 6, 30))
    assert [c.state for c in before.cases] == [State.PASSED, State.QUARANTINED]
    assert not before.red
    assert before.cases[1].quarantine is not None
    assert before.cases[1].quarantine["owner"] == "kim"
    after = merge([tmp_path], quarantine=listed, today=date(2026, 7, 1))
    assert after.cases[1].state is State.CRASHED
    assert after.red
    assert any("count again" in n for n in after.notes)


@pytest.mark.parametrize("missing", ["owner", "issue", "expires", "test"])
def test_a_quarantine_entry_needs_each_field(tmp_path: Path, missing: str) -> None:
    file = tmp_path / "q.toml"
    file.write_text("\n".join(x for x in LIST.splitlines() if not x.startswith(missing)))
    with pytest.raises(ConfigError, match=f"entry 1 has no {missing}"):
        Quarantine.load(file)


def test_a_ledger_of_version_1_is_read(tmp_path: Path) -> None:
    old = tmp_path / "old.ndjson"
    rec = record().to_json()
    lines = [
        {"t": "open", "v": 1, "run": "old", "uid": "u", "time": 5.0},
        {"t": "collected", "id": "a"},
        {"t": "collection", "count": 1},
        {"t": "started", "id": "a", "time": 6.0},
        {
            "t": "finished",
            "id": "a",
            "outcome": "PASSED",
            "cause": "none",
            "duration": 2.5,
            "time": 8.5,
            "record": rec,
            "out": "old log",
        },
        {"t": "close", "started": 1, "finished": 1, "exit": 0},
    ]
    old.write_text("".join(json.dumps(x) + "\n" for x in lines))
    merged = merge([old])
    assert not merged.red, merged.problems
    case = merged.cases[0]
    assert case.last is not None
    assert case.seconds == 2.5
    assert case.figures["worst_lsb"] == 1.5
    assert case.last.detail()["out"] == "old log"
    assert case.last.records()[0].network == "acos"


def test_a_ledger_of_a_newer_version_is_red_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "new.ndjson").write_text('{"t":"open","v":99,"run":"x"}\n')
    merged = merge([tmp_path])
    assert merged.red
    assert "version 99" in merged.problems[0]


def test_a_file_that_is_no_ledger_is_red(tmp_path: Path) -> None:
    (tmp_path / "x.ndjson").write_text("hello\nworld\n")
    assert "is no ledger" in merge([tmp_path]).problems[0]
