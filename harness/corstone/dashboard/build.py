"""Build the static site: bring the history up to date, stream the cases through once, write the pages.

Pages are written into a fresh folder beside the old site, which it then replaces: a reader never sees half a site, and
a kill leaves the old one.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from corstone.causes import Cause
from corstone.dashboard import history, store
from corstone.dashboard.drift import RULES, find_drift
from corstone.dashboard.model import CaseRow, CellNight, DriftWarning, Site
from corstone.dashboard.page import write, write_assets
from corstone.dashboard.pages_case import case_page, changes_by_night
from corstone.dashboard.pages_index import badge, index_page
from corstone.dashboard.pages_lists import cases_page, cell_page, changes_page, drift_page, night_page, pack
from corstone.dashboard.text import slug
from corstone.errors import ConfigError

_MARK = ".corstone-site"


@dataclass(frozen=True)
class Built:
    """What a build did."""

    site: Path
    nights: int
    cases: int
    merged: int
    pages: int
    red: bool


def build(folder: Path, site: Path, *, quarantine: Path | None = None, limit: int = 0) -> Built:
    """Make the site of a history folder.

    ``limit``: newest nights to show; 0 shows all.

    Raises
    ------
    ConfigError: the history cannot be read, or ``site`` is a folder with something else in it.
    """
    if site.exists() and any(site.iterdir()) and not (site / _MARK).exists():
        raise ConfigError(
            f"{site} holds files that are no dashboard, and building would delete them",
            cause=Cause.NOT_WRITABLE,
            hint="name another folder with -o",
        )
    if not folder.is_dir():
        raise ConfigError(f"no history folder at {folder}", hint="make one with: corstone dashboard ingest")
    fresh = site.with_name(f".{site.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        with history.open_history(folder) as connection:
            merged = history.sync(folder, connection, quarantine=quarantine)
            model = _pages(connection, fresh, limit)
        (fresh / _MARK).write_text("made by corstone dashboard build\n")
        if site.exists():
            old = site.with_name(f".{site.name}.old.{os.getpid()}")
            site.rename(old)
            fresh.rename(site)
            shutil.rmtree(old)
        else:
            fresh.rename(site)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    pages = 4 + len(model.nights) + len(model.cells) + len(model.rows)
    return Built(site, len(model.nights), len(model.rows), merged, pages, bool(model.nights and model.nights[-1].red))


def _pages(connection: sqlite3.Connection, out: Path, limit: int) -> Site:
    site = Site(store.nights(connection)[-limit:], {})
    _name_pages(connection, site)
    write_assets(out, [n.label for n in site.nights])
    used: dict[str, set[str]] = {cell: set() for cell in site.cell_href}
    changed = {cell: changes_by_night(v) for cell, v in site.versions.items()}
    for case in store.series(connection, site.nights):
        cells = site.cells.setdefault(case.cell, [CellNight() for _ in site.nights])
        if case.latest < 0:
            continue
        for i, state in enumerate(case.states):
            if state:
                cells[i].add(case, i)
        folder = site.cell_href[case.cell].rsplit("/", 1)[-1].removesuffix(".html")
        row = _row(case, f"cases/{folder}/{slug(case.test_id.rsplit('/', 1)[-1], used[case.cell])}.html")
        site.rows.append(row)
        messages = store.messages(connection, case.case_id)
        _note_messages(site, case, row, messages)
        drifts = _drifts(case, row, changed.get(case.cell, {}))
        site.drifts += drifts
        repro = store.repro(connection, case.case_id)
        write(out / row.href, case_page(site, case, row, changed.get(case.cell, {}), messages, repro, drifts))
    site.cells = {c: n for c, n in sorted(site.cells.items()) if any(x.total for x in n)}
    site.rows.sort(key=lambda r: (r.cell, r.test_id))
    site.drifts.sort(key=lambda w: (w.row.cell, w.row.test_id))
    for items in site.not_passed:
        items.sort(key=lambda x: (x[0].cell, x[0].test_id))
    for cell in site.cells:
        write(out / site.cell_href[cell], cell_page(site, cell))
    for i in range(len(site.nights)):
        write(out / site.night_href[i], night_page(site, i))
    write(out / "index.html", index_page(site))
    write(out / "cases.html", cases_page(site))
    write(out / "changes.html", changes_page(site))
    write(out / "drift.html", drift_page(site))
    svg, endpoint = badge(site)
    write(out / "badge.svg", svg)
    write(out / "badge.json", json.dumps(endpoint) + "\n")
    return site


def _name_pages(connection: sqlite3.Connection, site: Site) -> None:
    site.versions = store.versions(connection, site.nights) if site.nights else {}
    used: set[str] = set()
    site.cell_href = {cell: f"cells/{slug(cell or 'no-cell', used)}.html" for cell in site.versions}
    used = set()
    site.night_href = [f"nights/{slug(n.label, used)}.html" for n in site.nights]
    site.not_passed = [[] for _ in site.nights]


def _row(case: store.CaseSeries, href: str) -> CaseRow:
    i = case.latest
    first_red = -1
    if case.red[i]:
        first_red = i
        for j in range(i, -1, -1):
            if case.states[j] and not case.red[j]:
                break
            if case.states[j]:
                first_red = j
    counts = Counter(s for s in case.states if s)
    return CaseRow(
        case.case_id,
        case.cell,
        case.test_id,
        case.names,
        href,
        i,
        case.states[i],
        case.red[i],
        case.causes[i],
        case.values["seconds"][i],
        case.values["worst_lsb"][i],
        case.values["share"][i],
        counts["flaky"],
        counts.total(),
        first_red,
        pack(case.states),
    )


def _note_messages(site: Site, case: store.CaseSeries, row: CaseRow, messages: dict[int, tuple[str, str]]) -> None:
    if not messages:
        return
    for i, night in enumerate(site.nights):
        if night.run_id in messages and case.states[i] not in {"skipped", "xfail"}:
            site.not_passed[i].append((row, case.states[i], messages[night.run_id][0]))


def _drifts(case: store.CaseSeries, row: CaseRow, changed: dict[int, list[str]]) -> list[DriftWarning]:
    found = []
    for rule in RULES:
        values = [
            v if s in {"passed", "flaky", "failed"} else None
            for v, s in zip(case.values[rule.figure], case.states, strict=True)
        ]
        drift = find_drift(values, rule)
        if drift is not None:
            found.append(DriftWarning(row, drift, changed.get(drift.first, [])))
    return found
