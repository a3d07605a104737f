"""Names in reports are those of the versions before, since history lines up by them: ``tests/data/report-names.txt``.

A name that must change is a break for everybody who keeps a history: it belongs into CHANGELOG.md.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from corstone.ledger import open_ledger
from corstone.ledger.merge import merge
from corstone.ledger.writer import Identity
from corstone.report.merged_junit import case_element

TOP = Path(__file__).parents[2]
NAMES = TOP / "tests" / "data" / "report-names.txt"
CELLS = (
    "--corstone-target=ethos-u55-128,ethos-u65-256,ethos-u85-256",
    "--corstone-bits=8,16",
    "--corstone-policy=fixed",
)


def test_names_of_the_matrix_are_those_of_the_versions_before(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-m",
        "fvp",
        *CELLS,
        "tests/fvp/test_networks.py",
    ]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ids = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(ids) >= 18
    with open_ledger(tmp_path, Identity("r", "u55-128")) as book:
        book.collected(ids)
    elements = [case_element(case, "strict") for case in merge([tmp_path]).cases]
    names = "".join(f"{e.classname} {e.name}\n" for e in sorted(elements, key=lambda e: (e.classname, e.name)))
    assert names == NAMES.read_text(encoding="utf-8")
