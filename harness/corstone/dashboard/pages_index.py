"""The first page: one answer for the newest night, what moved, the matrix of cells by night, and trends over all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from corstone.dashboard.charts import GLYPHS, line_chart, percent, strip, tone
from corstone.dashboard.model import CellNight, Site
from corstone.dashboard.page import page, scroll
from corstone.dashboard.pages_lists import changes_html, drift_html
from corstone.dashboard.text import esc

COLUMNS = 21


def counts_of(site: Site, i: int) -> Counter[str]:
    """States over all cells in one night."""
    total: Counter[str] = Counter()
    for nights in site.cells.values():
        total.update(nights[i].states)
    return total


def index_page(site: Site) -> str:
    """The whole page."""
    if not site.nights:
        return page("Corstone nights", "<h1>No night yet</h1><p>The history holds no run.</p>", here="index.html")
    night, counts = site.nights[-1], counts_of(site, site.last)
    red = sum(nights[-1].red for nights in site.cells.values())
    total = counts.total()
    word = "red" if night.red else "green"
    chips = "".join(
        f'<a href="cases.html#state={esc(s.replace(" ", "+"))}">'
        f'<span class="{tone(s)}">{GLYPHS.get(s, "")}</span> {n} {esc(s)}</a>'
        for s, n in counts.most_common()
    )
    problems = "".join(f'<p class="bad">{esc(p)}</p>' for p in night.problems[:8])
    answer = (
        f'<a href="cases.html#state=red">{red} red</a> of {total} cases' if red else f"none of {total} cases is red"
    )
    hero = (
        f'<section class="hero {"red" if night.red else ""}"><h1>{esc(night.label)} is {word}: {answer}</h1>'
        f'<p class="chips">{chips}</p>{problems}<p><a href="{site.night_href[-1]}">This night</a>'
        f" · {night.collected} collected, {night.reported} reported</p></section>"
    )
    body = (
        hero
        + "<h2>Since the last green</h2>"
        + changes_html(site, limit=8)
        + "<h2>Drift</h2>"
        + drift_html(site, limit=8)
        + "<h2>Cells by night</h2>"
        + _matrix(site)
        + "<h2>Trends</h2>"
        + _trends(site)
    )
    return page("Corstone nights", body, here="index.html", scripts=("assets/nights.js",))


def _matrix(site: Site) -> str:
    shown = range(max(0, len(site.nights) - COLUMNS), len(site.nights))
    head = "".join(f'<th scope="col" class="d">{esc(site.nights[i].label[5:])}</th>' for i in shown)
    lines = []
    for cell, nights in site.cells.items():
        anchor = site.cell_href[cell].rsplit("/", 1)[-1].removesuffix(".html")
        marks = "".join(_mark(site, cell, nights[i], i, anchor) for i in shown)
        year = strip([_night_state(n) for n in nights], f"{cell}, {len(nights)} nights")
        lines.append(
            f'<tr><th scope="row"><a href="{site.cell_href[cell]}">{esc(cell or "no cell")}</a></th>'
            f"{marks}<td>{year}</td></tr>"
        )
    table = (
        f'<table class="matrix"><thead><tr><th scope="col">Cell</th>{head}'
        f'<th scope="col">{"All nights" if len(site.nights) > 1 else "The night"}</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
    words = ("a number: red cases", "k: flaky or quarantined only", "·: all well")
    legend = '<p class="legend">' + "".join(f"<span>{w}</span>" for w in words) + "</p>"
    return scroll("Cells by night", table) + legend


def _night_state(night: CellNight) -> str:
    if not night.total:
        return ""
    if night.red:
        return "failed"
    return "flaky" if night.states["flaky"] or night.states["quarantined"] or night.states["xpass"] else "passed"


def _mark(site: Site, cell: str, night: CellNight, i: int, anchor: str) -> str:
    if not night.total:
        return '<td><span class="s none">&nbsp;</span></td>'
    state = _night_state(night)
    text = str(night.red) if night.red else GLYPHS[state]
    label = f"{cell}, {site.nights[i].label}: {night.red} red of {night.total}"
    return (
        f'<td><a class="s {tone(state)}" href="{site.night_href[i]}#{anchor}" aria-label="{esc(label)}">{text}</a></td>'
    )


def _trends(site: Site) -> str:
    columns = list(zip(*site.cells.values(), strict=True)) or [() for _ in site.nights]

    def over(pick: Callable[[CellNight], float | None], combine: Callable[[list[float]], float]) -> list[float | None]:
        result: list[float | None] = []
        for column in columns:
            values = [v for v in (pick(n) for n in column if n.total) if v is not None]
            result.append(combine(values) if values else None)
        return result

    totals = over(lambda n: float(n.total), sum)
    flaky = over(lambda n: float(n.states["flaky"]), sum)
    rate = [f / t if f is not None and t else None for f, t in zip(flaky, totals, strict=True)]
    bad = [n.red for n in site.nights]
    charts = [
        line_chart("Red cases", "cases", over(lambda n: float(n.red), sum), bad=bad),
        line_chart("Worst error", "LSB", over(lambda n: n.worst_lsb, max), bad=bad),
        line_chart("Largest share of budget", "%", percent(over(lambda n: n.share, max)), bad=bad),
        line_chart("Duration of all cases", "s", over(lambda n: n.seconds, sum), bad=bad),
        line_chart("NPU cycles", "cycles", over(lambda n: n.npu_cycles or None, sum), bad=bad),
        line_chart("NPU commands", "commands", over(lambda n: n.npu_commands or None, sum), bad=bad),
        line_chart("NPU bytes", "bytes", over(lambda n: n.npu_bytes or None, sum), bad=bad),
        line_chart("Flake rate", "%", percent(rate), bad=bad),
    ]
    return f'<div class="charts">{"".join(charts)}</div>'


def badge(site: Site) -> tuple[str, dict[str, object]]:
    """An SVG badge of the newest night, and the same for shields.io's endpoint."""
    if not site.nights:
        text, colour = "no run", "#5a646c"
    else:
        total = counts_of(site, site.last).total()
        red = sum(nights[-1].red for nights in site.cells.values())
        text = f"{red} red of {total}" if site.nights[-1].red else f"{total} green"
        colour = "#b3261e" if site.nights[-1].red else "#0b6e4f"
    width = 62 + 7 * len(text)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" '
        f'aria-label="corstone: {esc(text)}"><rect width="{width}" height="20" rx="3" fill="#444c52"/>'
        f'<rect x="62" width="{width - 62}" height="20" rx="3" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="6" y="14">corstone</text><text x="67" y="14">{esc(text)}</text></g></svg>\n'
    )
    return svg, {"schemaVersion": 1, "label": "corstone", "message": text, "color": colour.lstrip("#")}
