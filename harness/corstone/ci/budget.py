"""``corstone ci budget``: what the matrix costs, what could be cut, and how it grows.

Minutes come from recorded durations where a cell has a history, else from the number of its cases and the seconds a
case is said to take in ``[budget]``. Nothing here is measured on the CI engine itself: set-up minutes are the file's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corstone.ci.matrix import STAGES, Cell, Matrix

RUNS_A_MONTH = {"pull-request": 60.0, "nightly": 30.0, "weekly": 4.3}
NETWORKS = 3


@dataclass(frozen=True)
class Line:
    """One cell in one stage. Minutes are of runner time, all shards together."""

    cell: str
    stage: str
    jobs: int
    cases: int
    minutes: float
    monthly: float
    measured: bool


@dataclass(frozen=True)
class Measured:
    """What the history knows of a cell: seconds of tests in a night, nights seen, nights in which it alone was red."""

    seconds: float
    cases: int
    nights: int
    red: int
    alone_red: int


def lines(matrix: Matrix, measured: Mapping[str, Measured] | None = None) -> list[Line]:
    """Every cell in each of its stages, dearest first."""
    known = measured or {}
    result = []
    for stage in STAGES:
        for cell in matrix.stage(stage):
            found = known.get(cell.name)
            cases = found.cases if found else _cases(cell)
            seconds = found.seconds if found else cases * float(matrix.budget.get("seconds_per_case", 1.0))
            minutes = cell.shards[stage] * float(matrix.budget.get("setup_minutes", 3.0)) + seconds / 60
            runs = float(matrix.budget.get("runs_a_month", {}).get(stage, RUNS_A_MONTH[stage]))
            result.append(Line(cell.name, stage, cell.shards[stage], cases, minutes, minutes * runs, found is not None))
    return sorted(result, key=lambda x: -x.monthly)


def _cases(cell: Cell) -> int:
    return NETWORKS * len(cell.targets) * len(cell.bits) * len(cell.policies)


def growth(matrix: Matrix) -> list[tuple[str, int, float]]:
    """Jobs and minutes a month more when a target, a version or a shard is added."""
    base = lines(matrix)
    setup = float(matrix.budget.get("setup_minutes", 3.0))
    seconds = float(matrix.budget.get("seconds_per_case", 1.0))
    target = sum(
        NETWORKS * len(c.bits) * len(c.policies) * seconds / 60 * _runs(matrix, s)
        for s in STAGES
        for c in matrix.stage(s)
    )
    rows = [("one more target in every cell", 0, target)]
    for tool in ("python", "vela", "executorch", "qemu", "fvp"):
        cells = [c for c in matrix.stage("weekly") if c.provider == ("fvp" if tool == "fvp" else "emulator")]
        if cells:
            mean = sum(x.minutes for x in base if x.stage == "weekly") / max(1, len(matrix.stage("weekly")))
            rows.append((f"one more {tool} version, one weekly cell", 1, mean * _runs(matrix, "weekly")))
    every = sum(x.minutes for x in base if x.stage == "nightly")
    jobs = sum(x.jobs for x in base if x.stage == "nightly")
    rows.append(("one more version of anything in every nightly cell", jobs, every * _runs(matrix, "nightly")))
    rows.append(
        ("one more shard in every nightly cell", len(matrix.stage("nightly")), setup * _runs(matrix, "nightly"))
    )
    return rows


def _runs(matrix: Matrix, stage: str) -> float:
    return float(matrix.budget.get("runs_a_month", {}).get(stage, RUNS_A_MONTH[stage]))


def cuts(matrix: Matrix, measured: Mapping[str, Measured] | None = None) -> list[str]:
    """What to cut first, each with its reason and its saving in minutes a month; dearest first."""
    known = measured or {}
    setup = float(matrix.budget.get("setup_minutes", 3.0))
    found: list[tuple[float, str]] = []
    for line in lines(matrix, known):
        tests = line.minutes - line.jobs * setup
        if line.jobs > 1 and tests < setup:
            saving = (line.jobs - 1) * setup * _runs(matrix, line.stage)
            found.append(
                (saving, f"{line.cell} at {line.stage}: {line.jobs} shards for {tests:.1f} min of tests, one will do")
            )
        history = known.get(line.cell)
        if line.stage != "weekly" and history and history.nights >= 14 and history.alone_red == 0:
            reason = f"in {history.nights} nights never red by itself, run it weekly"
            found.append((line.monthly, f"{line.cell} at {line.stage}: {reason}"))
    return [f"{text} (saves {saving:.0f} min a month)" for saving, text in sorted(found, reverse=True)]


def report(matrix: Matrix, measured: Mapping[str, Measured] | None = None) -> str:
    """The whole answer as text."""
    rows = lines(matrix, measured)
    cost, currency = float(matrix.budget.get("cost_per_minute", 0.0)), str(matrix.budget.get("currency", ""))
    out = [
        f"{'cell':24} {'stage':13} {'jobs':>4} {'cases':>6} {'min/run':>8} {'min/month':>10} {currency + '/month':>10}"
    ]
    out += [
        f"{x.cell:24} {x.stage:13} {x.jobs:4} {x.cases:6} {x.minutes:8.1f} {x.monthly:10.0f} {x.monthly * cost:10.2f}"
        f"{'' if x.measured else '  (estimated)'}"
        for x in rows
    ]
    for stage in STAGES:
        here = [x for x in rows if x.stage == stage]
        if here:
            out.append(
                f"{'all of ' + stage:38} {sum(x.jobs for x in here):4} {sum(x.cases for x in here):6} "
                f"{sum(x.minutes for x in here):8.1f} {sum(x.monthly for x in here):10.0f} "
                f"{sum(x.monthly for x in here) * cost:10.2f}"
            )
    out += ["", "How it grows:"]
    out += [f"  {name}: {jobs} jobs, {minutes:.0f} min a month more" for name, jobs, minutes in growth(matrix)]
    out += ["", "What to cut:"]
    out += [f"  {text}" for text in cuts(matrix, measured)] or ["  nothing stands out"]
    return "\n".join(out) + "\n"
