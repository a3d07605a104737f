"""The page of a sweep: one self-contained HTML file without script; policies of a network stand side by side.

Curves of float, fake-quantized, TOSA and device; error in output steps and absolute; both ends enlarged; worst codes
with the table entries behind them; the guard's findings. A case whose device answers every code as another target's
did is named beside that one and not drawn again. Leaves out drawing lines (``plot``) and other files (``tabular``).
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from corstone import __version__
from corstone.accuracy.curve import STAGES, WITHIN, Curve, wrong_entries
from corstone.accuracy.edge_findings import edges
from corstone.accuracy.plot import Line, Plot, svg
from corstone.accuracy.sweep import Swept
from corstone.judge.reference import FAKE_QUANTIZED, FLOAT
from corstone.report import terminal

_STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#16202c;--soft:#4f5b67;--edge:#d6dce3;--grid:#e6eaee;
--float:#b4bec8;--device:#2f6fb5;--tosa:#101820;--fq:#8a3b00}
@media(prefers-color-scheme:dark){:root{--bg:#10161d;--card:#18212b;--ink:#e6ebf0;--soft:#a9b4bf;--edge:#33404d;
--grid:#26313c;--float:#5b6875;--device:#8cc0ff;--tosa:#f2f5f8;--fq:#ffb37a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1500px;padding:1rem;background:var(--bg);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.5rem;margin:0}h2{font-size:1.25rem;margin:2rem 0 .5rem}h3{font-size:1.05rem;margin:0 0 .3rem}
h4{font-size:.95rem;margin:.9rem 0 .3rem}p{margin:.3rem 0;max-width:90ch;overflow-wrap:anywhere}
.soft{color:var(--soft);font-size:.9rem}
.scroll{overflow-x:auto;background:var(--card);border:1px solid var(--edge);border-radius:8px}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.3em .7em;text-align:left;border-bottom:1px solid var(--edge);white-space:nowrap}
td.n,th.n{text-align:right}th{color:var(--soft)}
.side{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:1rem}
article{min-width:0;background:var(--card);border:1px solid var(--edge);border-radius:8px;padding:.8rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,300px),1fr));gap:.3rem}
figure{margin:.4rem 0}figcaption{font-size:.88rem;font-weight:600}
svg{display:block;width:100%;max-width:600px;height:auto}svg text{fill:var(--soft);font-size:12.5px}
.grid{stroke:var(--grid);fill:none}.axis{stroke:var(--soft);fill:none}
.float{stroke:var(--float);stroke-width:6;fill:none;stroke-linejoin:round}
.device{stroke:var(--device);stroke-width:2;fill:none}
.tosa{stroke:var(--tosa);stroke-width:2;stroke-dasharray:1.5 5;fill:none}
.fake-quantized{stroke:var(--fq);stroke-width:1.6;stroke-dasharray:9 6;fill:none}
.dot{fill:var(--card);stroke:var(--device);stroke-width:1.3}
.legend{display:flex;flex-wrap:wrap;gap:.2em 1.1em;font-size:.9rem}
.legend span{display:inline-flex;align-items:center;gap:.4em}.legend svg{width:44px;height:12px}
ul{margin:.3rem 0;padding-left:1.2em}li{overflow-wrap:anywhere}
@media print{body{max-width:none}article{break-inside:avoid}}
"""
_NAMES = {FLOAT: "float", FAKE_QUANTIZED: "fake-quantized", "tosa": "TOSA", "device": "device"}
_WORST = 10
_VALUE = "real value"
_ANGLES = frozenset({"acos", "asin", "atan"})


def write_page(path: Path, swept: Swept, title: str = "Sweep") -> Path:
    """Write the page.

    Raises
    ------
    OSError: the file cannot be written.
    """
    path.write_text(page(swept, title), encoding="utf-8")
    return path


def page(swept: Swept, title: str = "Sweep") -> str:
    """The whole page as text."""
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{_e(title)}</title><style>{_STYLE}</style></head>\n<body><main><h1>{_e(title)}</h1>"
        f'<p class="soft">{time.strftime("%Y-%m-%d %H:%M %Z")} · corstone {__version__} · '
        f"{_e(terminal.ran_on_device(swept.records))}</p>"
    )
    parts = [
        head,
        _legend(),
        "<h2>Codes within so many output steps (LSB) of float64</h2>",
        _table(*_summary(swept)),
        '<p class="soft">codes: those with a float64 value; outside: those outside the domain, without one.</p>',
        _ends(swept),
        _refused(swept),
    ]
    for (network, bits), group in itertools.groupby(
        sorted(swept.curves, key=lambda c: (c.record.network, c.record.bits)),
        key=lambda c: (c.record.network, c.record.bits),
    ):
        parts.append(f"<section><h2>{_e(network)}, int{bits}</h2>")
        parts.append('<div class="side">' + "".join(_article(c, s, swept) for c, s in _alike(list(group))))
        parts.append("</div></section>\n")
    return "".join(parts) + "</main></body></html>\n"


def _e(text: object) -> str:
    return escape(terminal.safe(str(text)))


def _n(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"


def _legend() -> str:
    keys = "".join(
        f'<span><svg viewBox="0 0 44 12" aria-hidden="true"><path class="{s}" d="M2 6H42"/></svg>{_NAMES[s]}</span>'
        for s in STAGES
    )
    return f'<p class="legend">{keys}</p>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> str:
    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{'' if i < text_columns else ' class=n'}>{_e(cell)}</{tag}>" for i, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{cells("th", head)}</tr></thead><tbody>{body}</tbody></table></div>'


def _summary(swept: Swept) -> tuple[list[str], list[list[str]], int]:
    head = ["network", "bits", "policy", "target", "verdict", "codes", "outside", *(f"≤ {w:g} LSB" for w in WITHIN)]
    head += ["max LSB", "mean LSB", "max absolute", "tables", "NPU operations", "Vela cycles", "bytes"]
    rows = [
        [
            c.record.network,
            f"int{c.record.bits}",
            c.record.policy,
            c.record.target,
            terminal.label(c.record.verdict),
            f"{c.count:,}",
            f"{c.codes.size - c.count:,}",
            *(f"{c.within(w):,}" for w in WITHIN),
            _n(c.max_lsb),
            _n(c.mean_lsb),
            _n(c.max_lsb * c.output.scale),
            str(len(c.tables)),
            *(_n(c.cost.get(name)) for name in ("operations", "cycles", "bytes")),
        ]
        for c in swept.curves
    ]
    return head, rows, 5


def _ends(swept: Swept) -> str:
    """What is answered at the ends of each registered network's domain."""
    rows = [
        [e.network, f"int{e.bits}", e.policy, e.target, *map(_n, (e.x, e.device, e.exact, e.off_by))]
        for e in edges(swept)
    ]
    head = ["network", "bits", "policy", "target", "input", "device", "float", "off by"]
    return f"<h2>At the ends of the domain</h2>{_table(head, rows, 4)}" if rows else ""


def _refused(swept: Swept) -> str:
    if not swept.refused:
        return ""
    items = "".join(f"<li><b>{_e(r.title)}</b>: {_e(r.reason)}</li>" for r in swept.refused)
    return f"<h2>Refused, or without an answer</h2><ul>{items}</ul>"


def _alike(curves: list[Curve]) -> list[tuple[Curve, list[str]]]:
    """Curves to draw, each with the other targets that answer every code as it does."""
    drawn: list[tuple[Curve, list[str]]] = []
    for curve in curves:
        for first, same in drawn:
            equal = np.array_equal(first.values["device"], curve.values["device"], equal_nan=True)
            if first.record.policy == curve.record.policy and equal:
                same.append(curve.record.target)
                break
        else:
            drawn.append((curve, []))
    return drawn


def _article(curve: Curve, same: list[str], swept: Swept) -> str:
    record, verdict = curve.record, curve.record.verdict
    head = (
        f"<article><h3>{_e(record.policy)} on {_e(record.target)}</h3>"
        f'<p class="soft">{_e(terminal.executed_by(record))} · input scale {curve.input.scale:.7g}, zero point '
        f"{curve.input.zero_point} · output scale {curve.output.scale:.7g}, zero point {curve.output.zero_point}</p>"
        f"<p>{_e(terminal.label(verdict))}: {_e(verdict.reason)}</p>"
    )
    parts = [head]
    if same:
        parts.append(f"<p>The same answer to every code on {_e(', '.join(same))}.</p>")
    if first := curve.first_difference:
        parts.append(f"<p><b>First difference</b>: {_e(first)}</p>")
    parts += [_curves(curve), _errors(curve), "<h4>The ends, enlarged</h4>", _edges(curve), _worst(curve)]
    findings = swept.guards[record.case_id].findings if record.case_id in swept.guards else ()
    if findings:
        items = "".join(f"<li>{_e(f.severity)}: {_e(f.kind)}: {_e(f.message)}</li>" for f in findings)
        parts.append(f"<h4>What the guard says of its tables</h4><ul>{items}</ul>")
    parts += [f'<p class="soft">{_e(note)}</p>' for note in (*curve.notes, *wrong_entries(curve))]
    return "".join(parts) + "</article>"


def _unit(curve: Curve) -> str:
    """What the output is measured in: radians where the one operator answers an angle, else the network's own."""
    operators = {use.operator for use in curve.tables} or {curve.record.network}
    return "rad" if operators <= _ANGLES else _VALUE


def _figure(caption: str, plot: Plot) -> str:
    return f"<figure><figcaption>{_e(caption)}</figcaption>{svg(plot)}</figure>"


def _lines(curve: Curve, part: slice, dots: bool = False) -> tuple[Line, ...]:
    order = [s for s in (FLOAT, "device", FAKE_QUANTIZED, "tosa") if s in curve.values]
    values = {s: np.where(np.isinf(curve.values[s]), np.nan, curve.values[s]) for s in order}
    return tuple(Line(values[s][part], s, dots and s == "device") for s in order)


def _curves(curve: Curve) -> str:
    label = f"{curve.title}: output of each stage"
    plot = Plot(label, curve.x, _lines(curve, slice(None)), f"input, {_VALUE}", f"output, {_unit(curve)}")
    return _figure("Output of each stage", plot)


def _errors(curve: Curve) -> str:
    error = np.where(curve.judged, curve.error, np.nan)
    name = curve.title
    across, line = f"input, {_VALUE}", Line(error, "device")
    lsb = Plot(f"{name}: error in LSB", curve.x, (line,), across, "|error|, LSB", log=error_is_wide(error))
    line = Line(error * curve.output.scale, "device")
    absolute = Plot(f"{name}: absolute error", curve.x, (line,), across, f"|error|, {_unit(curve)}")
    return (
        f'<div class="pair">{_figure("Device against float, LSB", lsb)}{_figure("The same, absolute", absolute)}</div>'
    )


def error_is_wide(error: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    """Whether errors span so much that only a logarithm shows the small ones."""
    return bool(np.nanmax(error, initial=0.0) > 20)


def _edges(curve: Curve) -> str:
    count = 12 if curve.record.bits == 8 else 300
    inside = np.flatnonzero(curve.judged & np.isfinite(curve.values[FLOAT]))
    first, last = (int(inside[0]), int(inside[-1])) if inside.size else (0, curve.codes.size - 1)
    parts = []
    for name, part in (
        ("lower end", slice(max(0, first - 2), first + count)),
        ("upper end", slice(max(0, last + 1 - count), last + 3)),
    ):
        codes = curve.codes[part]
        label = f"input, {_VALUE} (codes {codes[0]} to {codes[-1]})"
        lines, across = _lines(curve, part, count < 40), f"output, {_unit(curve)}"
        plot = Plot(f"{curve.title}: {name}", curve.x[part], lines, label, across)
        parts.append(_figure(name.capitalize(), plot))
    return f'<div class="pair">{"".join(parts)}</div>'


def _worst(curve: Curve) -> str:
    rows = [
        [
            str(w.code),
            f"{w.x:.7g}",
            f"{w.float_value:.6g}",
            f"{w.device:.6g}",
            _n(w.lsb),
            w.made_of,
        ]
        for w in curve.worst(_WORST)
    ]
    if not rows:
        return ""
    head = ["code", "input", "float", "device", "LSB", "made of"]
    return "<h4>Worst codes, and the table entries behind them</h4>" + _table(head, rows, 0)
