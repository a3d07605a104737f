"""Inline SVG: the strip of states of a case over the nights, and the line of a figure, both without a script."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from corstone.dashboard.text import esc

# One letter for each state: a colour alone is not enough to tell them apart.
GLYPHS = {
    "passed": "·",
    "failed": "F",
    "error": "E",
    "crashed": "C",
    "timed-out": "T",
    "no-output": "O",
    "skipped": "s",
    "aborted": "A",
    "not run": "N",
    "flaky": "k",
    "quarantined": "q",
    "xfail": "x",
    "xpass": "X",
    "": " ",
}
_TONES = {"passed": "ok", "flaky": "warn", "xpass": "warn", "quarantined": "warn", "skipped": "mute", "xfail": "mute"}

WIDTH, HEIGHT = 720, 120


def tone(state: str) -> str:
    """CSS class of a state: ok, warn, mute, bad or none."""
    return _TONES.get(state, "bad" if state else "none")


def number(value: float | None) -> str:
    """A figure in at most five characters and a unit prefix, or a dash."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 1e12:
        return f"{value:.2g}"
    for limit, name in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if size >= limit:
            return f"{value / {' G': 1e9, ' M': 1e6, ' k': 1e3}[name]:.4g}{name}"
    return f"{value:.4g}"


def percent(values: Sequence[float | None]) -> list[float | None]:
    """Shares of one as hundredths."""
    return [None if v is None else 100 * v for v in values]


def strip(states: Sequence[str], label: str) -> str:
    """States over all nights as one bar: a path for each tone, each run of equal nights one segment."""
    paths: dict[str, list[str]] = {}
    at = 0
    for name, group in groupby(states, key=tone):
        length = len(list(group))
        if name != "none":
            paths.setdefault(name, []).append(f"M{at} .5h{length}")
        at += length
    drawn = "".join(f'<path class="{name}" d="{"".join(d)}"/>' for name, d in paths.items())
    return (
        f'<svg class="strip" role="img" aria-label="{esc(label)}" viewBox="0 0 {max(1, len(states))} 1" '
        f'preserveAspectRatio="none">{drawn}</svg>'
    )


def line_chart(
    title: str, unit: str, values: Sequence[float | None], *, marks: Sequence[int] = (), bad: Sequence[bool] = ()
) -> str:
    """One figure over the nights. ``marks``: nights on which a version changed. Empty where nothing was measured.

    The values travel as ``data-v``, from which the script reads out the one under the pointer or the cursor keys.
    """
    known = [v for v in values if v is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    step = WIDTH / max(1, len(values) - 1)
    if low == high and len(known) == len(values):
        # Figures of a deterministic device are flat for months: worth a short way.
        path, data = f"M0 {HEIGHT // 2}h{WIDTH}", ",".join([f"{low:.5g}"] * len(values))
    else:
        path, data = _path(values, low, high, step), ",".join("" if v is None else f"{v:.5g}" for v in values)
    lines = "".join(f"M{i * step:.0f} 0v{HEIGHT}" for i in marks)
    red = "".join(f"M{i * step:.0f} {HEIGHT - 1}h3" for i, is_bad in enumerate(bad) if is_bad)
    last = known[-1]
    # Where nothing moved a range says nothing.
    span = f"{number(low)} to {number(high)}" if low != high else ""
    summary = f"{title}: now {number(last)} {unit}, lowest {number(low)}, highest {number(high)}, {len(known)} nights"
    return (
        f'<figure class="chart"><figcaption>{esc(title)} <b>{number(last)}</b> {esc(unit)}'
        f'<span class="range">{span}</span><output class="reading"></output></figcaption>'
        f'<svg tabindex="0" role="img" aria-label="{esc(summary)}" viewBox="-4 0 {WIDTH + 8} {HEIGHT}" '
        f'preserveAspectRatio="none" data-v="{data}" data-unit="{esc(unit)}">'
        f'<path class="mark" d="{lines}"/><path class="line" d="{path}"/><path class="redmark" d="{red}"/>'
        f'<path class="cursor" d=""/></svg></figure>'
    )


def _path(values: Sequence[float | None], low: float, high: float, step: float) -> str:
    """Line through the values, broken where there is none."""
    span = high - low
    scale, base = ((HEIGHT - 16) / span, low) if span else (0.0, low)
    foot = HEIGHT - 8 if span else HEIGHT // 2
    parts, pen = [], "M"
    for i, v in enumerate(values):
        if v is None:
            pen = "M"
            continue
        parts.append(f"{pen}{int(i * step)} {int(foot - (v - base) * scale)}")
        pen = "L"
    return "".join(parts) if len(parts) > 1 else parts[0] + "h3"
