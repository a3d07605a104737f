"""The quarantine list: tests that run and are reported apart until a day, with an owner and an issue.

A TOML file of ``[[quarantine]]`` tables with ``test`` (a shell pattern on the test's id, or ``cell::id``), ``owner``,
``issue``, ``expires`` (a date) and, if wanted, ``reason``. All of the first four are needed: a quarantine nobody owns
is a deleted test.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from corstone.errors import ConfigError
from corstone.ledger.model import MergedCase, State

_NEEDED = ("test", "owner", "issue", "expires")


@dataclass(frozen=True)
class Entry:
    """One quarantined pattern."""

    test: str
    owner: str
    issue: str
    expires: date
    reason: str = ""

    def matches(self, case: MergedCase) -> bool:
        """Whether the case is meant; brackets of parametrized ids are taken as they are."""
        pattern = self.test.replace("[", "[[]")
        return fnmatchcase(case.test_id, pattern) or fnmatchcase(f"{case.cell}::{case.test_id}", pattern)


@dataclass(frozen=True)
class Quarantine:
    """All entries of one list."""

    entries: tuple[Entry, ...] = ()

    @staticmethod
    def load(path: Path) -> Quarantine:
        """Read a list.

        Raises
        ------
        ConfigError: no TOML, a field is missing, or ``expires`` is no date.
        """
        try:
            data = tomllib.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot read the quarantine list {path}: {error}") from error
        entries = []
        for number, table in enumerate(data.get("quarantine", []), start=1):
            missing = [name for name in _NEEDED if not table.get(name)]
            if missing:
                raise ConfigError(f"{path}: entry {number} has no {', '.join(missing)}", hint="each is needed")
            if not isinstance(table["expires"], date):
                raise ConfigError(f"{path}: entry {number}: expires is {table['expires']!r}", hint="write 2026-12-31")
            unknown = set(table) - {*_NEEDED, "reason"}
            if unknown:
                raise ConfigError(f"{path}: entry {number}: unknown {', '.join(sorted(unknown))}")
            entries.append(Entry(**table))
        return Quarantine(tuple(entries))

    def apply(self, cases: list[MergedCase], today: date) -> list[str]:
        """Mark the red cases of living entries as quarantined; returns what a reader should know of the list."""
        notes = []
        for entry in self.entries:
            hits = [c for c in cases if entry.matches(c)]
            label = f"quarantine of {entry.test} ({entry.owner}, {entry.issue})"
            if today > entry.expires:
                notes.append(f"{label} expired on {entry.expires}: its {len(hits)} tests count again")
                continue
            if not hits:
                notes.append(f"{label} matches no test")
            for case in hits:
                case.quarantine = {k: str(v) for k, v in asdict(entry).items()}
                if case.red and case.state is not State.NOT_RUN:
                    case.state = State.QUARANTINED
            if hits and all(c.state in {State.PASSED, State.SKIPPED} for c in hits):
                notes.append(f"{label}: every test passed, the entry can go")
        return notes
