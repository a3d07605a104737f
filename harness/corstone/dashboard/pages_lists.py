"""Pages over many cases: all cases with filters, one cell, one night, what changed, and drift."""

from __future__ import annotations

from collections import Counter

from corstone.dashboard.charts import GLYPHS, line_chart, number, strip, tone
from corstone.dashboard.model import CaseRow, Site
from corstone.dashboard.page import chips, page, scroll
from corstone.dashboard.pages_case import changes_by_night, drift_sentence, state_mark
from corstone.dashboard.store import version_changes
from corstone.dashboard.text import esc, joints

# Laying out thousands of table rows takes a browser seconds; the rest is there, and shown when asked for or found.
SHOWN = 300
FILTERS = ("cell", "network", "bits", "policy", "target", "board", "provider")


def cases_page(site: Site) -> str:
    """Every case of the newest nights; the script filters, the table is there without it."""
    selects = [_select("state", ["red", *sorted({r.state for r in site.rows if r.state})])]
    for name in FILTERS:
        values = sorted({_field(r, name) for r in site.rows if _field(r, name)})
        if len(values) > 1:
            selects.append(_select(name, values))
    form = (
        '<form id="filters" class="filters" role="search" aria-label="Filter cases">'
        f'<label>Search <input type="search" name="q" placeholder="name or cause"></label>{"".join(selects)}'
        '<button type="reset">Clear</button></form><p id="count" class="soft" role="status"></p>'
    )
    rows = "".join(_case_row(r, n >= SHOWN) for n, r in enumerate(site.rows))
    head = "".join(f'<th scope="col"{c}>{t}</th>' for t, c in _CASE_HEAD)
    table = f'<table id="cases" class="stacked"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    more = '<p><button id="more" type="button" hidden>Show more</button></p>'
    return page("Cases", f"<h1>Cases</h1>{form}{scroll('Cases', table)}{more}", here="cases.html")


_N = ' class="n"'
_CASE_HEAD = (
    ("State", ""),
    ("Case", ""),
    ("Cell", ""),
    ("Cause", ""),
    ("Worst LSB", _N),
    ("Share", _N),
    ("Seconds", _N),
)


def _field(row: CaseRow, name: str) -> str:
    return row.cell if name == "cell" else row.names.get(name, "")


def _select(name: str, values: list[str]) -> str:
    options = "".join(f"<option>{esc(v)}</option>" for v in values)
    return f'<label>{name.capitalize()} <select name="{name}"><option value="">any</option>{options}</select></label>'


def _case_row(row: CaseRow, hidden: bool) -> str:
    data = "".join(f' data-{n}="{esc(_field(row, n))}"' for n in FILTERS if _field(row, n))
    cause = "" if row.cause == "none" else row.cause
    return (
        f'<tr{" hidden" if hidden else ""} data-state="{esc(row.state)}" data-red="{int(row.red)}"{data}>'
        f'<td><span class="s {tone(row.state)}" title="{esc(row.state)}">{GLYPHS.get(row.state, "?")}</span></td>'
        f'<td><a href="{row.href}"><bdi>{esc(row.test_id)}</bdi></a></td><td data-l="cell">{esc(row.cell)}</td>'
        f'<td data-l="cause">{esc(cause)}</td><td class="n" data-l="LSB">{number(row.worst_lsb)}</td>'
        f'<td class="n" data-l="share">{number(row.share)}</td><td class="n" data-l="s">{number(row.seconds)}</td></tr>'
    )


def cell_page(site: Site, cell: str) -> str:
    """One cell: its sums over the nights and each of its cases as a strip."""
    nights, rows = site.cells[cell], [r for r in site.rows if r.cell == cell]
    changed = changes_by_night(site.versions.get(cell, []))
    red = [bool(n.red) for n in nights]
    marks = list(changed)

    def chart(title: str, unit: str, name: str) -> str:
        values = [getattr(n, name) if n.total and getattr(n, name) else None for n in nights]
        return line_chart(title, unit, values, marks=marks, bad=red)

    flakes = [n.states["flaky"] / n.total if n.total else None for n in nights]
    charts = [
        line_chart("Red cases", "cases", [float(n.red) if n.total else None for n in nights], marks=marks),
        chart("Worst error", "LSB", "worst_lsb"),
        chart("Share of budget", "of 1", "share"),
        chart("Duration", "s", "seconds"),
        chart("NPU cycles", "cycles", "npu_cycles"),
        chart("NPU commands", "commands", "npu_commands"),
        chart("NPU bytes", "bytes", "npu_bytes"),
        line_chart("Flake rate", "of 1", flakes, marks=marks),
    ]
    latest = site.latest(cell)
    counts = nights[latest].states if latest >= 0 else Counter[str]()
    versions = site.versions.get(cell, [{}])[-1] if site.versions.get(cell) else {}
    lines = "".join(
        f'<tr><td><span class="s {tone(r.state)}" title="{esc(r.state)}">{GLYPHS.get(r.state, "?")}</span></td>'
        f'<td><a href="../{r.href}"><bdi>{joints(r.test_id)}</bdi></a></td>'
        f"<td>{strip(_unpack(r.states), f'{r.runs} nights, now {r.state}')}</td></tr>"
        for r in rows
    )
    history = "".join(
        f"<li><a href='../{site.night_href[i]}'>{esc(site.nights[i].label)}</a>: {esc(', '.join(c))}</li>"
        for i, c in sorted(changed.items(), reverse=True)[:20]
    )
    body = (
        f"<h1>Cell <bdi>{esc(cell or 'no cell')}</bdi></h1>"
        + chips([(k, str(v)) for k, v in counts.most_common()])
        + chips(sorted(versions.items()))
        + f'<div class="charts">{"".join(charts)}</div>'
        + (f"<h2>Version changes</h2><ul>{history}</ul>" if history else "")
        + "<h2>Cases</h2>"
        + scroll(
            "Cases of this cell",
            '<table class="strips"><thead><tr><th scope="col">Now</th><th scope="col">Case</th>'
            '<th scope="col">All nights</th></tr></thead>'
            f"<tbody>{lines}</tbody></table>",
        )
    )
    return page(f"Cell {cell}", body, depth=1, scripts=("assets/nights.js",))


_LETTERS = {state: chr(ord("a") + i) for i, state in enumerate(GLYPHS)}
_STATES = {letter: state for state, letter in _LETTERS.items()}


def pack(states: list[str]) -> str:
    """States of a case as one letter each: a year of 3,000 cases stays in a few megabytes."""
    return "".join(_LETTERS.get(s, _LETTERS["error"]) for s in states)


def _unpack(packed: str) -> list[str]:
    return [_STATES[c] for c in packed]


def night_page(site: Site, i: int) -> str:
    """One night: cell by cell what ran, and every case that did not simply pass."""
    night = site.nights[i]
    parts = [f"<h1>{esc(night.label)} <span class='soft'>run {esc(night.run)}</span></h1>"]
    around = [(i - 1, "← night before"), (i + 1, "night after →")]
    parts.append(
        "<p>"
        + " · ".join(f'<a href="../{site.night_href[j]}">{t}</a>' for j, t in around if 0 <= j <= site.last)
        + f"</p><p>{night.collected} collected, {night.reported} reported</p>"
    )
    parts += [f'<p class="bad">{esc(p)}</p>' for p in night.problems]
    parts.append(chips(sorted(night.properties.items())))
    by_cell: dict[str, list[tuple[CaseRow, str, str]]] = {}
    for item in site.not_passed[i]:
        by_cell.setdefault(item[0].cell, []).append(item)
    for cell, nights in site.cells.items():
        here = nights[i]
        if not here.total:
            continue
        anchor = site.cell_href[cell].rsplit("/", 1)[-1].removesuffix(".html")
        words = ", ".join(f"{n} {s}" for s, n in here.states.most_common())
        parts.append(
            f'<h2 id="{anchor}"><a href="../{site.cell_href[cell]}">{esc(cell or "no cell")}</a>: '
            f'<span class="{"bad" if here.red else "ok"}">{esc(words)}</span></h2>'
        )
        changed = changes_by_night(site.versions.get(cell, [])[: i + 1]).get(i)
        used = site.versions.get(cell, [])[i : i + 1]
        if used and used[0]:
            listed = " · ".join(f"{tool} {version}" for tool, version in sorted(used[0].items()))
            parts.append(f'<p class="soft">{esc(listed)}</p>')
        if changed:
            parts.append(f'<p class="warn">Versions changed: {esc(", ".join(changed))}</p>')
        if items := by_cell.get(cell):
            lines = "".join(
                f'<tr><td>{state_mark(state)}</td><td><a href="../{r.href}"><bdi>{joints(r.test_id)}</bdi></a></td>'
                f"<td>{esc(reason)}</td></tr>"
                for r, state, reason in items
            )
            parts.append(scroll(f"Cases of {cell} that did not pass", f"<table><tbody>{lines}</tbody></table>"))
    return page(f"Night {night.label}", "".join(parts), depth=1)


def changes_html(site: Site, limit: int = 1000) -> str:
    """For every red cell: since when, against its last green night, with the versions that changed beside it."""
    parts = []
    for cell in site.cells:
        now = site.latest(cell)
        if now < 0 or not site.cells[cell][now].red:
            continue
        green = site.last_green(cell, now)
        versions = site.versions.get(cell, [])
        link = f'<a href="{site.cell_href[cell]}">{esc(cell or "no cell")}</a>'
        if green < 0:
            since = "never green in this history"
            diff: list[str] = []
        else:
            since = f'last green <a href="{site.night_href[green]}">{esc(site.nights[green].label)}</a>'
            diff = version_changes(versions[green], versions[now]) if versions else []
        changed = f'<b class="warn">{esc(", ".join(diff))}</b>' if diff else "no version changed"
        parts.append(f"<h3>{link}</h3><p>{since}{f'; since then: {changed}' if green >= 0 else ''}</p>")
        rows = [r for r in site.rows if r.cell == cell and r.red and r.latest == now]
        lines = "".join(
            f'<tr><td>{state_mark(r.state)}</td><td><a href="{r.href}"><bdi>{joints(r.test_id)}</bdi></a></td>'
            f"<td>{esc(r.cause)}</td>"
            f'<td>red since <span class="nb">{esc(site.nights[r.first_red].label)}</span></td></tr>'
            for r in rows[:limit]
        )
        more = f'<p class="soft">and {len(rows) - limit} more</p>' if len(rows) > limit else ""
        parts.append(
            scroll(f"Red cases of {cell}", f'<table class="stacked words"><tbody>{lines}</tbody></table>') + more
        )
    news = [r for r in site.rows if r.state == "xpass"]
    if news:
        items = "".join(
            f'<li><a href="{r.href}"><bdi>{joints(r.test_id)}</bdi></a> ({esc(r.cell)})</li>' for r in news[:limit]
        )
        parts.append(f"<h3>Expected to fail, and passed</h3><ul>{items}</ul>")
    return "".join(parts) or '<p class="ok">Every cell is green.</p>'


def changes_page(site: Site) -> str:
    """What changed since the last green."""
    return page(
        "Changes since the last green", f"<h1>Since the last green</h1>{changes_html(site)}", here="changes.html"
    )


def drift_html(site: Site, limit: int = 1000) -> str:
    """Drift warnings, the largest against their noise first."""
    if not site.drifts:
        return '<p class="ok">Nothing moved by more than its noise.</p>'
    ordered = sorted(site.drifts, key=lambda w: -abs(w.drift.since - w.drift.before) / w.drift.noise)
    items = "".join(
        f'<li><a href="{w.row.href}"><bdi>{esc(w.row.test_id)}</bdi></a> ({esc(w.row.cell)}): '
        f"{drift_sentence(site, w)}</li>"
        for w in ordered[:limit]
    )
    more = f'<p><a href="drift.html">and {len(ordered) - limit} more</a></p>' if len(ordered) > limit else ""
    return f"<ul>{items}</ul>{more}"


def drift_page(site: Site) -> str:
    """All drift warnings."""
    rule = (
        "<p class='soft'>A figure drifts when its newest nights all lie on one side of the nights before, by more than "
        "their own noise: four robust standard deviations, the farthest stray night, or a floor.</p>"
    )
    return page("Drift", f"<h1>Drift</h1>{rule}{drift_html(site)}", here="drift.html")
