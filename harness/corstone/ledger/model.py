"""What a merge gives: cases with their attempts, states, counts and problems. Plain data, light enough for 100,000."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from corstone.causes import Outcome
from corstone.report.record import CaseRecord


class State(StrEnum):
    """State of a test in a report. The first seven are the outcomes; the others say what an outcome cannot."""

    ERROR = "error"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    NO_OUTPUT = "no-output"
    FAILED = "failed"
    SKIPPED = "skipped"
    PASSED = "passed"
    ABORTED = "aborted"
    NOT_RUN = "not run"
    FLAKY = "flaky"
    QUARANTINED = "quarantined"
    XFAIL = "xfail"
    XPASS = "xpass"

    @staticmethod
    def of(outcome: Outcome) -> State:
        """The state that only repeats an outcome."""
        return State(outcome.value.lower().replace("_", "-"))


RED = frozenset(
    {State.ERROR, State.CRASHED, State.TIMED_OUT, State.NO_OUTPUT, State.FAILED, State.ABORTED, State.NOT_RUN}
)


@dataclass(slots=True)
class Source:
    """One ledger file that was read, with its opening line."""

    path: Path
    head: dict[str, Any]
    versions: dict[int, dict[str, str]] = field(default_factory=dict)
    closed: bool = False
    damaged: int = 0
    torn_tail: bool = False
    recent: tuple[int, dict[str, Any]] = (-1, {})
    """Offset and content of the detail read last: a report asks for several parts of it in turn."""

    @property
    def shard_key(self) -> tuple[str, str, str]:
        """Run, cell, shard."""
        return self.head["run"], self.head["cell"], self.head["shard"]


@dataclass(slots=True)
class Attempt:
    """One execution of a test. ``finished`` is False for one that never came to its end."""

    source: Source
    n: int
    order: tuple[Any, ...]
    finished: bool = False
    outcome: Outcome = Outcome.ERROR
    cause: str = ""
    word: str = ""
    reason: str = ""
    seconds: float = 0.0
    wall: float = 0.0
    detail_at: int = -1
    figures: dict[str, float] | None = None
    names: dict[str, Any] | None = None
    versions_key: int = -1

    @property
    def versions(self) -> dict[str, str]:
        """Tool versions named by this attempt's records."""
        return self.source.versions.get(self.versions_key, {})

    def detail(self) -> dict[str, Any]:
        """Records and captured text, read again from the ledger: they are not held in memory."""
        if self.detail_at < 0:
            return {"records": [], "text": "", "out": "", "err": "", "props": []}
        from corstone.ledger.reader import detail_at

        return detail_at(self.source, self.detail_at)

    def records(self) -> list[CaseRecord]:
        """The case records of this attempt, captures named as paths that exist from here."""
        result = []
        for data in self.detail()["records"]:
            capture = data.get("capture", "")
            if capture and not Path(capture).is_absolute():
                data = data | {"capture": os.path.normpath(self.source.path.parent / capture)}
            result.append(CaseRecord.from_json(data))
        return result


@dataclass(slots=True)
class MergedCase:
    """One test in one cell of one run, with all its attempts in order."""

    run: str
    cell: str
    test_id: str
    attempts: list[Attempt] = field(default_factory=list)
    state: State = State.NOT_RUN
    outcome: Outcome = Outcome.ERROR
    lost: str = ""
    collected: bool = False
    strict_xpass: bool = False
    quarantine: dict[str, str] | None = None
    shard: str = ""

    @property
    def last(self) -> Attempt | None:
        """The attempt whose result counts."""
        return self.attempts[-1] if self.attempts else None

    @property
    def red(self) -> bool:
        """Whether this case makes the run red."""
        return self.state in RED or (self.state is State.XPASS and self.strict_xpass)

    @property
    def seconds(self) -> float:
        """Of all attempts."""
        return sum(a.seconds for a in self.attempts)

    @property
    def names(self) -> dict[str, Any]:
        """Network, bits, policy and so on; empty for a test without records."""
        return next((a.names for a in reversed(self.attempts) if a.names), {})

    @property
    def figures(self) -> dict[str, float]:
        """Figures of the attempt that counts."""
        return (self.last.figures if self.last else None) or {}

    @property
    def cause(self) -> str:
        """Cause of the attempt that counts; what the state says where there is none."""
        if self.state is State.ABORTED:
            return "interrupted"
        if self.state is State.NOT_RUN:
            return "nothing-ran"
        return self.last.cause if self.last else ""

    @property
    def reason(self) -> str:
        """One line for people."""
        if self.state is State.NOT_RUN:
            return "collected, but never started" + (f" ({self.lost})" if self.lost else "")
        if self.last is None:
            return ""
        if not self.last.finished:
            return "started, but never finished" + (f": {self.lost}" if self.lost else "")
        if self.state is State.FLAKY:
            first = self.attempts[0]
            first_reason = first.reason if first.finished else "never finished"
            return f"passed at attempt {len(self.attempts)}; attempt 1: {first_reason}"
        return self.last.reason


@dataclass(slots=True)
class Merged:
    """The whole of one or more runs. ``problems`` make the merge red, ``notes`` do not."""

    cases: list[MergedCase]
    sources: list[Source]
    problems: list[str]
    notes: list[str]
    properties: dict[str, str]

    @property
    def counts(self) -> Counter[State]:
        """Cases by state."""
        return Counter(c.state for c in self.cases)

    @property
    def collected(self) -> int:
        """How many tests were collected."""
        return sum(c.collected for c in self.cases)

    @property
    def red(self) -> bool:
        """Whether anything here must stop a pipeline: a red case, a problem, or nothing at all."""
        return bool(self.problems) or not self.cases or any(c.red for c in self.cases)

    @property
    def final_line(self) -> str:
        """The line a CI step looks for."""
        relation = "=" if self.collected == len(self.cases) and not self.problems else "!="
        counts = ", ".join(f"{n} {state.value}" for state, n in sorted(self.counts.items(), key=lambda x: -x[1]))
        return f"{self.collected} collected {relation} {len(self.cases)} reported: {counts or 'nothing'}"

    def to_json(self) -> dict[str, Any]:
        """Summary without the cases."""
        return {
            "schema": 1,
            "red": self.red,
            "collected": self.collected,
            "reported": len(self.cases),
            "counts": {state.value: n for state, n in self.counts.items()},
            "problems": self.problems,
            "notes": self.notes,
            "properties": self.properties,
            "ledgers": [str(s.path.name) for s in self.sources],
        }


def line(data: dict[str, Any]) -> str:
    """One compact JSON line."""
    return json.dumps(data, separators=(",", ":"))
