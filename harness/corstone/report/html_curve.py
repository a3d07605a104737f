"""What a report draws of a case: curves, error, edges and budgets, from its stored capture. Nothing is judged here.

For an elementwise network (one input as long as the output) elements are ordered by input value, else by index. Few
elements are drawn one by one; many are put into buckets, of which the smallest and the largest value are drawn, so
that no outlier is lost. NaN and infinities are kept here; the page breaks its line there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.capture import Capture
from corstone.judge.accuracy import error_lsb, saturated
from corstone.judge.codes import real_values
from corstone.judge.elements import corresponds, input_codes
from corstone.judge.reference import EXACT, FLOAT, reference_files
from corstone.judge.stored import Question
from corstone.judge.structure import arrays
from corstone.program import Program, QParams

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
_Codes = Callable[[slice], npt.NDArray[np.int64] | None]
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
    ``bits``: distance to an exact reference that differs. Series are arrays: floats [N], and int64 [N] for codes.
    """
    folder = Path(capture)
    if detail == UNDRAWN or not capture or not (folder / "program.json").exists():
        return None
    try:
        stored = Capture.load(folder)
        program = Program.load(folder / "program.json")
        return _curve(stored, program, reference_files(folder), Question.load(folder), detail)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return None  # a capture from elsewhere may be damaged; the report then has no curve


def _curve(
    stored: Capture, program: Program, references: dict[str, tuple[Path, ...]], question: Question, detail: Detail
) -> dict[str, Any] | None:
    if not references.get(FLOAT) or not stored.outputs:
        return None
    raw = (stored.folder / stored.outputs[0]).read_bytes()
    got = arrays([raw], program.outputs[:1])[0].reshape(-1)
    q = program.output_qparams[0] if program.output_qparams else None
    scale = q.scale if q is not None else 1.0
    d = _real(got, q)
    f = saturated(_load(references[FLOAT][0]).reshape(-1).astype(np.float64, copy=False), q)
    if d.shape != f.shape or not d.size:
        return None
    codes, x, order = _inputs(stored, program, d.size)
    if order is not None:
        d, f = d[order], f[order]
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.subtract(d, f, dtype=np.float64)
        if q is not None:
            error /= scale
    data: dict[str, Any] = {
        "by": "index" if codes is None else "input",
        "unit": "LSB" if q is not None else "output units",
        "count": int(d.size),
        "within": [] if q is None else _within(f, d, error, got.dtype, q),
        "lost": int(d.size - np.count_nonzero(np.isfinite(f))),
        **_series(x, {"d": d, "f": f, "e": error}, detail.buckets),
    }
    if codes is not None and d.size >= _LEAST_FOR_EDGES:
        count = min(detail.edge, d.size // 8)
        data["edges"] = [_edge(part, x, codes, d, f, error) for part in (slice(0, count), slice(-count, None))]
    if codes is not None:
        data["budgets"] = [
            [_ends(b.region.lo), _ends(b.region.hi), b.max_lsb, b.region.name]
            for b in question.budgets
            if math.isfinite(b.max_lsb)
        ]
    if bits := _bits(references, got, order, x, detail, scale):
        data["bits"] = bits
    return data


def _real(array: Array, q: QParams | None) -> Array:
    """What a tensor means, [N]: numbers with a fraction as they are, without a copy."""
    return array if array.dtype.kind == "f" else real_values(array, q)


def _load(file: Path) -> Array:
    array: Array = np.load(file, allow_pickle=False)
    return array


def _inputs(stored: Capture, program: Program, count: int) -> tuple[_Codes | None, Array, Array | None]:
    """Codes by position, what elements are drawn over, and their order by it where that is not the stored one.

    The codes are None where elements are drawn over their index.
    """
    try:
        inputs = arrays(stored.input_bytes(), program.inputs)
    except (OSError, ValueError):
        inputs = []  # they may have been removed to save space
    if corresponds(inputs, count):
        flat = inputs[0].reshape(-1)
        q = program.input_qparams[0] if program.input_qparams else None
        x = _real(flat, q)
        if np.isfinite(x).all():
            order = None
            if (x[1:] < x[:-1]).any():
                order = np.argsort(x, kind="stable")
                flat, x = flat[order], x[order]
            return lambda part: input_codes(flat[part], q), x, order
    return None, np.arange(count, dtype=np.float64), None


def _within(f: Floats, d: Array, error: Floats, dtype: np.dtype[Any], q: QParams) -> list[list[float]]:
    """How many elements are within so many LSB of float."""
    largest = max(-error.min(), error.max())
    if not np.isfinite(largest):
        error = error_lsb(f, d.astype(np.float64), dtype, q)
    over = [
        0 if largest <= limit else int(np.count_nonzero(error > limit) + np.count_nonzero(error < -limit))
        for limit in WITHIN_LSB
    ]
    return [[limit, error.size - count] for limit, count in zip(WITHIN_LSB, over, strict=True)]


def _series(x: Array, series: dict[str, Array], buckets: int) -> dict[str, Any]:
    if x.size <= 2 * buckets:
        return {"x": x, **series}
    starts = np.linspace(0, x.size, buckets, endpoint=False).astype(np.int64)
    result: dict[str, Any] = {"x": np.add.reduceat(x, starts, dtype=np.float64) / np.diff(np.append(starts, x.size))}
    for name, values in series.items():
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            finite = np.isfinite(values)
            low = np.minimum.reduceat(np.where(finite, values, np.inf), starts)
            high = np.maximum.reduceat(np.where(finite, values, -np.inf), starts)
        result[name], result[name.upper()] = low, high
    return result


def _edge(part: slice, x: Array, codes: _Codes, d: Array, f: Array, error: Array) -> dict[str, Any]:
    data: dict[str, Any] = {"x": x[part], "d": d[part], "f": f[part], "e": error[part]}
    if (own := codes(part)) is not None:
        data["c"] = own
    return data


def _bits(
    references: dict[str, tuple[Path, ...]], got: Array, order: Array | None, x: Array, detail: Detail, scale: float
) -> dict[str, Any] | None:
    """Device minus the first exact reference that differs in some bit, in the output's steps."""
    same = np.ascontiguousarray(got).tobytes()
    for name in EXACT:
        if not references.get(name) or references[name][0].read_bytes().endswith(same):
            continue  # the file ends with the values: all equal, and not worth parsing
        expected = _load(references[name][0]).reshape(-1)
        if expected.dtype != got.dtype or expected.size != got.size:
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            step = scale if got.dtype.kind == "f" else 1.0
            distance = (got.astype(np.float64) - expected.astype(np.float64)) / step
        return {"reference": name, **_series(x, {"e": distance if order is None else distance[order]}, detail.buckets)}
    return None


def _ends(value: float) -> float | None:
    return value if math.isfinite(value) else None
