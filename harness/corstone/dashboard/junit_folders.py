"""JUnit of a history: a folder a run with one file in it, for tools that read folders of JUnit files."""

from __future__ import annotations

import re
from pathlib import Path

from corstone.dashboard.history import find_runs
from corstone.ledger.merge import merge
from corstone.report.merged_junit import write_junit


def write_junit_folders(history: Path, out: Path, *, flavour: str = "properties") -> int:
    """Write ``out/<run>/junit.xml`` for every run whose ledgers are there; returns how many."""
    runs = find_runs(history)
    for found in runs:
        folder = out / re.sub(r"[^A-Za-z0-9_.-]+", "_", found.run)
        folder.mkdir(parents=True, exist_ok=True)
        write_junit(merge([path for _, _, path in found.ledgers]), folder / "junit.xml", flavour=flavour)
    return len(runs)
