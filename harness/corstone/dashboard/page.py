"""The frame of every page: head, navigation, and where the assets are. No page asks for anything from a network."""

from __future__ import annotations

import json
from pathlib import Path

from corstone.dashboard.text import esc

ASSETS = Path(__file__).with_name("assets")

# Nothing but files beside the page; data: is for the icon.
_POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; img-src 'self' data:; connect-src 'self'"
)
_ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E"
    "%3Crect width='8' height='8' rx='2' fill='%230b6e4f'/%3E"
    "%3Cpath d='M2 4l1.5 2L6 2' stroke='white' fill='none'/%3E%3C/svg%3E"
)
_NAV = (("index.html", "Overview"), ("cases.html", "Cases"), ("changes.html", "Changes"), ("drift.html", "Drift"))


def page(title: str, body: str, *, depth: int = 0, here: str = "", scripts: tuple[str, ...] = ()) -> str:
    """A whole document. ``depth``: folders between the page and the top of the site."""
    root = "../" * depth
    links = "".join(
        f'<a href="{root}{name}"{" aria-current=page" if name == here else ""}>{label}</a>' for name, label in _NAV
    )
    loaded = "".join(f'<script src="{root}{s}"></script>' for s in (*scripts, "assets/app.js"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>{esc(title)}</title><link rel="icon" href="{_ICON}">'
        f'<link rel="stylesheet" href="{root}assets/style.css"></head><body>'
        '<a class="skip" href="#main">Skip to content</a>'
        f'<header><a class="brand" href="{root}index.html">Corstone nights</a><nav aria-label="Pages">{links}</nav>'
        '<button id="theme" type="button" aria-label="Switch between light and dark">◐</button></header>'
        f'<main id="main" tabindex="-1">{body}</main>{loaded}</body></html>\n'
    )


def write(path: Path, text: str) -> None:
    """Write a page; folders are made on the way."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_assets(site: Path, labels: list[str]) -> None:
    """Style, script and the names of the nights."""
    target = site / "assets"
    target.mkdir(parents=True, exist_ok=True)
    for name in ("style.css", "app.js"):
        (target / name).write_text((ASSETS / name).read_text(encoding="utf-8"), encoding="utf-8")
    (target / "nights.js").write_text(f"window.NIGHTS={json.dumps(labels)};\n", encoding="utf-8")


def scroll(label: str, inner: str) -> str:
    """A wide thing that scrolls sideways by itself, also by keyboard."""
    return f'<div class="scroll" role="region" aria-label="{esc(label)}" tabindex="0">{inner}</div>'


def chips(pairs: list[tuple[str, str]]) -> str:
    """Small labelled facts."""
    return '<p class="chips">' + "".join(f"<span>{esc(k)} <b>{esc(v)}</b></span>" for k, v in pairs if v) + "</p>"
