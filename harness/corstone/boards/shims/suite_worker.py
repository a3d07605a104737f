"""Runs some of ExecuTorch's own Arm tests in this process, untouched, and writes one line for each.

Started by ``suite_run.py`` with the path of a JSON file: ``folder`` (where the tests are), ``files`` (names), ``tests``
(keys to run; none: list them all and run nothing), ``targets`` (parts of names wanted), ``rows`` (file for a line a
test), ``current`` (file that holds the test in progress), ``boots`` (the shims' log). A key is ``file::name``.

pytest gets no configuration of ours: neither this project's pyproject.toml nor its plugins.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from corstone.formats.ndjson import append_row

# Why a test never asks for a device, by what is in its function; the first that fits.
_NO_DEVICE = (
    ("OpNotSupported", "checks that the operator is not delegated"),
    ("run_on_fvp=False", "says run_on_fvp=False"),
    ("pytest.raises", "expects an error of the compiler"),
    ("call_delegate not in", "checks that the operator is not delegated"),
    ("not_delegated", "checks that the operator is not delegated"),
    ("call_delegate in", "looks at the lowered graph alone"),
    ("pop_stage(-1)", "takes its own device stage out"),
    ('pop_stage("run_method_and_compare_outputs")', "takes its own device stage out"),
)
_WHY_CHARACTERS = 600


class Recorder:
    """The pytest plugin: selects the tests and writes the rows."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.wanted = frozenset(job["tests"])
        self.targets = tuple(job["targets"])
        self.rows = Path(job["rows"])
        self.current = Path(job["current"])
        self.boots = Path(job["boots"])
        self.items: dict[str, pytest.Item] = {}
        self.reports: list[pytest.TestReport] = []
        self.began = 0.0
        self.log_at = 0

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep what is wanted; when nothing is named, list all and keep nothing."""
        marked = [item for item in items if any(target in item.nodeid for target in self.targets)]
        if not self.wanted:
            self._write({"test": key(item.nodeid), "function": _function(item)} for item in marked)
        kept = [item for item in marked if key(item.nodeid) in self.wanted]
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = kept
        self.items = {item.nodeid: item for item in kept}

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Remember when it began, and which test it is should this process die."""
        self.reports.clear()
        self.began = time.perf_counter()
        self.log_at = self.boots.stat().st_size if self.boots.exists() else 0
        self.current.write_text(key(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect setup, call and teardown."""
        self.reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Write the row."""
        boots = [boot for boot in self._boots() if boot["started"]]
        state, why = outcome(self.reports, bool(boots))
        if state == "no-device":
            why = why or _reason(self.items[nodeid])
        row = {
            "test": key(nodeid),
            "state": state,
            "boots": len(boots),
            "exits": [boot["exit"] for boot in boots],
            "boot_s": round(sum(boot["wall_s"] for boot in boots), 3),
            "wall_s": round(time.perf_counter() - self.began, 3),
            "why": why,
        }
        self._write([row])
        self.current.write_text("")

    def _boots(self) -> list[dict[str, Any]]:
        if not self.boots.exists():
            return []
        with self.boots.open() as stream:
            stream.seek(self.log_at)
            return [json.loads(line) for line in stream]

    def _write(self, rows: Iterable[dict[str, Any]]) -> None:
        for row in rows:
            append_row(self.rows, row)


def key(nodeid: str) -> str:
    """``file::name`` of a test, without folders and suffix."""
    path, _, name = nodeid.partition("::")
    return f"{path.rpartition('/')[2].removesuffix('.py')}::{name}"


def outcome(reports: list[pytest.TestReport], booted: bool) -> tuple[str, str]:
    """State and reason of a test; ``passed`` needs a boot, ``no-device`` passed without one."""
    for report in reports:
        if report.failed:
            text = str(report.longrepr)
            crash = getattr(report.longrepr, "reprcrash", None)
            return "failed", f"{report.when}: {_short(crash.message if crash else text.strip())}"
    for report in reports:
        if report.skipped:
            if hasattr(report, "wasxfail"):
                return "xfailed", str(report.wasxfail).removeprefix("reason: ")
            where = report.longrepr
            return "skipped", str(where[2] if isinstance(where, tuple) else where)
    if any(hasattr(report, "wasxfail") for report in reports):
        return "xpassed", ""
    return ("passed", "") if booted else ("no-device", "")


def _short(text: str) -> str:
    """The beginning; of a failed boot, whose command line comes first, rather what the simulator said."""
    command, said, words = text.partition("Stderr:")
    return f"{command[:80]} ... {said}{words}"[:_WHY_CHARACTERS] if said else text[:_WHY_CHARACTERS]


def _function(item: pytest.Item) -> str:
    return str(getattr(item, "originalname", None) or item.name)


def _reason(item: pytest.Item) -> str:
    try:
        source = inspect.getsource(getattr(item, "function", None))  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""
    return next((why for mark, why in _NO_DEVICE if mark in source), "")


def main() -> int:
    """Run pytest on the job's files; its status is ours."""
    job = json.loads(Path(sys.argv[1]).read_text())
    folder = Path(job["folder"])
    # A configuration file of its own, empty: the nearest pyproject.toml may be anybody's.
    arguments = [
        "-c",
        "/dev/null",
        f"--rootdir={folder}",
        "-q",
        "--tb=short",
        "--no-header",
        "-rN",
        "-p",
        "no:cacheprovider",
    ]
    arguments += [str(folder / f"{name}.py") for name in job["files"]]
    return int(pytest.main(arguments, plugins=[Recorder(job)]))


if __name__ == "__main__":
    sys.exit(main())
