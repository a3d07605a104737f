"""The JSON that scripts read: ``corstone check --json`` and ``corstone run --json``. Schema 1.

At the top: ``verdict``, ``cause``, ``reason``, ``provider`` (``fvp``, ``emulator`` or null), ``executor``,
``exit_status``, ``counts``, ``programs`` (how many came from the ``cache``, how many were ``compiled``), ``outputs`` (a
list of ``case``, ``index``, ``file``, ``name``, ``dtype``, ``shape``, ``size_bytes``) and ``cases`` (every record). For
several cases the verdict is the worst, and the provider is named only when all cases had the same. NaN and infinities
are words, so that any reader takes the file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corstone.causes import Cause, Outcome
from corstone.errors import HarnessError
from corstone.report.record import CaseRecord

SCHEMA = 1


def summary(records: Sequence[CaseRecord], exit_status: int) -> dict[str, Any]:
    """Everything of a run as plain data."""
    first = min(records, key=lambda r: r.verdict.outcome.severity, default=None)
    kinds = {None if r.executor is None else r.executor.kind for r in records}
    names = {None if r.executor is None else str(r.executor) for r in records}
    return {
        "schema": SCHEMA,
        "verdict": str(first.verdict.outcome) if first else str(Outcome.ERROR),
        "cause": str(first.verdict.cause) if first else str(Cause.NOTHING_RAN),
        "reason": first.verdict.reason if first else "nothing ran",
        "hint": first.verdict.hint if first else "",
        "provider": kinds.pop() if len(kinds) == 1 else None,
        "executor": names.pop() if len(names) == 1 else None,
        "exit_status": exit_status,
        "counts": {str(o): n for o in Outcome if (n := sum(r.verdict.outcome is o for r in records))},
        "programs": {origin: sum(r.program == origin for r in records) for origin in ("cache", "compiled")},
        "outputs": [output for record in records for output in outputs(record)],
        "cases": [record.to_json() for record in records],
    }


def refused(error: HarnessError) -> dict[str, Any]:
    """The same for a request that came to no case: the caller's error, or a tool that is missing."""
    return {
        "schema": SCHEMA,
        "verdict": str(error.outcome),
        "cause": str(error.cause),
        "reason": error.message,
        "hint": error.hint,
        "provider": None,
        "executor": None,
        "exit_status": error.exit_code,
        "outputs": [],
        "cases": [],
        "evidence": {name: str(value) for name, value in error.evidence.items()},
    }


def outputs(record: CaseRecord) -> list[dict[str, Any]]:
    """Output files of a case with what they are; empty when the capture is not there."""
    folder = Path(record.capture) if record.capture else None
    return [] if folder is None else capture_outputs(folder, record.case_id)


def capture_outputs(folder: Path, case: str = "") -> list[dict[str, Any]]:
    """Output files of a capture folder; dtype and shape where the program was kept."""
    names = _read(folder / "capture.json").get("outputs", ())
    specs = _read(folder / "program.json").get("outputs", ())
    rows = []
    whole = folder.resolve()
    for index, name in enumerate(names):
        file = folder / Path(str(name)).name
        spec = specs[index] if index < len(specs) else {}
        rows.append(
            {
                "case": case,
                "index": index,
                "file": str(file.resolve() if file.is_symlink() else whole / file.name),
                "name": spec.get("name", ""),
                "dtype": spec.get("dtype"),
                "shape": spec.get("shape"),
                "size_bytes": file.stat().st_size if file.exists() else None,
            }
        )
    return rows


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Write strict JSON, a line a case and output; a NaN that slipped in is a defect and raises ValueError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = ",\n".join(f" {_text(name)}: {_lines(data[name])}" for name in sorted(data))
    path.write_text(f"{{\n{fields}\n}}\n", encoding="utf-8")


def _lines(value: Any) -> str:
    """Indented JSON is written by Python, which takes four times as long as one line does."""
    if not isinstance(value, list) or not value:
        return _text(value)
    return "[\n" + ",\n".join(f"  {_text(item)}" for item in value) + "\n ]"


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
