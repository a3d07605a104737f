"""Derives budgets from the table itself: how far a program of one input can be from float64, for any input at all.

Every input code has one answer, and stands for the real inputs that are rounded to it. Over such a cell a function
that rises or falls is furthest from the answer at an end of the cell, so the ends of all cells bound the whole domain.
The bound is the sum of two parts, each reported: what the input's quantization step is worth there (the slope), and
what the table does at the code's own value (rounding, interpolation, an end that no code stands for). Needs no torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy.budget_file import Row
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.bound import Bound, Limits, bound_of
from corstone.judge.budget import EVERYWHERE, Budget, Region
from corstone.judge.codes import quantize
from corstone.judge.domain import Domain
from corstone.program import Program, QParams
from corstone.reference import table, tosa
from corstone.reference.graph import read_graph
from corstone.reference.operators import Unpredictable

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]
_POINTS = 5
"""Points looked at in a cell: both ends, and between, for functions that turn inside one."""
_FEWEST_DIGITS = 3


@dataclass(frozen=True)
class Cells:
    """Every input code: real inputs that become it [codes, points], its value, and the program's answer in steps."""

    points: Floats
    values: Floats
    answers: Floats
    output: QParams


def cells_of(program: Program, domain: Domain, breaks: Sequence[float] = ()) -> Cells:
    """The cells of a program with one elementwise quantized input and output.

    ``breaks`` are looked at from both sides in the cell that holds them: a region may end inside a cell.

    Raises
    ------
    ConfigError: it has several inputs or outputs, is not quantized, or is not elementwise; its answers are undefined.
    """
    given, taken = program.input_qparams[:1], program.output_qparams[:1]
    one = len(program.inputs) == 1 and len(program.outputs) == 1 and len(program.tosa) == 1
    if not one or not given or not taken or given[0] is None or taken[0] is None:
        raise ConfigError(
            f"no budget of {program.network} can be derived: that takes one quantized input, one output, one delegate",
            cause=Cause.UNSUPPORTED,
            hint="`corstone budget tighten CAPTURE...` measures one instead",
        )
    q, output = given[0], taken[0]
    codes = np.arange(q.qmin, q.qmax + 1)
    answers = _answers(program, codes.astype(q.dtype))
    scale = float(np.float32(q.scale))
    values = (codes - q.zero_point) * scale
    low, high = values - scale / 2, values + scale / 2
    # Inputs beyond the last code are clipped to it.
    low[0], high[-1] = min(low[0], domain.lo), max(high[-1], domain.hi)
    if math.isinf(low[0]) or math.isinf(high[-1]):
        # Nothing bounds the inputs: those that the codes can stand for are looked at.
        low[0], high[-1] = max(low[0], values[0] - scale / 2), min(high[-1], values[-1] + scale / 2)
    share = np.linspace(0, 1, _POINTS)
    points = low[:, None] + (high - low)[:, None] * share
    sides = [np.nextafter(np.float32(b), np.float32(to)) for b in breaks for to in (-np.inf, b, np.inf)]
    held = [np.clip(np.full(codes.size, float(side)), low, high) for side in sides]
    points = np.column_stack([points, *held]) if held else points
    return Cells(_inside(points, domain), values, answers - output.zero_point, output)


def _inside(points: Floats, domain: Domain) -> Floats:
    """Points moved to the nearest float32 inside the domain."""
    lo, hi = np.float32(domain.lo), np.float32(domain.hi)
    lo = np.nextafter(lo, np.float32(np.inf)) if domain.lo_open else lo
    hi = np.nextafter(hi, np.float32(-np.inf)) if domain.hi_open else hi
    return np.asarray(np.clip(points, float(lo), float(hi)))


def _answers(program: Program, codes: npt.NDArray[Any]) -> Floats:
    """What the program answers to each code, through an exact reference; refuses what is not elementwise."""
    graph = read_graph(program.tosa[0])
    count = program.inputs[0].count
    if program.outputs[0].count != count:
        raise ConfigError(
            f"{program.network} is not elementwise: {count} inputs give {program.outputs[0].count} outputs",
            cause=Cause.UNSUPPORTED,
            hint="`corstone budget tighten CAPTURE...` measures a budget instead",
        )
    shape = graph.tensors[graph.inputs[0]].shape
    runs = -(-codes.size // count)
    filled = np.concatenate([codes, np.full(runs * count - codes.size, codes[-1], codes.dtype)]).reshape(runs, count)
    given = [row.reshape(shape) for row in filled]
    try:
        if table.unsupported(graph):
            found = [tosa.run(program.tosa[0], [x])[0].reshape(-1).astype(np.float64) for x in given]
        else:
            found = [table.run(graph, [x]).outputs[0].reshape(-1).astype(np.float64) for x in given]
    except Unpredictable as left_open:
        raise ConfigError(
            f"no budget of {program.network} can be derived: {left_open}, so its answers are not defined",
            cause=Cause.OUT_OF_DOMAIN,
            hint="use the policy segmented, or clamp its input off the pole",
        ) from None
    return np.asarray(np.concatenate(found)[: codes.size])


def derive(program: Program, function: Function, domain: Domain, regions: Sequence[Region] = ()) -> tuple[Row, ...]:
    """A row for each region, narrowest first as given; none: one for everywhere.

    Parameters
    ----------
    function: float64, elementwise; infinite at a pole.

    Raises
    ------
    ConfigError: as ``cells_of``.
    """
    regions = tuple(regions) or (EVERYWHERE,)
    ends = sorted({end for region in regions for end in (region.lo, region.hi) if math.isfinite(end)})
    cells = cells_of(program, domain, ends)
    reached = quantize(np.ascontiguousarray(cells.points[:, [0, _POINTS - 1]]).astype(np.float32), _input(program))
    codes = np.arange(_input(program).qmin, _input(program).qmax + 1)[:, None]
    # Codes that no input of the domain becomes have cells of no width, beyond its end.
    met = (np.abs(reached - codes) <= 1).any(axis=1)
    at_points, at_value = _steps(function, cells.points, cells), _steps(function, cells.values, cells)
    limits = None if (bound := bound_of(program)) is None else _limits(bound, cells)
    if limits is not None:
        held = (limits.expected / float(np.float32(cells.output.scale))).astype(np.float64)
        at_points = np.where(limits.held, held, at_points)
    error = np.where(met[:, None], np.abs(cells.answers[:, None] - at_points), 0.0)
    if limits is not None:
        # A table that is wrong, or that no line can follow, makes no budget wider than a right one has.
        error = np.fmin(error, limits.allowed)
    apart = np.abs(cells.answers - at_value)
    own = np.nan_to_num(np.where(met, apart, 0.0), nan=0.0, posinf=0.0)
    left = np.ones(error.shape, np.bool_)
    rows = []
    for region in regions:
        here = left & (cells.points >= region.lo) & (cells.points <= region.hi) & ~np.isnan(error)
        left &= ~here
        total = float(error[here].max(initial=0.0))
        table_part = min(total, float(own[here.any(axis=1)].max(initial=0.0)))
        rows.append(_row(region, total, table_part))
    return tuple(rows)


def _limits(bound: Bound, cells: Cells) -> Limits:
    """What the operator allows at the points of all cells, [codes, points]."""
    codes = np.repeat(bound.codes_of(cells.values)[:, None], cells.points.shape[1], axis=1)
    return bound.limits(cells.points, codes)


def _input(program: Program) -> QParams:
    (q,) = program.input_qparams
    assert q is not None
    return q


def _steps(function: Function, at: Floats, cells: Cells) -> Floats:
    """The function in output steps from the zero point; infinities are the ends of the output's range."""
    output = cells.output
    with np.errstate(all="ignore"):
        exact = function(at) / float(np.float32(output.scale))
    ends = output.qmin - output.zero_point, output.qmax - output.zero_point
    return np.asarray(np.where(np.isinf(exact), np.where(exact > 0, ends[1], ends[0]), exact))


def _row(region: Region, total: float, table_part: float) -> Row:
    input_part = max(0.0, total - table_part)
    limit = rounded_up(total)
    reason = (
        f"derived from the table: {_digits(table_part)} steps at the codes themselves (rounding, interpolation, ends "
        f"that are clipped), and {_digits(input_part)} more for half an input step where the function is steep"
    )
    return Row(Budget(region, limit, reason), round(input_part, 4), round(table_part, 4))


def rounded_up(value: float) -> float:
    """The next number of three digits; budgets are read by people."""
    if value <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(value)) - _FEWEST_DIGITS + 1)
    return float(f"{math.ceil(value / unit - 1e-9) * unit:.{_FEWEST_DIGITS}g}")


def _digits(value: float) -> str:
    return f"{value:.{_FEWEST_DIGITS}g}"
