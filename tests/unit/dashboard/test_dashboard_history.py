"""The history: shards come in once, in any order; a crash leaves it whole; two at once do not spoil it."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.dashboard import synthetic

from corstone.causes import Cause, Outcome
from corstone.cli import main
from corstone.dashboard import history, store
from corstone.errors import ConfigError
from corstone.ledger import open_ledger
from corstone.ledger.writer import Identity


def shard(folder: Path, run: str, part: str, ids: list[str], outcome: Outcome = Outcome.PASSED) -> Path:
    with open_ledger(folder, Identity(run, "u55", part)) as book:
        book.collected(ids)
        for test_id in ids:
            book.started(test_id)
            book.finished(
                test_id, outcome, Cause.NONE if outcome is Outcome.PASSED else Cause.BITS, reason="r", out="log"
            )
    return book.path


def tables(folder: Path) -> dict[str, list[Any]]:
    with history.open_history(folder) as connection:
        history.sync(folder, connection, workers=1)
        names = ("runs", "cells", "cases", "results", "messages", "versions")
        return {n: synthetic.table(connection, n) for n in names}


def test_shards_given_twice_and_in_any_order_make_the_same_history(tmp_path: Path) -> None:
    one = shard(tmp_path / "a", "r1", "1/2", ["t1", "t2"])
    two = shard(tmp_path / "b", "r1", "2/2", ["t3"], Outcome.FAILED)
    h1, h2 = tmp_path / "h1", tmp_path / "h2"
    assert history.take_in(h1, [one]) == 1
    first = tables(h1)
    assert len(first["results"]) == 2
    assert history.take_in(h1, [two]) == 1
    assert history.take_in(h1, [one, two, tmp_path / "a"]) == 0
    both = tables(h1)
    assert history.take_in(h2, [two, one]) == 2
    assert {k: [r[1:] if k == "runs" else r for r in v] for k, v in tables(h2).items() if k in {"runs", "cells"}} == {
        k: [r[1:] if k == "runs" else r for r in v] for k, v in both.items() if k in {"runs", "cells"}
    }
    assert len(both["results"]) == len(tables(h2)["results"]) == 3
    assert tables(h1) == both


def test_a_longer_copy_of_a_ledger_replaces_the_cut_one(tmp_path: Path) -> None:
    whole = shard(tmp_path / "a", "r1", "1/1", ["t1", "t2"])
    cut = tmp_path / "b" / "cut.ndjson"
    cut.parent.mkdir()
    cut.write_bytes(whole.read_bytes()[:-250])
    h = tmp_path / "h"
    history.take_in(h, [cut])
    assert any(r[2] != "passed" for r in tables(h)["results"])
    history.take_in(h, [whole])
    assert [r[2] for r in tables(h)["results"]] == ["passed", "passed"]


def test_results_stay_when_old_ledgers_are_thrown_away(tmp_path: Path) -> None:
    h = tmp_path / "h"
    history.take_in(h, [shard(tmp_path / "a", "r1", "1/1", ["t1"])])
    before = tables(h)
    for path in (h / "ledgers").rglob("*.gz"):
        path.unlink()
    assert tables(h) == before


def test_a_kill_in_the_middle_leaves_the_history_as_it_was_or_whole(tmp_path: Path) -> None:
    h = tmp_path / "h"
    history.take_in(h, [shard(tmp_path / "a", "r1", "1/1", [f"t{i}" for i in range(50)])])
    before = len(tables(h)["results"])
    for n in range(4):
        history.take_in(h, [shard(tmp_path / f"n{n}", f"n{n}", "1/1", [f"t{i}" for i in range(400)])])
    code = (
        "import sys\nfrom pathlib import Path\nfrom corstone.dashboard import history\n"
        "h = Path(sys.argv[1])\nprint('ready', flush=True)\n"
        "with history.open_history(h) as c:\n    history.sync(h, c, workers=1)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(h)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.06)
        process.send_signal(signal.SIGKILL)
    with sqlite3.connect(h / history.FILE) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        counts = [n for (n,) in raw.execute("SELECT count(*) FROM results GROUP BY run_id")]
    raw.close()
    assert before in counts
    assert set(counts) <= {before, 400}
    assert len(tables(h)["results"]) == before + 4 * 400


def test_a_file_that_is_no_history_is_said_so(tmp_path: Path) -> None:
    (tmp_path / history.FILE).write_text("this is no database, and long enough to be looked at as one " * 30)
    with pytest.raises(ConfigError, match="cannot be used as a history"), history.open_history(tmp_path):
        pass


def test_a_history_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    with history.open_history(tmp_path) as connection:
        connection.execute("UPDATE meta SET value = '99'")
    with pytest.raises(ConfigError, match="schema 99"), history.open_history(tmp_path):
        pass


def test_hostile_names_go_through(tmp_path: Path) -> None:
    name = "t[\ud800 \x00 \x1b[31m '\"; DROP TABLE results;--]"
    h = tmp_path / "h"
    history.take_in(h, [shard(tmp_path / "a", "../../r1", "1/1", [name], Outcome.FAILED)])
    found = tables(h)
    assert len(found["results"]) == 1
    assert (h / "ledgers").is_dir()
    assert not list(tmp_path.parent.glob("r1*"))


def test_many_runs_are_read_by_several_processes(tmp_path: Path) -> None:
    h = tmp_path / "h"
    for n in range(9):
        history.take_in(h, [shard(tmp_path / f"n{n}", f"n{n}", "1/1", ["t1", "t2"])])
    with history.open_history(h) as connection:
        assert history.sync(h, connection, workers=2) == 9
        assert history.sync(h, connection, workers=2) == 0
        assert len(store.nights(connection)) == 9


def test_exports_read_back(tmp_path: Path) -> None:
    import csv

    import junitparser

    parser = pytest.importorskip("prometheus_client.openmetrics.parser", reason="pip install '.[ci]'")
    h = tmp_path / "h"
    history.take_in(h, [shard(tmp_path / "a", "r1", "1/1", ['=t["\\\n]', "t2"], Outcome.FAILED)])
    out = [str(tmp_path / n) for n in ("m.txt", "h.csv", "junit")]
    assert main(["dashboard", "export", str(h), "--openmetrics", out[0], "--csv", out[1], "--junit", out[2]]) == 0
    families = {f.name: f for f in parser.text_string_to_metric_families(Path(out[0]).read_text())}
    states = families["corstone_case_state"].samples
    assert {s.labels["corstone_case_state"] for s in states} == {"failed"}
    assert len(families["corstone_case_duration_seconds"].samples) == 2
    assert families["corstone_night_red"].samples[0].value == 1
    with open(out[1], newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2
    assert rows[0]["case"].startswith("'=t["), "a spreadsheet must not take it for a formula"
    assert junitparser.JUnitXml.fromfile(str(tmp_path / "junit" / "r1" / "junit.xml")).failures == 2


def test_an_export_of_nothing_is_the_callers_error(tmp_path: Path) -> None:
    assert main(["dashboard", "export", str(tmp_path)]) == 2


def test_the_series_of_a_limited_history_is_that_of_its_newest_nights(tmp_path: Path) -> None:
    synthetic.fill(tmp_path, nights=6, cells=2, cases=10)
    with history.open_history(tmp_path) as connection:
        order = store.nights(connection)
        whole = {c.test_id: c for c in store.series(connection, order)}
        part = {c.test_id: c for c in store.series(connection, order[-2:])}
    assert len(order) == 6
    assert {k: c.states[-2:] for k, c in whole.items()} == {k: c.states for k, c in part.items()}
    assert {k: c.values["worst_lsb"][-2:] for k, c in whole.items()} == {
        k: c.values["worst_lsb"] for k, c in part.items()
    }
