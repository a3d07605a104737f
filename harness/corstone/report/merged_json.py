"""A merged run as JSON: schema 1, one object, written case by case."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from corstone.ledger.model import Merged, MergedCase


def write_json(merged: Merged, path: Path) -> None:
    """Write ``{"schema": 1, ..., "cases": [...]}``, one case a line; beside its place first, then renamed."""
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with waiting.open("w", encoding="ascii") as stream:
            stream.write(json.dumps(merged.to_json())[:-1] + ', "cases": [')
            for number, case in enumerate(merged.cases):
                stream.write((",\n" if number else "\n") + json.dumps(case_data(case)))
            stream.write("\n]}\n")
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def case_data(case: MergedCase) -> dict[str, Any]:
    """One case with its attempts and their records."""
    attempts = [
        {
            "n": number,
            "finished": a.finished,
            "outcome": a.outcome.value if a.finished else None,
            "cause": a.cause,
            "reason": a.reason,
            "seconds": a.seconds,
            "worker": a.source.head.get("worker", ""),
            "shard": a.source.head.get("shard", ""),
            "properties": a.detail()["props"],
            "records": [r.to_json() for r in a.records()],
        }
        for number, a in enumerate(case.attempts, start=1)
    ]
    return {
        "run": case.run,
        "cell": case.cell,
        "id": case.test_id,
        "state": case.state.value,
        "outcome": case.outcome.value,
        "red": case.red,
        "cause": case.cause,
        "reason": case.reason,
        "seconds": round(case.seconds, 6),
        "figures": case.figures,
        "quarantine": case.quarantine,
        "attempts": attempts,
    }
