"""The HTML report: one self-contained page, opened from disk, that asks for nothing from a network.

The list is drawn from a small table in the page; what is behind a case lies compressed, one line a case, and is
unpacked when it is opened, so that 3,000 cases open at once. ``html_data`` says what is shown, ``html_curve`` what is
drawn, ``html_pack`` and ``html_share`` how it is packed, and by whom, ``html_assets`` how it looks. Without JavaScript
the page still has a table of all verdicts.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any, TextIO

from corstone import __version__
from corstone.report import html_data, html_share, terminal
from corstone.report.html_curve import detail_for
from corstone.report.record import CaseRecord

Entry = tuple[dict[str, Any], Callable[[], dict[str, Any]]]
"""A row of the list, and what gives its detail."""

ASSETS = Path(__file__).with_name("html_assets")
_SCRIPTS = ("chart.js", "case.js", "page.js")
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E"
    "%3Crect width='16' height='16' rx='4' fill='%231f5fa8'/%3E"
    "%3Cpath d='M2 11C6 11 7 4 14 4' stroke='white' stroke-width='2' fill='none'/%3E%3C/svg%3E"
)


def write_html(path: Path, records: Sequence[CaseRecord], *, title: str = "Corstone report") -> None:
    """Write the page beside its place and rename it, so that a reader sees the old page or the new one.

    Raises
    ------
    OSError: the folder cannot be written.
    """
    ordered = sorted(records, key=lambda r: (r.verdict.outcome.severity, 0))  # stable: the run's order within a verdict
    entries = [
        (html_data.row(r), functools.partial(html_data.detail, r, detail_for(len(ordered), place)))
        for place, r in enumerate(ordered)
    ]
    table = "\n".join(terminal.table(ordered)) if ordered else "nothing ran"
    device = "; ".join(filter(None, (terminal.ran_on_device(records), terminal.from_cache(records))))
    write_entries(path, entries, {"title": title, "device": device}, table)


def write_entries(path: Path, entries: Sequence[Entry], head: dict[str, Any], table: str) -> None:
    """The page of any entries in the order given: a row each, and what makes its detail (see ``html_share``).

    Parameters
    ----------
    head: ``title``, ``device``; for a merged run also ``answer``, ``problems``, ``notes`` and ``facts``.
    table: all verdicts as text, for a reader without JavaScript.

    Raises
    ------
    OSError: the folder cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with waiting.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            _page(stream, entries, head, table)
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def _page(out: TextIO, entries: Sequence[Entry], head: dict[str, Any], table: str) -> None:
    title = str(head["title"])
    script = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:"
    style = (ASSETS / "page.css").read_text(encoding="utf-8")
    body = (ASSETS / "body.html").read_text(encoding="utf-8")
    index = html_data.visible(head) | {
        "made": time.strftime("%Y-%m-%d %H:%M %Z"),
        "harness": __version__,
        "cases": [row for row, _ in entries],
    }
    out.write(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        f'<link rel="icon" href="{_ICON}"><style>{style}</style></head>\n<body>{body}'
    )
    out.write(f"<noscript><p>The curves need JavaScript. All verdicts:</p><pre>{escape(table)}</pre></noscript>")
    out.write(f'<script type="application/json" id="index">{_json(index)}</script>\n')
    # One line a case; base64 holds nothing that could end the element.
    out.write('<script type="text/plain" id="details">')
    out.writelines(line + "\n" for line in html_share.lines([detail for _, detail in entries]))
    out.write(f"</script>\n<script>{script}</script></body></html>\n")


def _json(data: Any) -> str:
    """JSON that cannot end its element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
