"""What a sweep shows, as tables: answers at the ends of each domain, and over every code, with the cause by name.

The ends are those of a registered network's domain; where an end is open (a pole) or infinite, its calibration range's.
Leaves out the curves themselves (``curve``) and other files (``tabular``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from corstone.accuracy.curve import Curve
from corstone.accuracy.sweep import Swept
from corstone.report import terminal

OVER_LSB = 2.0
_CASE = ("network", "bits", "policy", "target")
_EDGES = (*_CASE, "input", "device", "float", "off by", "verdict")
_WHOLES = (
    *_CASE,
    *("codes", "worst, LSB", "worst, absolute", f"codes over {OVER_LSB:g} LSB"),
    *("bits equal", "what moved the worst code"),
)
_NUMBERS = range(4, 8)


@dataclass(frozen=True)
class Edge:
    """One end of a domain: the real input ``x``, what the device answers and what float64 says (real values)."""

    network: str
    bits: int
    policy: str
    target: str
    x: float
    device: float
    exact: float
    verdict: str

    @property
    def off_by(self) -> float:
        """Distance of the two."""
        return abs(self.device - self.exact)


@dataclass(frozen=True)
class Whole:
    """A whole domain: ``codes`` with a float value, those further than ``OVER_LSB`` from it, and the worst of them."""

    network: str
    bits: int
    policy: str
    target: str
    codes: int
    outside: int
    over: int
    max_lsb: float
    max_abs: float
    bits_equal: bool
    why: str


def edges(swept: Swept) -> list[Edge]:
    """Both ends of the domain of each curve whose network is registered."""
    return [edge for curve in swept.curves for edge in _edges(curve)]


def wholes(swept: Swept) -> list[Whole]:
    """A row a curve."""
    return [_whole(curve) for curve in swept.curves]


def _edges(curve: Curve) -> list[Edge]:
    kind, _, name = curve.source.partition(":")
    if kind != "network":
        return []
    from corstone_models.networks import network

    known = network(name)
    domain, limits = known.domain, known.calibration.get(curve.record.bits)
    if limits is None:
        return []
    ends = (
        domain.lo if np.isfinite(domain.lo) and not domain.lo_open else limits.lo,
        domain.hi if np.isfinite(domain.hi) and not domain.hi_open else limits.hi,
    )
    exact = known.function(np.array(ends, np.float64))[0]
    record = curve.record
    return [
        Edge(
            *(record.network, record.bits, record.policy, record.target),
            x=end,
            device=curve.at(end)[0],
            exact=float(value),
            verdict=terminal.label(record.verdict),
        )
        for end, value in zip(ends, exact, strict=True)
    ]


def _whole(curve: Curve) -> Whole:
    record = curve.record
    exact = [c for c in record.verdict.comparisons if c.exact]
    return Whole(
        *(record.network, record.bits, record.policy, record.target),
        codes=curve.count,
        outside=curve.codes.size - curve.count,
        over=curve.count - curve.within(OVER_LSB),
        max_lsb=curve.max_lsb,
        max_abs=curve.max_lsb * curve.output.scale,
        bits_equal=bool(exact) and all(c.passed for c in exact),
        why=_why(curve.first_difference),
    )


def _why(first_difference: str) -> str:
    """Step and cause of a sentence like ``quantization: input clipped at [3]: ...``, without the element."""
    step, _, rest = first_difference.partition(": ")
    cause = re.split(r" at \[|: ", rest, maxsplit=1)[0]
    return f"{step}: {cause}" if cause else step


def to_json(swept: Swept) -> dict[str, Any]:
    """Both tables as plain data."""
    return {
        "edges": [asdict(e) | {"off_by": e.off_by} for e in edges(swept)],
        "codes": [asdict(w) for w in wholes(swept)],
    }


def markdown(swept: Swept) -> str:
    """Both tables as Markdown, each under a heading; a table without rows is left out."""
    parts = []
    if found := edges(swept):
        rows: list[tuple[object, ...]] = [
            (e.network, e.bits, e.policy, e.target, f"{e.x:g}", *_four(e.device, e.exact, e.off_by), e.verdict)
            for e in found
        ]
        parts.append("## At the ends of the domain\n\n" + _table(_EDGES, rows))
    if whole := wholes(swept):
        rows = [
            (
                *(w.network, w.bits, w.policy, w.target, f"{w.codes:,}", f"{w.max_lsb:.1f}", f"{w.max_abs:.4f}"),
                f"{100 * w.over / max(1, w.codes):.1f} %",
                "yes" if w.bits_equal else "NO",
                w.why,
            )
            for w in whole
        ]
        parts.append("## Over every code\n\n" + _table(_WHOLES, rows))
    return "\n".join(parts)


def _four(*values: float) -> tuple[str, ...]:
    return tuple(f"{value:.4f}" for value in values)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    rule = "|" + "".join("---:|" if i in _NUMBERS else "---|" for i in range(len(head)))
    lines = ["| " + " | ".join(str(cell) for cell in row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"
