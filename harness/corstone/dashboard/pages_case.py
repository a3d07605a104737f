"""The page of one case: state, message, repro, its figures over the nights, and the newest nights one by one."""

from __future__ import annotations

from collections.abc import Sequence

from corstone.dashboard.charts import GLYPHS, line_chart, number, percent, strip, tone
from corstone.dashboard.model import CaseRow, DriftWarning, Site
from corstone.dashboard.page import chips, page, scroll
from corstone.dashboard.store import CaseSeries, version_changes
from corstone.dashboard.text import esc, joints

CHARTS = (
    ("Worst error", "LSB", "worst_lsb"),
    ("Share of budget", "%", "share"),
    ("Duration", "s", "seconds"),
    ("NPU cycles", "cycles", "npu_cycles"),
    ("NPU commands", "commands", "npu_commands"),
    ("NPU bytes", "bytes", "npu_bytes"),
)
NIGHTS_SHOWN = 30
MESSAGES_SHOWN = 5


def state_mark(state: str) -> str:
    """A state as its word in its colour."""
    return f'<span class="s {tone(state)}">{esc(state or "no result")}</span>'


def changes_by_night(versions: Sequence[dict[str, str]]) -> dict[int, list[str]]:
    """Nights on which a version changed, with what changed."""
    changed = {}
    for i in range(1, len(versions)):
        if versions[i - 1] and versions[i] is not versions[i - 1] and versions[i] != versions[i - 1]:
            changed[i] = version_changes(versions[i - 1], versions[i])
    return changed


def case_page(
    site: Site,
    case: CaseSeries,
    row: CaseRow,
    changed: dict[int, list[str]],
    messages: dict[int, tuple[str, str]],
    repro: str,
    drifts: Sequence[DriftWarning],
) -> str:
    """The whole page; it lies two folders below the top."""
    states = case.states
    facts = [(k, v) for k, v in row.names.items()] + [
        ("nights", str(row.runs)),
        ("flaky", str(row.flakes) if row.flakes else ""),
    ]
    body = [
        f'<p class="soft"><a href="../../{site.cell_href[case.cell]}">{esc(case.cell or "no cell")}</a></p>',
        f"<h1><bdi>{joints(case.test_id)}</bdi></h1>",
        f"<p>{state_mark(row.state)} {esc(row.cause if row.cause != 'none' else '')}</p>",
        chips(facts),
        "".join(f'<p class="warn">Drift: {drift_sentence(site, w)}</p>' for w in drifts),
    ]
    latest = messages.get(site.nights[row.latest].run_id) if row.latest >= 0 else None
    if latest is not None:
        body.append(f"<h2>Newest result</h2><p>{esc(latest[0])}</p>")
        body.append(
            f'<pre tabindex="0" aria-label="Log of the newest result">{esc(latest[1])}</pre>' if latest[1] else ""
        )
    if repro:
        body.append(f'<h2>Run it again</h2><pre tabindex="0" aria-label="Repro command">{esc(repro)}</pre>')
    good = sum(s == "passed" for s in states)
    body.append(f"<h2>All nights</h2>{strip(states, f'{good} of {row.runs} nights passed')}")
    shown = case.values | {"share": percent(case.values["share"])}
    charts = [line_chart(t, u, shown[n], marks=list(changed), bad=case.red) for t, u, n in CHARTS]
    body.append(f'<div class="charts">{"".join(charts)}</div><p class="legend"><span>dashed: a version changed</span>')
    body.append("<span>red at the foot: the case was red</span></p>")
    body.append("<h2>Newest nights</h2>" + scroll("Newest nights", _table(site, case, changed)))
    older = [i for i in range(row.latest - 1, -1, -1) if site.nights[i].run_id in messages][:MESSAGES_SHOWN]
    if older:
        body.append("<h2>Earlier messages</h2>")
    for i in older:
        reason, detail = messages[site.nights[i].run_id]
        body.append(f"<details><summary>{esc(site.nights[i].label)}: {esc(states[i])}, {esc(reason)}</summary>")
        body.append(f'<pre tabindex="0" aria-label="Log of {esc(site.nights[i].label)}">{esc(detail)}</pre></details>')
    return page(case.test_id, "".join(body), depth=2, scripts=("assets/nights.js",))


def _table(site: Site, case: CaseSeries, changed: dict[int, list[str]]) -> str:
    rows, share = [], percent(case.values["share"])
    for i in [i for i in range(len(case.states) - 1, -1, -1) if case.states[i]][:NIGHTS_SHOWN]:
        v, state = case.values, case.states[i]
        rows.append(
            f'<tr><th scope="row"><a href="../../{site.night_href[i]}">{esc(site.nights[i].label)}</a></th>'
            f'<td><span class="s {tone(state)}">{GLYPHS.get(state, "?")}</span> {esc(state)}</td>'
            f'<td class="n">{case.attempts[i]}</td><td class="n">{number(v["worst_lsb"][i])}</td>'
            f'<td class="n">{number(share[i])}</td><td class="n">{number(v["seconds"][i])}</td>'
            f"<td>{esc(', '.join(changed.get(i, [])))}</td></tr>"
        )
    head = "".join(f'<th scope="col"{c}>{t}</th>' for t, c in _HEAD)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


_N = ' class="n"'
_HEAD = (
    ("Night", ""),
    ("State", ""),
    ("Attempts", _N),
    ("Worst LSB", _N),
    ("Budget %", _N),
    ("Seconds", _N),
    ("Versions changed", ""),
)


def drift_sentence(site: Site, warning: DriftWarning) -> str:
    """What moved, since when, by how much against its noise, and what changed on that night; as HTML."""
    drift = warning.drift
    names = {"worst_lsb": "worst error", "seconds": "duration"}
    text = (
        f"{names[drift.rule.figure]} {number(drift.before)} to {number(drift.since)} {drift.rule.unit} "
        f"(noise {number(drift.noise)}) since {site.nights[drift.first].label}"
    )
    changed = "; versions changed then: " + ", ".join(warning.changed) if warning.changed else "; no version changed"
    return esc(text + changed)
