"""Questions to the history: nights, cells, and one case after another with its whole series."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from operator import itemgetter

_FACTS = ("network", "bits", "policy", "target", "board", "provider")
FIGURES = ("seconds", "worst_lsb", "share", "npu_cycles", "npu_commands", "npu_bytes")


@dataclass(slots=True)
class Night:
    """One run. ``label`` is its day, with the time where a day has several."""

    run_id: int
    run: str
    wall: float
    label: str
    red: bool
    collected: int
    reported: int
    problems: list[str]
    properties: dict[str, str]


@dataclass(slots=True)
class CaseSeries:
    """One case over all nights: lists run parallel to the nights, None or "" where it has no result."""

    case_id: int
    cell: str
    test_id: str
    names: dict[str, str]
    states: list[str]
    red: list[bool]
    causes: list[str]
    attempts: list[int]
    values: dict[str, list[float | None]] = field(default_factory=dict)

    @property
    def latest(self) -> int:
        """Index of the newest night with a result; -1 without one."""
        return next((i for i in range(len(self.states) - 1, -1, -1) if self.states[i]), -1)


def nights(connection: sqlite3.Connection) -> list[Night]:
    """All runs, oldest first."""
    rows = connection.execute(
        "SELECT id, run, wall, red, collected, reported, problems, properties FROM runs ORDER BY wall, id"
    ).fetchall()
    days = [_day(r[2]) for r in rows]
    result = []
    for r, day in zip(rows, days, strict=True):
        label = day if days.count(day) == 1 else f"{day} {datetime.fromtimestamp(r[2], UTC):%H:%M}"
        result.append(Night(r[0], r[1], r[2], label, bool(r[3]), r[4], r[5], json.loads(r[6]), json.loads(r[7])))
    return result


def _day(wall: float) -> str:
    return f"{datetime.fromtimestamp(wall, UTC):%Y-%m-%d}"


def series(connection: sqlite3.Connection, order: list[Night]) -> Iterator[CaseSeries]:
    """Every case with its series over the nights of ``order``, in the order in which the cases were first seen.

    Streams one sorted query, so that memory stays that of one case.
    """
    place = {night.run_id: i for i, night in enumerate(order)}
    names = {
        row[0]: row[1:]
        for row in connection.execute(
            "SELECT cases.id, cells.name, test_id, network, bits, policy, target, board, provider "
            "FROM cases JOIN cells ON cells.id = cell_id"
        )
    }
    first = min(place, default=0)
    rows = connection.execute(
        "SELECT case_id, run_id, state, red, cause, attempts, seconds, worst_lsb, share, npu_cycles, npu_commands, "
        "npu_bytes FROM results WHERE run_id >= ? ORDER BY case_id",
        (first,),
    )
    count = len(order)
    for case_id, results in groupby(rows, key=itemgetter(0)):
        cell, test_id, *facts = names[case_id]
        known = {k: str(v) for k, v in zip(_FACTS, facts, strict=True) if v not in (None, "", 0)}
        case = CaseSeries(case_id, cell, test_id, known, [""] * count, [False] * count, [""] * count, [0] * count)
        columns: list[list[float | None]] = [[None] * count for _ in FIGURES]
        seconds, lsb, share, cycles, commands, size = columns
        for row in results:
            if (i := place.get(row[1])) is None:
                continue
            case.states[i], case.red[i], case.causes[i], case.attempts[i] = row[2], bool(row[3]), row[4], row[5]
            seconds[i], lsb[i], share[i], cycles[i], commands[i], size[i] = row[6:]
        case.values = dict(zip(FIGURES, columns, strict=True))
        yield case


def messages(connection: sqlite3.Connection, case_id: int) -> dict[int, tuple[str, str]]:
    """Reason and detail of the results of a case that did not pass, by run id."""
    rows = connection.execute("SELECT run_id, reason, detail FROM messages WHERE case_id = ?", (case_id,))
    return {run_id: (reason, detail) for run_id, reason, detail in rows}


def repro(connection: sqlite3.Connection, case_id: int) -> str:
    """The repro command of a case, if one is known."""
    row = connection.execute("SELECT repro FROM repros WHERE case_id = ?", (case_id,)).fetchone()
    return str(row[0]) if row else ""


def versions(connection: sqlite3.Connection, order: list[Night]) -> dict[str, list[dict[str, str]]]:
    """For each cell its tool versions by night; a night without any repeats the one before."""
    place = {night.run_id: i for i, night in enumerate(order)}
    result: dict[str, list[dict[str, str]]] = {
        name: [{} for _ in order] for (name,) in connection.execute("SELECT name FROM cells ORDER BY name")
    }
    rows = connection.execute(
        "SELECT run_id, cells.name, versions.name, version FROM versions JOIN cells ON cells.id = cell_id"
    )
    for run_id, cell, name, version in rows:
        if run_id in place:
            result[cell][place[run_id]][name] = version
    for by_night in result.values():
        for i in range(1, len(by_night)):
            if not by_night[i]:
                by_night[i] = by_night[i - 1]
    return result


def version_changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What differs between two sets of versions, as ``vela 5.0.0 -> 5.1.0``."""
    names = sorted({*before, *after})
    return [f"{n} {before.get(n, 'none')} -> {after.get(n, 'none')}" for n in names if before.get(n) != after.get(n)]
