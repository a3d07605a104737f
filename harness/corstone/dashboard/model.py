"""What the site shows above single cases: sums by cell and night, collected while the cases stream past."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from corstone.dashboard.drift import Drift
from corstone.dashboard.store import CaseSeries, Night


@dataclass
class CellNight:
    """One cell in one night."""

    states: Counter[str] = field(default_factory=Counter)
    red: int = 0
    seconds: float = 0.0
    worst_lsb: float | None = None
    share: float | None = None
    npu_cycles: float = 0.0
    npu_commands: float = 0.0
    npu_bytes: float = 0.0

    @property
    def total(self) -> int:
        """Results."""
        return sum(self.states.values())

    def add(self, case: CaseSeries, i: int) -> None:
        """Count one result."""
        self.states[case.states[i]] += 1
        self.red += case.red[i]
        values = case.values
        self.seconds += values["seconds"][i] or 0.0
        for name in ("worst_lsb", "share"):
            value = values[name][i]
            if value is not None:
                setattr(self, name, max(value, getattr(self, name) or 0.0))
        for name in ("npu_cycles", "npu_commands", "npu_bytes"):
            setattr(self, name, getattr(self, name) + (values[name][i] or 0.0))


@dataclass(slots=True)
class CaseRow:
    """One case as lists show it; its series is gone by then."""

    case_id: int
    cell: str
    test_id: str
    names: dict[str, str]
    href: str
    latest: int
    state: str
    red: bool
    cause: str
    seconds: float | None
    worst_lsb: float | None
    share: float | None
    flakes: int
    runs: int
    first_red: int = -1
    states: str = ""


@dataclass
class DriftWarning:
    """One drift, with its case and the version changes of its first night."""

    row: CaseRow
    drift: Drift
    changed: list[str]


@dataclass
class Site:
    """Everything but the single cases."""

    nights: list[Night]
    versions: dict[str, list[dict[str, str]]]
    cells: dict[str, list[CellNight]] = field(default_factory=dict)
    rows: list[CaseRow] = field(default_factory=list)
    drifts: list[DriftWarning] = field(default_factory=list)
    cell_href: dict[str, str] = field(default_factory=dict)
    night_href: list[str] = field(default_factory=list)
    not_passed: list[list[tuple[CaseRow, str, str]]] = field(default_factory=list)

    @property
    def last(self) -> int:
        """Index of the newest night."""
        return len(self.nights) - 1

    def last_green(self, cell: str, before: int) -> int:
        """Newest night up to ``before`` in which the cell ran and nothing in it was red; -1 when there is none."""
        nights = self.cells[cell]
        return next((i for i in range(before, -1, -1) if nights[i].total and not nights[i].red), -1)

    def latest(self, cell: str) -> int:
        """Newest night in which the cell ran; -1 when there is none."""
        nights = self.cells[cell]
        return next((i for i in range(self.last, -1, -1) if nights[i].total), -1)
