"""A sweep as files: ``codes.csv`` has every code, ``summary.csv`` a row a case, ``findings.md`` what it shows, and
``sweep.json`` all but the codes.

Numbers have the precision to tell codes apart; a value that is not there is an empty cell. Leaves out the page.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from corstone.accuracy import edge_findings
from corstone.accuracy.curve import STAGES, WITHIN, Curve
from corstone.accuracy.sweep import Swept

SCHEMA = 1
_CASE = ("network", "bits", "policy", "target")


def summary_rows(swept: Swept) -> list[dict[str, Any]]:
    """A row a case: codes within each distance, largest and mean error, cost, verdict; refused ones with the reason."""
    rows = [summary(curve) for curve in swept.curves]
    rows += [
        {"network": r.network, "bits": r.bits, "policy": r.policy, "target": r.target, "refused": r.reason}
        for r in swept.refused
    ]
    return rows


def summary(curve: Curve) -> dict[str, Any]:
    """One case's figures, in output steps (LSB) unless named otherwise."""
    record = curve.record
    return {
        "network": record.network,
        "bits": record.bits,
        "policy": record.policy,
        "target": record.target,
        "board": record.board,
        "executed_by": str(record.executor or ""),
        "outcome": str(record.verdict.outcome),
        "cause": str(record.verdict.cause),
        "first_difference": curve.first_difference,
        "codes": curve.count,
        "codes_outside": curve.codes.size - curve.count,
        **{f"within_{limit:g}_lsb": curve.within(limit) for limit in WITHIN},
        "max_lsb": curve.max_lsb,
        "mean_lsb": curve.mean_lsb,
        "max_abs": curve.max_lsb * curve.output.scale,
        "input_scale": curve.input.scale,
        "input_zero_point": curve.input.zero_point,
        "output_scale": curve.output.scale,
        "output_zero_point": curve.output.zero_point,
        "tables": len(curve.tables),
        **{f"npu_{name}": value for name, value in curve.cost.items()},
    }


def write_csv(folder: Path, swept: Swept, *, codes: bool = True) -> None:
    """Write ``summary.csv`` and, with ``codes``, ``codes.csv``.

    Raises
    ------
    OSError: the folder cannot be written.
    """
    rows = summary_rows(swept)
    names = list(dict.fromkeys(name for row in rows for name in row))
    with (folder / "summary.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(rows)
    if not codes:
        return
    with (folder / "codes.csv").open("w", newline="") as file:
        file.write(",".join((*_CASE, "code", "x", *(s.replace("-", "_") for s in STAGES), "error_lsb")) + "\r\n")
        for curve in swept.curves:
            file.writelines(_code_lines(curve))


def _code_lines(curve: Curve) -> list[str]:
    record = curve.record
    case = ",".join((record.network, str(record.bits), record.policy, record.target))
    empty = [""] * curve.codes.size
    columns = [_cells(curve.values[stage]) if stage in curve.values else empty for stage in STAGES]
    error = _cells(np.where(curve.judged, curve.error, np.nan), 4)
    return [
        f"{case},{','.join(cells)}\r\n"
        for cells in zip(map(str, curve.codes.tolist()), _cells(curve.x), *columns, error, strict=True)
    ]


def _cells(values: Any, digits: int = 9) -> list[str]:
    return ["" if math.isnan(v) else f"{v:.{digits}g}" for v in values.tolist()]


def write_findings(path: Path, swept: Swept, title: str) -> Path:
    """Write the tables of ``edge_findings`` as Markdown.

    Raises
    ------
    OSError: the file cannot be written.
    """
    path.write_text(f"# {title}\n\n{edge_findings.markdown(swept)}")
    return path


def write_json(path: Path, swept: Swept) -> Path:
    """Write the summary, worst codes, findings, the guard's and times.

    Raises
    ------
    OSError: the file cannot be written.
    """
    cases = [
        {
            **summary(curve),
            "case_id": curve.record.case_id,
            "capture": curve.record.capture,
            "worst": [vars(w) for w in curve.worst()],
            "notes": list(curve.notes),
            "guard": [f.to_json() for f in swept.guards[curve.record.case_id].findings],
        }
        for curve in swept.curves
    ]
    refused = [vars(r) for r in swept.refused]
    data = {
        "schema": SCHEMA,
        "cases": cases,
        "findings": edge_findings.to_json(swept),
        "refused": refused,
        "seconds": swept.seconds,
    }
    path.write_text(json.dumps(_plain(data), indent=1, allow_nan=False) + "\n")
    return path


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
