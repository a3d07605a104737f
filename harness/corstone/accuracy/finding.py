"""What the domain guard finds: closed vocabularies, one record a finding. Leaves out how it is found (``guard``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How bad, worst first."""

    ERROR = "error"
    """Inputs inside the domain get wrong answers, or the table itself is broken."""
    WARNING = "warning"
    """Answers are right but coarse, or wrong ones were met by the calibration inputs only outside the domain."""
    NOTE = "note"
    """Worth knowing; no input inside the domain meets it."""

    @property
    def order(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class Kind(StrEnum):
    """What is wrong with a table, by name."""

    CODE_OUTSIDE = "code outside the domain"
    NODE_OUTSIDE = "table node outside the domain"
    NAN_ENTRY = "NaN stored as a code"
    INFINITE_ENTRY = "infinity stored as a code"
    ENTRY_COUNT = "wrong number of entries"
    WRONG_ENTRY = "wrong entry"
    CONSTANT = "constant table"
    TRUNCATED = "truncated table"
    DEGENERATE = "degenerate table"
    FLAT_LAST = "flat last interval"
    ENDPOINT = "endpoint off by one"
    SLOPE = "slope outside int16"
    OBSERVED_OUTSIDE = "observed range outside the domain"
    END_CLIPPED = "end of the domain not representable"
    OUTPUT_CLIPPED = "output clipped"
    INTERPOLATION = "interpolation cannot follow"


@dataclass(frozen=True)
class Finding:
    """One finding about one table.

    ``codes`` are first, last and count of the input codes concerned, None where it is about the whole table. ``hits``
    counts elements of the calibration inputs on those codes, None when no inputs were looked at. ``lsb`` is how far
    answers are off, in output steps, where that can be said.
    """

    kind: Kind
    severity: Severity
    table: str
    operator: str
    message: str
    repair: str
    codes: tuple[int, int, int] | None = None
    hits: int | None = None
    lsb: float | None = None

    def __str__(self) -> str:
        hits = f" [{self.hits} calibration inputs]" if self.hits is not None else ""
        return f"{self.severity}: {self.table}: {self.kind}: {self.message}{hits}\n  repair: {self.repair}"

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class GuardReport:
    """All findings about a program, worst first, and the tables that were looked at."""

    program: str
    tables: tuple[str, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that inputs inside the domain meet."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)

    def of(self, *kinds: Kind) -> tuple[Finding, ...]:
        """The findings of these kinds."""
        return tuple(f for f in self.findings if f.kind in kinds)

    def to_json(self) -> dict[str, Any]:
        """Plain data, with a schema number."""
        return {
            "schema": 1,
            "program": self.program,
            "tables": list(self.tables),
            "findings": [f.to_json() for f in self.findings],
            "notes": list(self.notes),
        }


def worst_first(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """By severity; else in the order found."""
    return tuple(sorted(findings, key=lambda f: f.severity.order))
