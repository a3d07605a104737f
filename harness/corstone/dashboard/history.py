"""The history: one SQLite file, made from ledgers and always possible to make again.

A history folder holds ``history.sqlite`` and ``ledgers/<run>/*.ndjson[.gz]``. Ledgers are the truth: taking a shard in
copies its ledgers (once, however often it is given), and a run whose set of ledgers grew is merged again and its rows
replaced in one transaction. Runs whose ledgers were thrown away by age keep their rows.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.ledger.merge import merge
from corstone.ledger.model import MergedCase, State
from corstone.ledger.quarantine import Quarantine
from corstone.ledger.reader import UnreadableLedger, find_ledgers, open_binary, read_head

SCHEMA = 1
FILE = "history.sqlite"

# Results are clustered by run, so that a night is written in one piece instead of a bit into every page of the file.
_SQL = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS runs (
    id INTEGER PRIMARY KEY, run TEXT UNIQUE NOT NULL, wall REAL NOT NULL, red INTEGER NOT NULL,
    collected INTEGER NOT NULL, reported INTEGER NOT NULL, problems TEXT NOT NULL, properties TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS ledgers (run_id INTEGER NOT NULL, uid TEXT NOT NULL, size INTEGER NOT NULL,
    PRIMARY KEY (run_id, uid)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cells (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS cases (
    id INTEGER PRIMARY KEY, cell_id INTEGER NOT NULL, test_id TEXT NOT NULL, network TEXT, bits INTEGER, policy TEXT,
    target TEXT, board TEXT, provider TEXT, UNIQUE (cell_id, test_id));
CREATE TABLE IF NOT EXISTS results (
    case_id INTEGER NOT NULL, run_id INTEGER NOT NULL, state TEXT NOT NULL, red INTEGER NOT NULL, cause TEXT NOT NULL,
    attempts INTEGER NOT NULL, seconds REAL NOT NULL, worst_lsb REAL, share REAL, npu_cycles INTEGER,
    npu_commands INTEGER, npu_bytes INTEGER, PRIMARY KEY (run_id, case_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS messages (
    case_id INTEGER NOT NULL, run_id INTEGER NOT NULL, reason TEXT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (run_id, case_id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS messages_by_case ON messages (case_id);
CREATE TABLE IF NOT EXISTS repros (case_id INTEGER PRIMARY KEY, repro TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS versions (
    run_id INTEGER NOT NULL, cell_id INTEGER NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
    PRIMARY KEY (run_id, cell_id, name)) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Found:
    """A run with the ledgers that are there for it: (uid, size, path)."""

    run: str
    ledgers: tuple[tuple[str, int, Path], ...]


@contextmanager
def open_history(folder: Path) -> Iterator[sqlite3.Connection]:
    """The history of a folder, made where it is missing.

    Raises
    ------
    ConfigError: the file is no history, or one of a newer version.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        try:
            # A roll-back journal, not WAL: the history stays one file that can be copied, also over NFS.
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("PRAGMA cache_size=-200000")
            connection.executescript(_SQL)
            known = connection.execute("SELECT value FROM meta WHERE key='schema'").fetchone()
        except sqlite3.DatabaseError as error:
            raise ConfigError(
                f"{path} cannot be used as a history: {error}",
                cause=Cause.BAD_INPUT,
                hint="move it away and build again: the ledgers hold everything",
            ) from error
        if known is None:
            connection.execute("INSERT OR IGNORE INTO meta VALUES ('schema', ?)", (str(SCHEMA),))
        elif int(known[0]) > SCHEMA:
            raise ConfigError(
                f"{path} has schema {known[0]}, this corstone knows {SCHEMA}", hint="use a newer corstone"
            )
        yield connection
    finally:
        connection.close()


def take_in(folder: Path, ledgers: Iterable[Path], *, compress: bool = True) -> int:
    """Copy ledgers into the history folder; returns how many were new or longer than the copy already there.

    Each copy is written beside its place and renamed, so a kill leaves the old file or the new one.
    """
    new = 0
    for path in find_ledgers(list(ledgers)):
        with contextlib.suppress(UnreadableLedger, EOFError):
            with open_binary(path) as stream:
                source, opened = read_head(path, stream)
            if not opened:
                continue
            head = source.head
            place = folder / "ledgers" / re.sub(r"[^A-Za-z0-9_.-]+", "_", str(head["run"]))
            name = re.sub(r"[^A-Za-z0-9_.-]+", "_", str(head["uid"]) or path.stem) + ".ndjson"
            target = place / (name + (".gz" if compress else ""))
            if _length(target) >= _length(path):
                continue
            place.mkdir(parents=True, exist_ok=True)
            waiting = target.with_name(f".{target.name}.{os.getpid()}")
            try:
                with open_binary(path) as stream, _writer(waiting, compress) as out:
                    shutil.copyfileobj(stream, out)
                waiting.replace(target)
            finally:
                waiting.unlink(missing_ok=True)
            new += 1
    return new


def _length(path: Path) -> int:
    """Bytes of a ledger when unpacked; -1 where there is none."""
    if not path.exists():
        return -1
    if path.suffix != ".gz":
        return path.stat().st_size
    total = 0
    with contextlib.suppress(EOFError, OSError), gzip.open(path) as stream:
        while block := stream.read(1 << 20):
            total += len(block)
    return total


def _writer(path: Path, compress: bool) -> Any:
    return gzip.open(path, "wb", compresslevel=5) if compress else path.open("wb")


def find_runs(folder: Path) -> list[Found]:
    """Runs with ledgers anywhere below a history folder, in no particular order."""
    runs: dict[str, list[tuple[str, int, Path]]] = {}
    for path in find_ledgers([folder]):
        with contextlib.suppress(UnreadableLedger, EOFError, OSError), open_binary(path) as stream:
            source, opened = read_head(path, stream)
            if opened:
                uid = str(source.head["uid"]) or path.name
                runs.setdefault(str(source.head["run"]), []).append((uid, path.stat().st_size, path))
    return [Found(run, tuple(sorted(ledgers))) for run, ledgers in runs.items()]


def sync(folder: Path, connection: sqlite3.Connection, *, quarantine: Path | None = None, workers: int = 0) -> int:
    """Bring the history up to date with the ledgers of its folder; returns how many runs were merged.

    ``workers``: processes that read ledgers; 0 takes two when there is much to read.
    """
    todo = [found for found in find_runs(folder) if _grew(connection, found)]
    if not todo:
        return 0
    jobs = [(found, quarantine) for found in todo]
    if workers == 1 or len(todo) < 8:
        for job in jobs:
            _store(connection, _read(job))
        return len(todo)
    with ProcessPoolExecutor(workers or min(4, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        for rows in pool.map(_read, jobs, chunksize=4):
            _store(connection, rows)
    return len(todo)


def _grew(connection: sqlite3.Connection, found: Found) -> bool:
    known = dict(
        connection.execute(
            "SELECT uid, size FROM ledgers JOIN runs ON runs.id = ledgers.run_id WHERE run = ?", (found.run,)
        ).fetchall()
    )
    return any(known.get(uid) is None or size > known[uid] for uid, size, _ in found.ledgers)


@dataclass
class _Rows:
    """One run as rows; cells and cases still by name."""

    found: Found
    run: tuple[Any, ...]
    cases: list[tuple[str, str, dict[str, Any], tuple[Any, ...], tuple[str, str] | None, str]]
    versions: dict[str, dict[str, str]]


def _read(job: tuple[Found, Path | None]) -> _Rows:
    """Merge one run; runs in a worker process, and gives back plain tuples."""
    found, quarantine = job
    from datetime import UTC, datetime

    listed = Quarantine.load(quarantine) if quarantine else None
    paths = [path for _, _, path in found.ledgers]
    wall = min((s for s in (_wall(p) for p in paths) if s > 0), default=0.0)
    merged = merge(paths, quarantine=listed, today=datetime.fromtimestamp(wall, UTC).date())
    cases: list[tuple[str, str, dict[str, Any], tuple[Any, ...], tuple[str, str] | None, str]] = []
    versions: dict[str, dict[str, str]] = {}
    for case in merged.cases:
        last = case.last
        if last is not None and (found_versions := last.versions):
            versions.setdefault(case.cell, {}).update(found_versions)
        f = case.figures
        row: tuple[Any, ...] = (case.state.value, int(case.red), case.cause, len(case.attempts), round(case.seconds, 4))
        row += (f.get("worst_lsb"), f.get("share"), f.get("npu_cycles"), f.get("npu_commands"), f.get("npu_bytes"))
        message = None if case.state is State.PASSED else (case.reason[:2000], _details(case))
        repro = ""
        if message is not None and last is not None and case.names:
            repro = next((r.repro for r in last.records() if r.repro), "")
        cases.append((case.cell, case.test_id, case.names, row, message, repro))
    run: tuple[Any, ...] = (found.run, wall, int(merged.red), merged.collected, len(merged.cases))
    run += (json.dumps(merged.problems + merged.notes), json.dumps(merged.properties))
    return _Rows(found, run, cases, versions)


def _wall(path: Path) -> float:
    with open_binary(path) as stream:
        return float(read_head(path, stream)[0].head.get("wall", 0.0))


_DETAIL_CHARS = 4000


def _details(case: MergedCase) -> str:
    """Tail of the text and console of each attempt that did not pass: the first log is always among them."""
    parts = []
    for attempt in case.attempts:
        if attempt.finished and attempt.outcome.value == "PASSED":
            continue
        detail = attempt.detail()
        text = "\n".join(x for x in (detail["text"], detail["out"], detail["err"]) if x)
        head = f"attempt {attempt.n}: {attempt.reason if attempt.finished else 'never finished'}"
        parts.append(f"{head}\n{text[-_DETAIL_CHARS:]}")
    return "\n\n".join(parts[:3])


def _store(connection: sqlite3.Connection, rows: _Rows) -> None:
    """Replace one run in one transaction: after a crash the history holds it as before, or whole."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        old = connection.execute("SELECT id FROM runs WHERE run = ?", (rows.run[0],)).fetchone()
        if old:
            for table in ("results", "messages", "versions", "ledgers"):
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", old)
            connection.execute("DELETE FROM runs WHERE id = ?", old)
        marks = ",".join("?" * (len(rows.run) + 1))
        cursor = connection.execute(f"INSERT INTO runs VALUES ({marks})", (old[0] if old else None, *rows.run))
        run_id = old[0] if old else cursor.lastrowid
        ids = _case_ids(connection, rows)
        result_rows = [(ids[c[0], c[1]], run_id, *c[3]) for c in rows.cases]
        connection.executemany("INSERT INTO results VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", result_rows)
        messages = [(ids[c[0], c[1]], run_id, *c[4]) for c in rows.cases if c[4] is not None]
        connection.executemany("INSERT INTO messages VALUES (?,?,?,?)", _storable(messages))
        repros = [(ids[c[0], c[1]], c[5]) for c in rows.cases if c[5]]
        connection.executemany("INSERT OR REPLACE INTO repros VALUES (?,?)", _storable(repros))
        cells = dict(connection.execute("SELECT name, id FROM cells"))
        versions = [
            (run_id, cells[_clean(cell)], name, str(version))
            for cell, names in rows.versions.items()
            for name, version in names.items()
        ]
        connection.executemany("INSERT INTO versions VALUES (?,?,?,?)", _storable(versions))
        ledgers = [(run_id, uid, size) for uid, size, _ in rows.found.ledgers]
        connection.executemany("INSERT OR REPLACE INTO ledgers VALUES (?,?,?)", ledgers)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _case_ids(connection: sqlite3.Connection, rows: _Rows) -> dict[tuple[str, str], int]:
    names = sorted({_clean(c[0]) for c in rows.cases})
    connection.executemany("INSERT OR IGNORE INTO cells (name) VALUES (?)", [(n,) for n in names])
    cells = dict(connection.execute("SELECT name, id FROM cells"))
    fields = ("network", "bits", "policy", "target", "board", "provider")
    known = [(cells[_clean(c[0])], _clean(c[1]), *(c[2].get(f) for f in fields)) for c in rows.cases]
    connection.executemany(
        "INSERT INTO cases (cell_id, test_id, network, bits, policy, target, board, provider) VALUES (?,?,?,?,?,?,?,?) "
        "ON CONFLICT (cell_id, test_id) DO UPDATE SET network=coalesce(excluded.network, network), "
        "bits=coalesce(excluded.bits, bits), policy=coalesce(excluded.policy, policy), "
        "target=coalesce(excluded.target, target), board=coalesce(excluded.board, board), "
        "provider=coalesce(excluded.provider, provider) "
        "WHERE excluded.network IS NOT NULL AND (network IS NOT excluded.network OR bits IS NOT excluded.bits OR "
        "policy IS NOT excluded.policy OR target IS NOT excluded.target OR board IS NOT excluded.board OR "
        "provider IS NOT excluded.provider)",
        known,
    )
    by_name = {v: k for k, v in cells.items()}
    found = {(by_name[cell], test): i for i, cell, test in connection.execute("SELECT id, cell_id, test_id FROM cases")}
    return {(c[0], c[1]): found[_clean(c[0]), _clean(c[1])] for c in rows.cases}


def _clean(text: str) -> str:
    # SQLite takes no lone surrogates, which a ledger may hold.
    return text.encode("utf-8", "backslashreplace").decode()


def _storable(rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(_clean(v) if isinstance(v, str) else v for v in row) for row in rows]
