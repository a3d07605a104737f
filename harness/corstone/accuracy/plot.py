"""Line plots as SVG text: axes with units, several curves told apart without colour. No script, no file, no torch.

Many points are drawn as the smallest and the largest of each bucket, so that no outlier is lost. A value that is not
there breaks the line. Leaves out what is drawn (``sweep_page``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

WIDTH, HEIGHT = 420, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 10, 10, 40
_BUCKETS = 300


@dataclass(frozen=True)
class Line:
    """One curve: y float64 [N] over the plot's x, and the class of its style."""

    y: Floats
    style: str
    dots: bool = False


@dataclass(frozen=True)
class Plot:
    """A plot: ``x`` float64 [N] ascending. ``log``: y symmetric-logarithmic, linear between -1 and 1."""

    label: str
    x: Floats
    lines: tuple[Line, ...]
    x_label: str
    y_label: str
    log: bool = False


def svg(plot: Plot) -> str:
    """The plot as one ``svg`` element."""
    x_lo, x_hi = _reach([plot.x])
    y_lo, y_hi = _reach([line.y for line in plot.lines])
    margin = (x_hi - x_lo) * 0.015
    x_lo, x_hi = x_lo - margin, x_hi + margin
    shape = _symlog if plot.log else _same
    low, high = float(shape(np.array([y_lo]))[0]), float(shape(np.array([y_hi]))[0])
    pad = (high - low) * 0.06
    low, high = low - pad, high + pad

    def px(values: Floats) -> Floats:
        return _LEFT + (values - x_lo) / (x_hi - x_lo) * (WIDTH - _LEFT - _RIGHT)

    def py(values: Floats) -> Floats:
        return _TOP + (high - shape(values)) / (high - low) * (HEIGHT - _TOP - _BOTTOM)

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(plot.label, quote=True)}">']
    for tick in _ticks(x_lo, x_hi, 5):
        at = float(px(np.array([tick]))[0])
        parts.append(f'<path class="grid" d="M{at:.1f} {_TOP}V{HEIGHT - _BOTTOM}"/>')
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - _BOTTOM + 15}" text-anchor="middle">{_text(tick)}</text>')
    for tick in _log_ticks(y_lo, y_hi) if plot.log else _ticks(y_lo, y_hi, 5):
        at = float(py(np.array([tick]))[0])
        parts.append(f'<path class="grid" d="M{_LEFT} {at:.1f}H{WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 5}" y="{at + 4:.1f}" text-anchor="end">{_text(tick)}</text>')
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{HEIGHT - _BOTTOM}H{WIDTH - _RIGHT}"/>')
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    across = (_TOP + HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text class="label" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(plot.x_label)}</text>'
    )
    turned = f'transform="translate(13 {across}) rotate(-90)" text-anchor="middle"'
    parts.append(f'<text class="label" {turned}>{escape(plot.y_label)}</text>')
    for line in plot.lines:
        x, y = _drawn(plot.x, line.y)
        parts.append(f'<path class="{line.style}" d="{_path(px(x), py(y))}"/>')
        if line.dots:
            at_x, at_y = px(x), py(y)
            parts += [
                f'<circle class="dot {line.style}-dot" cx="{a:.1f}" cy="{b:.1f}" r="2.4"/>'
                for a, b in zip(at_x.tolist(), at_y.tolist(), strict=True)
                if math.isfinite(b)
            ]
    return "".join(parts) + "</svg>"


def _same(values: Floats) -> Floats:
    return values


def _symlog(values: Floats) -> Floats:
    return np.asarray(np.sign(values) * np.log10(1 + np.abs(values)))


def _reach(lists: Sequence[Floats]) -> tuple[float, float]:
    finite = [v[np.isfinite(v)] for v in lists]
    finite = [v for v in finite if v.size]
    if not finite:
        return 0.0, 1.0
    lo, hi = min(float(v.min()) for v in finite), max(float(v.max()) for v in finite)
    if lo == hi:
        room = abs(lo) * 0.1 or 1.0
        return lo - room, hi + room
    return lo, hi


def _drawn(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """The points to draw: all of few, the smallest and largest of each bucket of many, in the order they come."""
    if x.size <= 2 * _BUCKETS:
        return x, y
    starts = np.linspace(0, x.size, _BUCKETS, endpoint=False).astype(np.int64)
    finite = np.isfinite(y)
    low = np.minimum.reduceat(np.where(finite, y, np.inf), starts)
    high = np.maximum.reduceat(np.where(finite, y, -np.inf), starts)
    low, high = np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)
    ends = np.append(starts[1:], x.size) - 1
    rising = np.nan_to_num(y[ends]) >= np.nan_to_num(y[starts])
    pairs = np.stack([np.where(rising, low, high), np.where(rising, high, low)], axis=1)
    return np.stack([x[starts], x[ends]], axis=1).reshape(-1), pairs.reshape(-1)


def _path(x: Floats, y: Floats) -> str:
    parts, pen = [], "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if not math.isfinite(b):
            pen = "M"
            continue
        parts.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return "".join(parts)


def _ticks(lo: float, hi: float, wanted: int) -> list[float]:
    raw = (hi - lo) / wanted or 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    ratio = raw / power
    step = power * (10 if ratio > 7.07 else 5 if ratio > 3.16 else 2 if ratio > 1.41 else 1)
    first = math.ceil(lo / step - 1e-9)
    ticks = [i * step for i in range(first, first + 12) if i * step <= hi + step * 1e-9]
    return [0.0 if abs(t) < step * 1e-6 else t for t in ticks]


def _log_ticks(lo: float, hi: float) -> list[float]:
    ticks = [0.0] + [s * 10.0**p for p in range(6) for s in (1, -1)]
    return [t for t in ticks if lo - 1e-9 <= t <= hi + 1e-9]


def _text(value: float) -> str:
    text = f"{value:.6g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.0e}"
    return text.replace("-", "−")
