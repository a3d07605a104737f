"""Rows as lines of JSON, appended one by one so that a run that was killed goes on where it was.

The ledger has a reader of its own, which also says what was lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, none where there is no file; half a row, as a killed writer leaves it, is left out."""
    if not path.is_file():
        return []
    rows = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            rows.append(row)
    return rows


def append_row(path: Path, row: Mapping[str, Any]) -> None:
    """Write a row at the file's end, on a line of its own even where the last one was cut off.

    Raises
    ------
    OSError: the file cannot be written.
    """
    with path.open("ab+") as stream:
        if stream.tell() and stream.seek(-1, os.SEEK_END) >= 0 and stream.read(1) != b"\n":
            stream.write(b"\n")
        stream.write(json.dumps(dict(row)).encode() + b"\n")
