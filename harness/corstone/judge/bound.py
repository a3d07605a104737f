"""What one operator's program can be held to at each input, from its function and its parameters alone.

Three parts, in output steps: what rounding the input to its code is worth there; how far straight lines between *right*
nodes are from the function at that code (int16); and rounding. The entries that a program really holds are not looked
at, so a wrong one is over the bound of the codes that it answers, however wide the budget of its region is. A node at
a pole, or outside the domain, allows nothing to the codes beside it: no line from infinity follows a function.

Towards a pole a function leaves every output range. There, and nowhere else, its value is the end of the range: an
answer that is clipped anywhere else is an error. Leaves out budgets of regions (``budget``) and judging (``accuracy``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy.tables import table_codes, values_of
from corstone.judge.codes import quantize
from corstone.program import Program, QParams
from corstone.quantize.domains import UNARY, Unary, operator_name, unary
from corstone.quantize.segments import GOAL_LSB

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

HALF, ROOM = 0.5, 0.05
"""Each rounding moves by up to half a step; float32, which entries and answers are computed in, adds a little."""
_ENDS = 1.0
"""The ends of both ranges are rounded to codes, half a step each, and the last answer is clipped by as much."""
_TIE = 1e-3
_AGREES_LSB = 0.05
_SPLIT = {"table16", "add"}
_NAMED: Mapping[str, tuple[str, tuple[float, ...]]] = {"pow03": ("pow", (0.3,))}


@dataclass(frozen=True)
class Limits:
    """Of elements [N]: the float64 value, the value to compare with (a pole's side of the range is its end), and LSB.

    ``held`` are those whose value lies beyond the output's range towards a pole; ``pole`` those whose code lies beside
    a node that has no finite value.
    """

    value: Floats
    expected: Floats
    allowed: Floats
    held: Bools
    pole: Bools

    def towards_pole(self, exact: Floats) -> Floats:
        """Float's answers [N], the range's end where they leave the output's range towards a pole."""
        return np.where(self.held, self.expected, exact)


@dataclass(frozen=True)
class Bound:
    """One operator, its parameters (``input``, ``output``) and those of the program around it (``given``, ``taken``).

    ``segmented``: its tables were planned to follow it within ``GOAL_LSB`` at every code.
    """

    operator: str
    constants: tuple[Any, ...]
    given: QParams
    input: QParams
    output: QParams
    taken: QParams
    segmented: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"constants": list(self.constants)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Bound:
        """Inverse of ``to_json``."""
        scales = {name: QParams(**data[name]) for name in ("given", "input", "output", "taken")}
        return Bound(data["operator"], tuple(data["constants"]), segmented=data["segmented"], **scales)

    @property
    def function(self) -> Unary:
        """The operator; raises ValueError for one that is unknown."""
        found = unary(self.operator, self.constants)
        if found is None:
            raise ValueError(f"no such operator: {self.operator} {self.constants}")
        return found

    @property
    def bits(self) -> int:
        """Width of the operator's input."""
        return 8 if self.input.dtype == "int8" else 16

    @cached_property
    def _codes(self) -> Ints:
        return np.arange(self.input.qmin, self.input.qmax + 1)

    @cached_property
    def _at_codes(self) -> Floats:
        """The function at every code [codes], output codes, before clipping; NaN outside the domain."""
        return self._steps(values_of(self._codes, self.input))

    @cached_property
    def _near(self) -> Bools:
        """Codes towards a pole [codes]: the one beside it, those with an answer beyond the range, and the next."""
        beyond = self._beyond(self._at_codes)
        near = np.zeros(beyond.size, np.bool_)
        for pole in self.function.poles:
            at = pole / float(np.float32(self.input.scale)) + self.input.zero_point - self.input.qmin
            if not -1.5 <= at <= beyond.size + 0.5:
                continue
            for first, step in ((int(np.ceil(at - 1e-6)), 1), (int(np.floor(at + 1e-6)), -1)):
                here = min(max(first, 0), beyond.size - 1)
                while 0 <= here < beyond.size and beyond[here]:
                    near[here] = True
                    here += step
                if 0 <= here < beyond.size:
                    near[here] = True
        return near

    def _steps(self, x: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(self.function(x) / float(np.float32(self.output.scale)) + self.output.zero_point)

    def _beyond(self, steps: Floats) -> Bools:
        return np.asarray((steps > self.output.qmax) | (steps < self.output.qmin))

    def codes_of(self, x: Floats) -> Ints:
        """The operator's input code of real inputs, through the program's own where that differs."""
        codes = quantize(x, self.given)
        if self.given == self.input:
            return codes
        return quantize(values_of(codes, self.given).astype(np.float32), self.input)

    def limits(self, x: Floats, codes: Ints | None = None) -> Limits:
        """Of real inputs, any shape; ``codes``: what each becomes at the operator, where that is not its own code."""
        codes = self.codes_of(x) if codes is None else codes
        row = codes - self.input.qmin
        raw = self._steps(x)
        held = self._beyond(raw) & (self._near[row] | np.isinf(raw))
        steps = np.where(held, np.clip(raw, self.output.qmin, self.output.qmax), raw)
        own, pole = self._of_codes
        allowed = np.fmax(np.abs(steps - self._held_at(row)), 0.0) + own[row]
        if self.given != self.input:
            # The device rounds with an integer multiplier: half way between two codes it may take either.
            exact = values_of(quantize(x, self.given), self.given) / self.input.scale
            tie = np.abs(np.abs(exact - np.floor(exact)) - HALF) < _TIE
            for step in (-1, 1):
                other = np.clip(row + step, 0, self._codes.size - 1)
                there = np.fmax(np.abs(steps - self._held_at(other)), 0.0) + own[other]
                allowed = np.where(tie, np.fmax(allowed, there), allowed)
        ratio = self.output.scale / self.taken.scale
        allowed = allowed * ratio + (HALF if self.output != self.taken else 0.0)
        scale, zero = float(np.float32(self.output.scale)), self.output.zero_point
        return Limits((raw - zero) * scale, (steps - zero) * scale, allowed, held, pole[row])

    def _held_at(self, row: Ints) -> Floats:
        """The function at codes, what lies towards a pole held at the range's end; NaN allows nothing."""
        at = self._at_codes
        if self.segmented:
            known = np.flatnonzero(~np.isnan(at))
            after = known[np.minimum(np.searchsorted(known, np.arange(at.size)), known.size - 1)]
            before = known[np.maximum(np.searchsorted(known, np.arange(at.size), side="right") - 1, 0)]
            places = np.arange(at.size)
            at = at[np.where(np.abs(after - places) < np.abs(places - before), after, before)]
        clipped = np.clip(at, self.output.qmin, self.output.qmax)
        return np.asarray(np.where(self._near & self._beyond(at), clipped, at)[row])

    @cached_property
    def _of_codes(self) -> tuple[Floats, Bools]:
        """Interpolation and rounding of each code [codes], and whether a node beside it has no finite value."""
        at = self._held_at(np.arange(self._codes.size))
        over = np.nan_to_num(np.maximum(at - self.output.qmax, self.output.qmin - at), nan=0.0, posinf=0.0)
        ends = np.clip(over, 0.0, _ENDS)
        if self.bits == 8:
            return ends + HALF + ROOM, np.zeros(self._codes.size, np.bool_)
        if self.segmented:
            return ends + GOAL_LSB + ROOM, np.zeros(self._codes.size, np.bool_)
        nodes = self._steps(values_of(table_codes(16), self.input))
        held = np.clip(nodes, self.output.qmin, self.output.qmax)
        left, share = (self._codes + 32768) >> 7, (self._codes & 127) / 128
        right = np.where(share > 0, left + 1, left)
        line = held[left] + (held[right] - held[left]) * share
        pole = ~(np.isfinite(nodes[left]) & np.isfinite(nodes[right]))
        between = np.where(pole, 0.0, np.nan_to_num(np.abs(line - at), nan=0.0, posinf=0.0))
        return ends + between + 2 * HALF + ROOM, pole & (share > 0)


def bound_of(program: Program) -> Bound | None:
    """The bound of a program that is one operator between its input and its output; else None.

    ``segmented`` programs no longer name their operator: they have one where the registry does.
    """
    from corstone.judge.fake import one_operator

    given, taken = program.input_qparams[:1], program.output_qparams[:1]
    if len(given) != 1 or len(taken) != 1 or given[0] is None or taken[0] is None:
        return None
    use = one_operator(program)
    if use is not None and use.input is not None and use.output is not None:
        return Bound(use.operator, use.constants, given[0], use.input, use.output, taken[0])
    return _split(program, given[0], taken[0])


def _split(program: Program, given: QParams, taken: QParams) -> Bound | None:
    kind, _, name = program.source.partition(":")
    path = program.pte.parent / "operators.json"
    if kind != "network" or program.policy != "segmented" or not path.is_file():
        return None
    operator, constants = _NAMED.get(name, (name, ()))
    made = {operator_name(row["target"]) for row in json.loads(path.read_text())}
    if not made <= _SPLIT or (operator not in UNARY and not constants):
        return None
    return Bound(operator, constants, given, given, taken, taken, segmented=True)


def limits_where(bound: Bound | None, x: Floats, exact: Floats) -> Limits | None:
    """What the codes of inputs ``x`` [N] allow; None where float's answers are not those of the operator."""
    if bound is None:
        return None
    limits = bound.limits(x)
    return limits if agrees(limits, exact, bound.taken) else None


def agrees(limits: Limits, reference: Floats, taken: QParams) -> bool:
    """Whether the float reference is that operator, element by element: a network may do more than one operator."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(reference - limits.value) > _AGREES_LSB * taken.scale + 1e-6 * np.abs(reference)
    return not bool((apart & np.isfinite(reference) & np.isfinite(limits.value)).any())
