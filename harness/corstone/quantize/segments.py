"""Plans int16 tables for a steep function: a few tables whose sum follows it within about one output step.

One int16 TABLE has a node every 128 codes and cannot follow an infinite slope. Here the function is cut at nodes. Where
it is flat, a *core* table follows it and where it is steep the core stands still. A *warp* table, ``W``, is exact: it
stands still where the core moves, and rises by ``slope`` codes a code (up to 128) where the function is steep. A second
table of 513 nodes, ``E``, is indexed by ``W``, and so has up to one node a code exactly there:

    y = core(x) + E(W(x))

W holds whole numbers, the core and E are in output steps, and of the two only one moves at a time: nothing is rounded
twice. It works for both ends of a domain at once, for a pole inside it, and for even, odd and other functions. Where
one W is not enough, a second pair is added. Node values are chosen by dynamic programming, for the least largest error
of what the device computes, ``(interpolation + 64) >> 7``.

Plain numpy; leaves out where functions come from and how tables reach a graph (``segmented``).
Source: TOSA 1.0, TABLE. A published recipe of shifted tables takes five of them for the same task, and 22 operations
on U55, 15 on U85; these take three and four.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CODE_MIN, CODE_MAX = -32768, 32767
INTERVALS, STEP, NODES = 512, 128, 513
POSITIONS = INTERVALS * STEP + 1
"""Codes -32768..32768: the last is the virtual code of node 512."""

GOAL_LSB = 1.5
MAX_WINDOWS = 3

# Slopes that W may have in an interval: parts into which its 128 codes are cut. Any whole number would do.
_SLOPES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128)
# W's last node would be code 32768, which no int16 holds: one of 512 is left out.
_WINDOW_PARTS = INTERVALS - 1
# Below this the rounding of nodes and results (up to half a step each) decides, and more parts are wasted.
_ENOUGH_LSB = 0.02


@dataclass(frozen=True)
class Window:
    """A pair of tables, 513 nodes each: ``warp`` stretches the steep codes, ``table`` is indexed by its result."""

    warp: tuple[int, ...]
    table: tuple[int, ...]


@dataclass(frozen=True)
class Segments:
    """Tables whose sum is the function. ``max_lsb``: largest distance to it over all 65,536 codes, output steps."""

    core: tuple[int, ...]
    windows: tuple[Window, ...]
    max_lsb: float

    @property
    def tables(self) -> int:
        """Number of TABLE operators."""
        return 1 + 2 * len(self.windows)

    def evaluate(self, codes: npt.NDArray[np.integer[Any]]) -> Ints:
        """What the device computes, in output codes; ``codes`` int16 values, any shape."""
        total = lookup(self.core, codes)
        for window in self.windows:
            total = np.clip(total + lookup(window.table, lookup(window.warp, codes)), CODE_MIN, CODE_MAX)
        return total


def lookup(nodes: tuple[int, ...], codes: npt.NDArray[np.integer[Any]]) -> Ints:
    """An int16 TABLE and its RESCALE by 2^-7, as the device computes them (``ethos-u.md`` 5.5)."""
    table, x = np.array(nodes, np.int64), codes.astype(np.int64)
    index = (x - CODE_MIN) >> 7
    return np.asarray(((table[index] << 7) + (table[index + 1] - table[index]) * (x & 127) + 64) >> 7)


def plan(
    steps: Floats,
    goal_lsb: float = GOAL_LSB,
    limits: tuple[int, int] = (CODE_MIN, CODE_MAX),
    max_windows: int = MAX_WINDOWS,
) -> Segments:
    """The fewest tables that follow ``steps`` within ``goal_lsb``.

    Parameters
    ----------
    steps: the function at every code and at the virtual code 32768, in output steps, float64 [65537]; finite.
        Out-of-domain codes hold what should come out there, usually the value at the end of the domain.
    limits: the output's least and largest code; ``steps`` is clipped to them, as the quantized operator is.

    Raises
    ------
    ConfigError: even ``max_windows`` pairs of tables do not reach the goal; says how far they are from it.
    """
    if steps.shape != (POSITIONS,) or not np.isfinite(steps).all():
        raise ConfigError(f"expected {POSITIONS} finite values, got shape {list(steps.shape)}", cause=Cause.BAD_INPUT)
    wanted = np.clip(steps, *limits)
    if np.abs(np.diff(wanted)).max(initial=0.0) > CODE_MAX:
        raise ConfigError(
            "the function jumps by more than 32767 output steps between two codes, which no slope of a TABLE can hold",
            cause=Cause.UNSUPPORTED,
            hint="quantize the output symmetrically (-32767..32767), as 16a8w does, or clamp the input off the pole",
        )
    reached = math.inf
    for windows in range(max_windows + 1):
        parts = _parts(wanted, windows)
        found = _assemble(wanted, parts, windows)
        if found is not None:
            if found.max_lsb <= goal_lsb:
                return found
            reached = min(reached, found.max_lsb)
    raise ConfigError(
        f"no segmented table reaches {goal_lsb:g} output steps: the best of up to {max_windows} pairs of tables is off "
        f"by {reached:.2f}",
        cause=Cause.UNSUPPORTED,
        hint="calibrate on a narrower input range, or a wider output range: then a code moves the output less",
    )


def _sags(steps: Floats) -> Floats:
    """Half the largest distance to the chords, per slope and interval [slopes, 512]: what a fitted line leaves over."""
    codes = np.arange(STEP + 1)
    values = steps[np.arange(INTERVALS)[:, None] * STEP + codes]
    result = np.empty((len(_SLOPES), INTERVALS))
    for row, parts in enumerate(_SLOPES):
        nodes = np.arange(parts + 1) * (STEP / parts)
        left = np.minimum(nodes.astype(np.int64), STEP - 1)
        at_nodes = values[:, left] + (values[:, left + 1] - values[:, left]) * (nodes - left)
        part = np.minimum(codes * parts // STEP, parts - 1)
        share = (codes - nodes[part]) * (parts / STEP)
        chords = at_nodes[:, part] + (at_nodes[:, part + 1] - at_nodes[:, part]) * share
        result[row] = np.abs(values - chords).max(axis=1) / 2
    return result


def _parts(steps: Floats, windows: int) -> Ints:
    """Into how many parts each interval is cut [512], 0: left to the core; the most even error that the nodes allow."""
    if windows == 0:
        return np.zeros(INTERVALS, np.int64)
    sags = _sags(steps)
    slopes = np.array(_SLOPES)

    def cut(limit: float) -> Ints:
        enough = sags <= limit
        fewest = np.where(enough.any(axis=0), slopes[enough.argmax(axis=0)], STEP)
        return np.where(sags[0] <= limit, 0, fewest)

    capacity = _WINDOW_PARTS * windows
    low, high = _ENOUGH_LSB, float(sags[0].max())
    if cut(low).sum() <= capacity:
        return cut(low)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if cut(middle).sum() <= capacity else (middle, high)
    return cut(high)


def _assemble(steps: Floats, parts: Ints, windows: int) -> Segments | None:
    """Tables for that cut; None when their sum, or a slope, would leave int16, or the windows do not hold the parts."""
    owner = _owners(parts, windows)
    if owner is None:
        return None
    counts = np.maximum(parts, 1)
    starts = np.concatenate([[0], np.cumsum(counts)])
    positions = np.concatenate(
        [i * STEP + np.arange(n) * (STEP / n) for i, n in enumerate(counts.tolist())]
        + [np.array([float(POSITIONS - 1)])]
    )
    chain = _fit(steps, positions)
    rises = np.diff(chain)
    if np.abs(rises).max() > CODE_MAX:
        return None
    tables = _share_out(chain, parts, owner, starts, windows)
    if tables is None:
        return None
    found = Segments(tables[0], tables[1], 0.0)
    codes = np.arange(CODE_MIN, CODE_MAX + 1)
    error = float(np.abs(found.evaluate(codes) - steps[:-1]).max())
    return Segments(found.core, found.windows, error)


def _owners(parts: Ints, windows: int) -> Ints | None:
    """Which table follows each interval [512]: -1 the core, else the number of the window; in order, each filled up."""
    owner = np.full(INTERVALS, -1, np.int64)
    window, used = 0, 0
    for i, n in enumerate(parts.tolist()):
        if n == 0:
            continue
        if used + n > _WINDOW_PARTS:
            window, used = window + 1, 0
        if window >= windows:
            return None
        owner[i] = window
        used += n
    return owner


def _share_out(
    chain: Ints, parts: Ints, owner: Ints, starts: Ints, windows: int
) -> tuple[tuple[int, ...], tuple[Window, ...]] | None:
    """Give each rise of the chain to the table that owns it; all other tables stand still there."""
    warps = np.zeros((windows, NODES), np.int64)
    rises: list[list[int]] = [[] for _ in range(windows)]
    core = np.zeros(NODES, np.int64)
    for i, mine in enumerate(owner.tolist()):
        steps = np.diff(chain[starts[i] : starts[i + 1] + 1]).tolist()
        core[i + 1] = core[i]
        warps[:, i + 1] = warps[:, i]
        if mine < 0:
            core[i + 1] += steps[0]
        else:
            warps[mine, i + 1] += parts[i] * STEP
            rises[mine] += steps
    # Tables are free up to a constant each: every window's is centred, and the core takes the rest.
    pairs = []
    offset = int(chain[0])
    for mine in range(windows):
        table = np.zeros(NODES, np.int64)
        table[1 : len(rises[mine]) + 1] = np.cumsum(rises[mine])
        table[len(rises[mine]) + 1 :] = table[len(rises[mine])]
        middle = (int(table.max()) + int(table.min()) + 1) // 2
        offset += middle
        pairs.append((warps[mine] + CODE_MIN, table - middle))
    core += offset
    sums = core.copy()
    held = [_in_range(core)]
    for warp, table in pairs:
        # Only one table moves at a time, so the extremes of a partial sum lie on nodes, or inside a window's part.
        sums = sums + table[(warp - CODE_MIN) >> 7]
        held += [_in_range(table), _in_range(warp), _in_range(sums)]
    if not all(held):
        return None
    return _frozen(core), tuple(Window(_frozen(w), _frozen(t)) for w, t in pairs)


def _in_range(values: Ints) -> bool:
    return bool(values.min() >= CODE_MIN and values.max() <= CODE_MAX)


def _frozen(values: Ints) -> tuple[int, ...]:
    return tuple(int(v) for v in values)


def _fit(steps: Floats, positions: Floats) -> Ints:
    """Whole node values [positions] whose interpolation has the least largest error at the codes.

    A node may take three values around the curve lifted by half its sag; a state is a value of one node, a cost the
    largest error so far.
    """
    left = np.minimum(positions.astype(np.int64), POSITIONS - 2)
    on_curve = steps[left] + (steps[left + 1] - steps[left]) * (positions - left)
    values = np.rint(on_curve + _lift(steps, positions, on_curve)).astype(np.int64)
    states = np.clip(values[:, None] + np.array([-1, 0, 1]), CODE_MIN, CODE_MAX)
    cost, chosen = np.zeros(3), []
    firsts = np.ceil(positions - 1e-9).astype(np.int64)
    for k in range(positions.size - 1):
        codes = np.arange(firsts[k], firsts[k + 1])
        error = np.zeros((3, 3))
        if codes.size:
            fraction = np.rint((codes - positions[k]) * (STEP / (positions[k + 1] - positions[k]))).astype(np.int64)
            low, high = states[k][:, None, None], states[k + 1][None, :, None]
            error = np.abs((((low << 7) + (high - low) * fraction + 64) >> 7) - steps[codes]).max(axis=2)
        # The small second term prefers small errors also where they are not the largest.
        total = np.maximum(cost[:, None], error) + 1e-6 * error
        chosen.append(total.argmin(axis=0))
        cost = total.min(axis=0)
    state = int(cost.argmin())
    path = [state]
    for step in reversed(chosen):
        state = int(step[state])
        path.append(state)
    return np.asarray(states[np.arange(positions.size), np.array(path[::-1])])


def _lift(steps: Floats, positions: Floats, on_curve: Floats) -> Floats:
    """How far a node is moved off the curve [positions]: half the sag of its two chords, which halves their error."""
    lift, count = np.zeros(positions.size), np.zeros(positions.size)
    for k in range(positions.size - 1):
        codes = np.arange(math.ceil(positions[k]), math.floor(positions[k + 1]) + 1)
        if codes.size < 3:
            continue
        share = (codes - positions[k]) / (positions[k + 1] - positions[k])
        distance = steps[codes] - (on_curve[k] + (on_curve[k + 1] - on_curve[k]) * share)
        half = distance[np.abs(distance).argmax()] / 2
        lift[k : k + 2] += half
        count[k : k + 2] += 1
    return np.asarray(lift / np.maximum(count, 1))
