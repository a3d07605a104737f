"""The HTML report: one self-contained page, opened from disk."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from corstone.report import terminal
from corstone.report.record import CaseRecord


def write_html(path: Path, records: Sequence[CaseRecord]) -> None:
    """Write the page."""
    body = "\n".join(terminal.table(records))
    path.write_text(f"<!doctype html><meta charset=utf-8><title>Corstone</title><pre>{escape(body)}</pre>\n")
