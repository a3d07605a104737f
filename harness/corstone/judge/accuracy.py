"""Device against the float64 network: within the budget of each region, or FAILED with cause ``accuracy``.

Left out of this judgement, and counted in its note: inputs outside the network's domain (bits alone judge them). An
infinite float answer is compared with the end of the output's range, since saturation is right there; NaN from an
in-domain input, and NaN or infinity from the device where float is finite, is infinitely far.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.bound import Limits
from corstone.judge.budget import EVERYWHERE, Budget
from corstone.judge.codes import dequantize, real_values
from corstone.judge.elements import InputView, worst_elements
from corstone.judge.verdict import Comparison, RegionResult
from corstone.program import QParams

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Accuracy:
    """The comparison, and per element what it is made of: error in LSB [N], budget [N], judged or not [N].

    ``clipped``: elements over their budget whose float64 value no code of the output stands for; ``pole``: those whose
    code lies beside a table node without a finite value.
    """

    comparison: Comparison
    error: Floats
    allowed: Floats
    judged: npt.NDArray[np.bool_]
    clipped: int = 0
    pole: int = 0


def compare_accuracy(
    output: int,
    reference: Array,
    got: Array,
    qparams: QParams | None,
    view: InputView | None,
    budgets: Sequence[Budget],
    inside: npt.NDArray[np.bool_] | None,
    limits: Limits | None = None,
) -> Accuracy:
    """One output against float64, both in the output's shape; ``budgets`` as ``Budget`` describes them.

    ``inside`` [N] says which elements' inputs lie in the domain, None: all. ``limits``: what each element's own code
    allows; the smaller of that and its region's budget counts. With neither, the error is measured and nothing fails,
    which the note says.
    """
    expected = saturated(reference.reshape(-1).astype(np.float64), qparams)
    device = real_values(got.reshape(-1), qparams)
    judged = np.ones(device.size, np.bool_) if inside is None else inside
    error = np.where(judged, error_lsb(expected, device, got.dtype, qparams), 0.0)
    allowed, region = _budget_of_each(view, budgets, device.size)
    if limits is not None:
        allowed = np.minimum(allowed, limits.allowed)
    allowed = allowed + _rounding(device, qparams)
    regions = _regions(error, judged, region, budgets, allowed, None if view is None or limits is None else view)
    worst_region = max(regions, key=lambda r: r.share, default=None)
    over = judged & (error > allowed)
    # Worst by what matters: elements over their budget before any that keep it, then by distance.
    listed = np.where(over, error + 1e30, error) if over.any() else error
    worst = worst_elements(expected, device, np.where(judged, listed, 0.0), got.shape, view, qparams)
    flat = [int(np.ravel_multi_index(w.index, got.shape)) if got.shape else 0 for w in worst]
    return Accuracy(
        Comparison(
            reference="float",
            output=output,
            count=device.size,
            differing=int(np.count_nonzero(over)),
            max_lsb=float(error.max(initial=0.0)),
            max_abs=_max_abs(expected, device, judged),
            exact=False,
            passed=not over.any(),
            budget_lsb=None if worst_region is None else worst_region.budget_lsb,
            budget_share=None if worst_region is None else worst_region.share,
            worst=tuple(replace(w, distance_lsb=float(error[at])) for w, at in zip(worst, flat, strict=True)),
            note=_note(judged, budgets, limits),
            regions=regions,
        ),
        error,
        allowed,
        judged,
        int(np.count_nonzero(over & _outside(expected, qparams))),
        0 if limits is None else int(np.count_nonzero(over & limits.pole)),
    )


def _rounding(device: Floats, qparams: QParams | None) -> Floats:
    """Output steps that a code's value loses as a float32: an error of exactly the bound is not over it for that."""
    if qparams is None:
        return np.zeros(device.size)
    # Infinity and NaN have no neighbour, and are allowed nothing.
    finite = np.abs(np.where(np.isfinite(device), device, 0.0)).astype(np.float32)
    return np.asarray(np.spacing(finite).astype(np.float64) / qparams.scale)


def _outside(expected: Floats, qparams: QParams | None) -> npt.NDArray[np.bool_]:
    """Which values lie more than half a step beyond the output's codes [N]."""
    if qparams is None:
        return np.zeros(expected.size, np.bool_)
    lo, hi = _ends(qparams)
    outside: npt.NDArray[np.bool_] = (expected < lo - qparams.scale / 2) | (expected > hi + qparams.scale / 2)
    return outside


def saturated(expected: Floats, qparams: QParams | None) -> Floats:
    """Infinities moved to the ends of the output's range, where the output is quantized."""
    if qparams is None or not np.isinf(expected).any():
        return expected
    lo, hi = _ends(qparams)
    return np.where(np.isinf(expected), np.where(expected > 0, hi, lo), expected)


def _ends(qparams: QParams) -> tuple[float, float]:
    """The real values of the lowest and the highest code."""
    lo, hi = dequantize(np.array([qparams.qmin, qparams.qmax]), qparams).astype(np.float64)
    return float(lo), float(hi)


def error_lsb(expected: Floats, got: Floats, dtype: np.dtype[Any], qparams: QParams | None) -> Floats:
    """Distance in output steps; without a scale in integer steps, or in units in the last place of ``dtype``."""
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(expected - got)
        if qparams is not None:
            distance = distance / qparams.scale
        elif dtype.kind == "f":
            distance = distance / np.spacing(np.abs(expected).astype(dtype)).astype(np.float64)
    same = (expected == got) | (np.isnan(expected) & np.isnan(got))
    special = ~(np.isfinite(expected) & np.isfinite(got))
    result: Floats = np.where(same, 0.0, np.where(special, np.inf, distance))
    return result


def _budget_of_each(
    view: InputView | None, budgets: Sequence[Budget], count: int
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Allowed error [N] and index of the budget that gave it [N]; the first region that holds an input counts."""
    if not budgets:
        return np.full(count, np.inf), np.full(count, -1, np.int64)
    strictest = min(range(len(budgets)), key=lambda i: budgets[i].max_lsb)
    region = np.full(count, strictest, np.int64)
    if view is None:
        everywhere = [i for i, b in enumerate(budgets) if b.region.lo == -math.inf and b.region.hi == math.inf]
        region[:] = everywhere[0] if everywhere else strictest
    else:
        for i in reversed(range(len(budgets))):
            inside = (view.values >= budgets[i].region.lo) & (view.values <= budgets[i].region.hi)
            region[inside] = i
    return np.array([b.max_lsb for b in budgets])[region], region


def _regions(
    error: Floats,
    judged: npt.NDArray[np.bool_],
    region: npt.NDArray[np.int64],
    budgets: Sequence[Budget],
    allowed: Floats,
    own: InputView | None,
) -> tuple[RegionResult, ...]:
    """Each region's largest error, and the largest share that an element used of what it was allowed.

    ``own``: elements have bounds of their own; the reason then names the one that used most of its.
    """
    shares = np.where(allowed > 0, error / np.where(allowed > 0, allowed, 1.0), np.where(error > 0, math.inf, 0.0))
    results = []
    for i, budget in enumerate(budgets):
        mine = np.flatnonzero(judged & (region == i))
        largest, share, reason = 0.0, 0.0, budget.reason
        if mine.size:
            largest = float(error[mine].max())
            worst = mine[shares[mine].argmax()]
            share = float(shares[worst])
            if own is not None:
                reason += (
                    f"; each code by its own bound: {error[worst]:.4g} of {allowed[worst]:.4g} LSB at input "
                    f"{own.values[worst]:.6g}"
                )
        results.append(RegionResult(budget.region.name, mine.size, largest, budget.max_lsb, share, reason))
    return tuple(results)


def _max_abs(expected: Floats, got: Floats, judged: npt.NDArray[np.bool_]) -> float:
    with np.errstate(invalid="ignore"):
        distance = np.abs(expected[judged] - got[judged])
    same = (expected[judged] == got[judged]) | (np.isnan(expected[judged]) & np.isnan(got[judged]))
    distance = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
    return float(distance.max(initial=0.0))


def _note(judged: npt.NDArray[np.bool_], budgets: Sequence[Budget], limits: Limits | None) -> str:
    notes = []
    if outside := int(np.count_nonzero(~judged)):
        notes.append(f"{outside} of {judged.size} inputs lie outside the domain and are judged by bits alone")
    if limits is not None and (held := int(np.count_nonzero(judged & limits.held))):
        notes.append(
            f"{held} lie so near a pole that float leaves the output's range: they are compared with the range's end"
        )
    if not budgets:
        notes.append("measured, not judged: the network brought no budget and the output has no scale")
    elif all(b.region == EVERYWHERE and b.reason.startswith("default") for b in budgets):
        own = " and by a bound of each code, derived from the operator" if limits is not None else ""
        notes.append(f"judged by the {budgets[0].reason}{own}")
    return "; ".join(notes)
