"""From ledgers to one answer: which tests there were, how each ended, and whether everything adds up.

The rules, in the order they are applied:

* A ledger given twice (a file and its copy from another folder) counts once; of two copies the longer one is read.
* Tests are told apart by run, cell and id. Attempts are ordered by the job's attempt number, then by time: the
  monotonic clock within one boot of a host, the wall clock between hosts only.
* An attempt that started and did not finish is ``aborted``; a test that was collected and never started ``not run``.
  A pass after an attempt that was not one is ``flaky``.
* The collecting process said how many tests there are. If another number was found, if a shard left no ledger, or a
  process closed with another count than its lines show, that is a problem, and any problem makes the merge red.
* When a CI job was run again, problems of its earlier attempts are notes.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from corstone.causes import Outcome
from corstone.ledger.model import Attempt, Merged, MergedCase, Source, State
from corstone.ledger.quarantine import Quarantine
from corstone.ledger.reader import UnreadableLedger, events, find_ledgers, open_binary, read_head

_Key = tuple[str, str, str]


@dataclass
class _Shard:
    """What is known of one attempt of one shard."""

    collected: set[str] = field(default_factory=set)
    count: int | None = None
    processes: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass
class _Merger:
    cases: dict[_Key, MergedCase] = field(default_factory=dict)
    shards: dict[tuple[tuple[str, str, str], int], _Shard] = field(default_factory=lambda: defaultdict(_Shard))
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)

    def case(self, source: Source, test_id: str) -> MergedCase:
        run, cell, shard = source.shard_key
        key = (run, cell, test_id)
        case = self.cases.get(key)
        if case is None:
            case = self.cases[key] = MergedCase(run, cell, test_id, shard=shard)
        return case

    def add(self, path: Path) -> None:
        with open_binary(path) as stream:
            try:
                source, opened = read_head(path, stream)
            except UnreadableLedger as error:
                self.problems.append(error.message)
                return
            if not opened:
                self.problems.append(f"{path.name}: its process died before the first line was written")
                return
            self.sources.append(source)
            self.properties.update(source.head.get("properties", {}))
            _OneLedger(self, source).read(stream)


class _OneLedger:
    """Reads one ledger into the merger."""

    def __init__(self, merger: _Merger, source: Source) -> None:
        self.merger, self.source = merger, source
        self.shard = merger.shards[source.shard_key, int(source.head["job_attempt"])]
        self.open: dict[tuple[str, int], Attempt] = {}
        self.started = self.finished = 0
        self.detail_at = -1

    def read(self, stream: Any) -> None:
        self.shard.processes += 1
        # A gzip file cut short ends in EOFError where a plain one simply ends.
        try:
            for offset, event in events(self.source, stream):
                if event is None:
                    self.detail_at = offset
                elif (handler := getattr(self, "on_" + str(event["t"]), None)) is not None:
                    try:
                        handler(event)
                    except (KeyError, TypeError, ValueError):
                        self.source.damaged += 1
        except EOFError:
            self.source.torn_tail = True
        if self.source.damaged or self.source.torn_tail:
            what = [f"{self.source.damaged} damaged lines"] if self.source.damaged else []
            what += ["a half last line"] if self.source.torn_tail else []
            self.merger.notes.append(f"{self.source.path.name}: {' and '.join(what)}")

    def on_collected(self, event: dict[str, Any]) -> None:
        self.shard.collected.add(event["id"])
        self.merger.case(self.source, event["id"]).collected = True

    def on_collection(self, event: dict[str, Any]) -> None:
        self.shard.count = int(event["count"])

    def on_property(self, event: dict[str, Any]) -> None:
        self.merger.properties[event["name"]] = event["value"]

    def on_versions(self, event: dict[str, Any]) -> None:
        self.source.versions[int(event["key"])] = event["versions"]

    def on_lost(self, event: dict[str, Any]) -> None:
        self.merger.case(self.source, event["id"]).lost = event["reason"]

    def on_started(self, event: dict[str, Any]) -> None:
        self.started += 1
        self._attempt(event)

    def on_finished(self, event: dict[str, Any]) -> None:
        self.finished += 1
        # Its ``started`` line may have been on a full disk: the end alone still proves that it ran.
        attempt = self.open.get((event["id"], int(event.get("n", 1)))) or self._attempt(event)
        if attempt.finished:
            return
        attempt.outcome, attempt.cause = Outcome(event["outcome"]), event.get("cause", "")
        attempt.word, attempt.reason = event.get("word", ""), event.get("reason", "")
        attempt.seconds = max(0.0, float(event.get("s", 0.0)))
        attempt.figures, attempt.names = event.get("m"), event.get("case")
        attempt.versions_key = int(event.get("ver", -1))
        attempt.detail_at, self.detail_at = self.detail_at, -1
        attempt.finished = True

    def on_close(self, event: dict[str, Any]) -> None:
        self.source.closed = True
        said = (int(event["started"]), int(event["finished"]))
        if said != (self.started, self.finished):
            self.shard.problems.append(
                f"{self.source.path.name}: {said[0]} started and {said[1]} finished by its own count, "
                f"{self.started} and {self.finished} lines found"
            )

    def _attempt(self, event: dict[str, Any]) -> Attempt:
        head, n = self.source.head, int(event.get("n", 1))
        wall = float(event.get("wall", 0.0))
        order = (int(head["job_attempt"]), head["boot"], float(event.get("mono", wall)), wall)
        attempt = Attempt(self.source, n, order, wall=wall)
        self.open[event["id"], n] = attempt
        self.merger.case(self.source, event["id"]).attempts.append(attempt)
        return attempt


def merge(
    paths: Iterable[Path],
    *,
    quarantine: Quarantine | None = None,
    expected: Iterable[tuple[str, str]] = (),
    today: date | None = None,
    alone: bool = False,
) -> Merged:
    """Read ledgers and folders of ledgers into one ``Merged``.

    Parameters
    ----------
    quarantine: tests whose failures are reported apart until their entry expires.
    expected: (cell, shard) pairs that must have left a ledger, as ``corstone ci`` knows them.
    today: the day against which quarantine entries expire.
    alone: judge what is here by itself; that other shards of the same cell left nothing is no problem.

    Raises
    ------
    ConfigError: a path does not exist. Anything wrong *inside* a ledger is a problem of the merge instead.
    """
    merger = _Merger()
    for path in _unique(find_ledgers(list(paths))):
        merger.add(path)
    _check_shards(merger, list(expected), alone)
    for case in merger.cases.values():
        _conclude(case)
    if quarantine is not None:
        merger.notes += quarantine.apply(list(merger.cases.values()), today or date.today())
    cases = sorted(merger.cases.values(), key=lambda c: (c.run, c.cell, c.test_id))
    if not cases and not merger.problems:
        merger.problems.append("no test was collected")
    return Merged(cases, merger.sources, merger.problems, merger.notes, merger.properties)


def _unique(paths: Sequence[Path]) -> list[Path]:
    """One path for each ledger: copies share the random ``uid`` of their opening line."""
    best: dict[str, Path] = {}
    for path in paths:
        uid = ""
        with contextlib.suppress(UnreadableLedger, OSError, EOFError), open_binary(path) as stream:
            uid = str(read_head(path, stream)[0].head.get("uid", ""))
        key = uid or str(path)
        if key not in best or path.stat().st_size > best[key].stat().st_size:
            best[key] = path
    return list(best.values())


def _check_shards(merger: _Merger, expected: Sequence[tuple[str, str]], alone: bool) -> None:
    latest: dict[tuple[str, str, str], int] = {}
    for key, attempt in merger.shards:
        latest[key] = max(attempt, latest.get(key, 0))
    for (key, attempt), shard in merger.shards.items():
        where = _where(*key)
        problems = list(shard.problems)
        if shard.count is None:
            problems.append(f"{where}: the collection never finished, so nobody knows how many tests there are")
        elif shard.count != len(shard.collected):
            problems.append(f"{where}: {shard.count} tests collected, {len(shard.collected)} of them named")
        superseded = attempt < latest[key]
        (merger.notes if superseded else merger.problems).extend(problems)
    seen = {(cell, shard) for _, cell, shard in latest}
    wanted = set(expected)
    for run, cell, part in () if alone else latest:
        _, _, total = part.partition("/")
        with contextlib.suppress(ValueError):
            for sibling in (f"{index}/{total}" for index in range(1, int(total) + 1)):
                if (run, cell, sibling) not in latest:
                    wanted.add((cell, sibling))
                    seen.discard((cell, sibling))
    for cell, part in sorted(wanted - seen):
        merger.problems.append(f"{_where('', cell, part)}: left no ledger")
    for case in merger.cases.values():
        if not case.collected and case.attempts:
            where = _where(case.run, case.cell, case.shard)
            shard_state = merger.shards[(case.run, case.cell, case.shard), latest[case.run, case.cell, case.shard]]
            if shard_state.count is not None:
                merger.problems.append(f"{where}: {case.test_id} ran but was never collected")


def _where(run: str, cell: str, shard: str) -> str:
    return ", ".join(p for p in (f"run {run}" if run else "", f"cell {cell}" if cell else "", f"shard {shard}") if p)


def _conclude(case: MergedCase) -> None:
    case.attempts.sort(key=_order_key(case.attempts))
    if not case.attempts:
        case.state, case.outcome = State.NOT_RUN, Outcome.ERROR
        return
    last = case.attempts[-1]
    if not last.finished:
        case.state, case.outcome = State.ABORTED, Outcome.ERROR
        return
    case.outcome = last.outcome
    if last.word == "xfailed":
        case.state = State.XFAIL
    elif last.word == "xpassed":
        case.state, case.strict_xpass = State.XPASS, last.outcome is not Outcome.PASSED
    elif last.outcome is Outcome.PASSED and any(
        not a.finished or a.outcome is not Outcome.PASSED for a in case.attempts
    ):
        case.state = State.FLAKY
    else:
        case.state = State.of(last.outcome)


def _order_key(attempts: Sequence[Attempt]) -> Any:
    """By job attempt, then the monotonic clock if all ran in one boot of one host, else the wall clock."""
    one_boot = len({a.order[1] for a in attempts}) == 1
    return lambda a: (a.order[0], a.order[2] if one_boot else a.order[3], a.n)
