"""Recorded durations: seconds by test id, in the format pytest-split reads.

A test that ran in several cells has its longest time; one that was killed tells nothing and keeps the time it had.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from corstone.ledger.model import Merged


def durations(merged: Merged) -> dict[str, float]:
    """Seconds by test id, of attempts that came to their end."""
    found: dict[str, float] = {}
    for case in merged.cases:
        times = [a.seconds for a in case.attempts if a.finished]
        if times:
            found[case.test_id] = max(found.get(case.test_id, 0.0), max(times))
    return found


def write_durations(merged: Merged, path: Path) -> None:
    """Add what is known from this run to the file, and replace it in one step."""
    known: dict[str, float] = {}
    if path.exists():
        try:
            known = {str(k): float(v) for k, v in json.loads(path.read_text(encoding="utf-8")).items()}
        except (ValueError, AttributeError, TypeError):
            known = {}  # a spoilt file only costs an uneven split
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    waiting.write_text(json.dumps(known | durations(merged), indent=0, sort_keys=True) + "\n", encoding="utf-8")
    waiting.replace(path)
