"""Exports for people who have a dashboard: OpenMetrics text, CSV, and a folder of JUnit files a run."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from corstone.dashboard import store
from corstone.dashboard.text import visible

_METRICS = (
    ("seconds", "corstone_case_duration_seconds", "Wall-clock time of all attempts of the newest result.", "seconds"),
    ("worst_lsb", "corstone_case_worst_error_lsb", "Largest distance to the float reference in output LSB.", "lsb"),
    ("share", "corstone_case_budget_share_ratio", "Largest error over its budget, 1 is used up.", "ratio"),
    ("npu_cycles", "corstone_case_npu_cycles", "NPU cycles.", "cycles"),
    ("npu_commands", "corstone_case_npu_commands", "NPU commands executed.", "commands"),
    ("npu_bytes", "corstone_case_npu_bytes", "Bytes the NPU moved.", "bytes"),
)


def _label(value: str) -> str:
    return visible(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _labels(case: store.CaseSeries, **more: str) -> str:
    pairs = {"cell": case.cell, "case": case.test_id} | case.names | more
    return "{" + ",".join(f'{name}="{_label(value)}"' for name, value in pairs.items()) + "}"


def openmetrics(connection: sqlite3.Connection) -> Iterator[str]:
    """The newest result of every case in the OpenMetrics text format, line by line."""
    order = store.nights(connection)
    cases = [c for c in store.series(connection, order) if c.latest >= 0]
    yield "# TYPE corstone_case_state stateset\n"
    yield "# HELP corstone_case_state State of the newest result.\n"
    states = sorted({c.states[c.latest] for c in cases})
    for case in cases:
        for state in states:
            here = int(case.states[case.latest] == state)
            yield f"corstone_case_state{_labels(case, corstone_case_state=state)} {here}\n"
    for figure, name, words, unit in _METRICS:
        yield f"# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {words}\n"
        for case in cases:
            value = case.values[figure][case.latest]
            if value is not None:
                yield f"{name}{_labels(case)} {value:g}\n"
    yield "# TYPE corstone_case_flaky gauge\n# HELP corstone_case_flaky Nights in which the case was flaky.\n"
    for case in cases:
        yield f"corstone_case_flaky{_labels(case)} {case.states.count('flaky')}\n"
    if order:
        last = order[-1]
        yield "# TYPE corstone_night_red gauge\n# HELP corstone_night_red Whether the newest night is red.\n"
        yield f'corstone_night_red{{night="{_label(last.label)}",run="{_label(last.run)}"}} {int(last.red)}\n'
    yield "# EOF\n"


_NAMES = ("network", "bits", "policy", "target", "board", "provider")
_COLUMNS = ("night", "run", "cell", "case", *_NAMES, "state", "red", "cause", "attempts", *store.FIGURES)


def write_csv(connection: sqlite3.Connection, path: Path) -> int:
    """All results as RFC 4180 CSV, one row a case and night; returns the rows written.

    A cell that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    order = store.nights(connection)
    count = 0
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\r\n")
        writer.writerow(_COLUMNS)
        for case in store.series(connection, order):
            names = [case.names.get(k, "") for k in _NAMES]
            for i, state in enumerate(case.states):
                if not state:
                    continue
                row = [order[i].label, order[i].run, case.cell, case.test_id, *names]
                row += [state, str(int(case.red[i])), case.causes[i], str(case.attempts[i])]
                values = [case.values[f][i] for f in store.FIGURES]
                writer.writerow([_harmless(c) for c in row] + ["" if v is None else f"{v:.6g}" for v in values])
                count += 1
    return count


def _harmless(text: str) -> str:
    text = visible(text)
    return "'" + text if text[:1] in {"=", "+", "-", "@"} else text
