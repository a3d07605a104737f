"""What a report draws of a case: curves, error, edges and budgets, from its stored capture. Nothing is judged here.

For an elementwise network (one input as long as the output) elements are ordered by input value, else by index. Few
elements are drawn one by one; many are put into buckets, of which the smallest and the largest value are drawn, so
that no outlier is lost. NaN and infinities become None and break the line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.capture import Capture
from corstone.judge.accuracy import error_lsb, saturated
from corstone.judge.codes import real_values
from corstone.judge.elements import InputView, input_view
from corstone.judge.reference import EXACT, FLOAT, ReferenceResult, load_references
from corstone.judge.stored import Question
from corstone.judge.structure import arrays
from corstone.program import Program

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
WITHIN_LSB = (0.5, 1.0, 2.0, 8.0)
MOST_DRAWN = 5000
"""Cases of one page that have curves and transcripts: with more, a browser takes long to open it, or cannot."""
_LEAST_FOR_EDGES = 32


@dataclass(frozen=True)
class Detail:
    """How much is drawn: buckets of the whole, single points at each edge; neither curve nor transcript for none."""

    buckets: int
    edge: int


UNDRAWN = Detail(0, 0)


def detail_for(cases: int, place: int = 0) -> Detail:
    """Less per case in a large report, and nothing beyond ``MOST_DRAWN``, so that it stays a file that opens.

    ``place``: of the case in the page, which has the worst first.
    """
    if place >= MOST_DRAWN:
        return UNDRAWN
    if cases <= 60:
        return Detail(480, 160)
    return Detail(240, 64) if cases <= 600 else Detail(120, 32)


def curve(capture: str, detail: Detail) -> dict[str, Any] | None:
    """Drawing data of the first output, or None when the capture, its program or its float reference is not there.

    ``x``; ``d``, ``f``, ``e``: device, float (real values), error (device minus float, in ``unit``); in buckets these
    are the smallest and ``D``, ``F``, ``E`` the largest. ``edges``: the same for the outermost elements, one by one,
    with input codes ``c``. ``budgets``: regions with their LSB. ``within``: elements within so many LSB.
    ``bits``: distance to an exact reference that differs.
    """
    folder = Path(capture)
    if detail == UNDRAWN or not capture or not (folder / "program.json").exists():
        return None
    try:
        stored = Capture.load(folder)
        program = Program.load(folder / "program.json")
        references = load_references(folder)
        question = Question.load(folder)
        return _curve(stored, program, references, question, detail)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None  # a capture from elsewhere may be damaged; the report then has no curve


def _curve(
    stored: Capture, program: Program, references: tuple[ReferenceResult, ...], question: Question, detail: Detail
) -> dict[str, Any] | None:
    reference = next((r for r in references if r.name == FLOAT and r.outputs), None)
    if reference is None or not stored.outputs:
        return None
    got = arrays(stored.output_bytes()[:1], program.outputs[:1])[0].reshape(-1)
    q = program.output_qparams[0] if program.output_qparams else None
    device = real_values(got, q)
    real = saturated(reference.outputs[0].reshape(-1).astype(np.float64), q)
    if device.shape != real.shape or not device.size:
        return None
    view = _view(stored, program, got.size)
    order = np.arange(device.size) if view is None else np.argsort(view.values, kind="stable")
    x = order.astype(np.float64) if view is None else view.values[order]
    codes = None if view is None or view.codes is None else view.codes[order]
    d, f = device[order], real[order]
    with np.errstate(invalid="ignore", over="ignore"):
        error = (d - f) / (q.scale if q is not None else 1.0)
    measured = error_lsb(f, d, got.dtype, q)
    data: dict[str, Any] = {
        "by": "index" if view is None else "input",
        "unit": "LSB" if q is not None else "output units",
        "count": int(d.size),
        "within": [[limit, int(np.count_nonzero(measured <= limit))] for limit in WITHIN_LSB] if q is not None else [],
        "lost": int(np.count_nonzero(~np.isfinite(f))),
        **_series(x, {"d": d, "f": f, "e": error}, detail.buckets),
    }
    if view is not None and d.size >= _LEAST_FOR_EDGES:
        count = min(detail.edge, d.size // 8)
        data["edges"] = [_edge(part, x, codes, d, f, error) for part in (slice(0, count), slice(-count, None))]
    if view is not None:
        data["budgets"] = [
            [_ends(b.region.lo), _ends(b.region.hi), b.max_lsb, b.region.name]
            for b in question.budgets
            if math.isfinite(b.max_lsb)
        ]
    if bits := _bits(references, got, order, x, detail, q.scale if q is not None else 1.0):
        data["bits"] = bits
    return data


def _view(stored: Capture, program: Program, count: int) -> InputView | None:
    try:
        inputs = arrays(stored.input_bytes(), program.inputs)
    except (OSError, ValueError):
        return None  # inputs may have been removed to save space
    view = input_view(inputs, program.input_qparams[0] if program.input_qparams else None, count)
    return None if view is None or not np.isfinite(view.values).all() else view


def _series(x: Floats, series: dict[str, Floats], buckets: int) -> dict[str, Any]:
    if x.size <= 2 * buckets:
        return {"x": plain(x), **{name: plain(values) for name, values in series.items()}}
    starts = np.linspace(0, x.size, buckets, endpoint=False).astype(np.int64)
    result: dict[str, Any] = {"x": plain(np.add.reduceat(x, starts) / np.diff(np.append(starts, x.size)))}
    for name, values in series.items():
        finite = np.isfinite(values)
        low = np.minimum.reduceat(np.where(finite, values, np.inf), starts)
        high = np.maximum.reduceat(np.where(finite, values, -np.inf), starts)
        result[name], result[name.upper()] = plain(low), plain(high)
    return result


def _edge(part: slice, x: Floats, codes: Array | None, d: Floats, f: Floats, error: Floats) -> dict[str, Any]:
    data: dict[str, Any] = {"x": plain(x[part]), "d": plain(d[part]), "f": plain(f[part]), "e": plain(error[part])}
    if codes is not None:
        data["c"] = [int(code) for code in codes[part]]
    return data


def _bits(
    references: tuple[ReferenceResult, ...], got: Array, order: Array, x: Floats, detail: Detail, scale: float
) -> dict[str, Any] | None:
    """Device minus the first exact reference that differs in some bit, in the output's steps."""
    for reference in references:
        if reference.name not in EXACT or not reference.outputs or reference.outputs[0].size != got.size:
            continue
        expected = reference.outputs[0].reshape(-1)
        if expected.dtype != got.dtype or expected.tobytes() == got.tobytes():
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            step = scale if got.dtype.kind == "f" else 1.0
            distance = (got.astype(np.float64) - expected.astype(np.float64)) / step
        return {"reference": reference.name, **_series(x, {"e": distance[order]}, detail.buckets)}
    return None


def plain(values: Array) -> list[float | None]:
    """Six significant digits; NaN and infinities are None."""
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values.tolist()]


def _ends(value: float) -> float | None:
    return value if math.isfinite(value) else None
