"""Compares stored results of the same networks: two versions, two targets, FVP and emulator; differences by code.

Each side is what one environment wrote: a run's folder, one capture, or a ``report.json`` beside its cases. Nothing is
run. Cases are paired by id; what is left, by network, width, policy and stimulus, so that targets and boards may
differ. An expected failure that passes now is *news*: a difference like any other. Needs no torch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError
from corstone.judge.codes import quantize, real_values
from corstone.judge.divergences import divergence_notes
from corstone.judge.elements import input_view
from corstone.judge.stored import Question
from corstone.judge.structure import arrays
from corstone.program import Program, QParams
from corstone.report.record import CaseRecord

Array = npt.NDArray[Any]
SCHEMA = 1
KEPT = 256
"""Differing elements kept of an output; their number is always the whole one."""


class Kind(StrEnum):
    """What a pair of cases shows, worst first."""

    MISSING = "missing"
    WORSE = "worse"
    BITS = "other bits"
    NEWS = "news"
    VERDICT = "other verdict"
    SAME = "same"


@dataclass(frozen=True)
class Element:
    """One differing element; codes are None where a tensor is not quantized, the input where it has no counterpart."""

    index: int
    input_code: int | None
    input_value: float | None
    a_code: int | None
    b_code: int | None
    a_value: float
    b_value: float


@dataclass(frozen=True)
class OutputDifference:
    """One output: how many of ``count`` elements differ, by how many of A's output steps, which (first ``KEPT``)."""

    output: int
    count: int
    differing: int
    max_lsb: float
    elements: tuple[Element, ...]
    note: str = ""


@dataclass(frozen=True)
class Pair:
    """Two results of one network. ``a`` and ``b`` are case ids, empty where one side has none."""

    kind: Kind
    name: str
    a: str
    b: str
    message: str
    outputs: tuple[OutputDifference, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparisonReport:
    """All pairs, worst first, and the versions in which the sides differ: tool to (A's, B's)."""

    a: str
    b: str
    pairs: tuple[Pair, ...]
    versions: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def same(self) -> bool:
        """Whether nothing at all differs; no pair at all is not the same."""
        return bool(self.pairs) and all(p.kind is Kind.SAME for p in self.pairs)

    @property
    def only_news(self) -> bool:
        """Whether all that differs got better."""
        return bool(self.pairs) and all(p.kind in (Kind.SAME, Kind.NEWS) for p in self.pairs)

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers that JSON lacks become words."""
        return {"schema": SCHEMA, "same": self.same, **_plain(asdict(self))}


@dataclass(frozen=True)
class Case:
    """One stored result: its record, and the capture's folder where it is there."""

    record: CaseRecord
    folder: Path | None

    @property
    def network(self) -> tuple[str, int, str, str]:
        """What must be the same on both sides."""
        return self.record.network, self.record.bits, self.record.policy, self.record.stimulus


def compare(a: Path, b: Path | None = None) -> ComparisonReport:
    """Compare two sides; with one, every target and provider in it with the first of the same network.

    Raises
    ------
    ConfigError: nothing stored there, or a file that cannot be read.
    """
    first = load_cases(a)
    if b is None:
        pairs, versions = _within(first), {}
    else:
        second = load_cases(b)
        pairs, versions = _across(first, second), _version_changes(first, second)
    order = list(Kind)
    return ComparisonReport(
        a.name, "" if b is None else b.name, tuple(sorted(pairs, key=lambda p: order.index(p.kind))), versions
    )


def load_cases(place: Path) -> list[Case]:
    """The cases of a folder or a JSON file of results.

    Raises
    ------
    ConfigError: as ``compare``.
    """
    if not place.exists():
        raise ConfigError(f"there is no {place}", cause=Cause.BAD_INPUT)
    try:
        if place.is_dir():
            cases = [_case(path.parent) for path in sorted(place.rglob("record.json"))]
        else:
            rows = json.loads(place.read_text())["cases"]
            cases = [Case(r := CaseRecord.from_json(row), _beside(place, r)) for row in rows]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the results in {place} cannot be read: {type(error).__name__}: {error}", cause=Cause.BAD_INPUT
        ) from error
    if not cases:
        raise ConfigError(
            f"{place} holds no results", cause=Cause.BAD_INPUT, hint="give the --out folder of `corstone check`"
        )
    return cases


def _case(folder: Path) -> Case:
    record = CaseRecord.from_json(json.loads((folder / "record.json").read_text()))
    return Case(record, folder if (folder / "capture.json").is_file() else None)


def _beside(file: Path, record: CaseRecord) -> Path | None:
    """The capture of a record: results may have been moved with their JSON file, or made elsewhere."""
    places = [file.parent / "cases" / record.case_id, *([Path(record.capture)] if record.capture else [])]
    return next((place for place in places if (place / "capture.json").is_file()), None)


_SAME: tuple[Callable[[Case], Hashable], ...] = (
    lambda c: c.record.case_id,
    lambda c: (c.network, c.record.target),
    lambda c: c.network,
)


def _across(a: Sequence[Case], b: Sequence[Case]) -> list[Pair]:
    left, right = list(a), list(b)
    pairs = []
    for same in _SAME:
        for case in list(left):
            partners = [other for other in right if same(other) == same(case)]
            # Without an id in common, only what is unambiguous is a pair.
            if len(partners) == 1 and sum(same(c) == same(case) for c in left) == 1:
                pairs.append(_pair(case, partners[0]))
                left.remove(case)
                right.remove(partners[0])
    for case, side in [*((c, "A") for c in left), *((c, "B") for c in right)]:
        ids = (case.record.case_id, "") if side == "A" else ("", case.record.case_id)
        pairs.append(Pair(Kind.MISSING, case.record.case_id, *ids, f"only {side} has it"))
    return pairs


def _within(cases: Sequence[Case]) -> list[Pair]:
    first: dict[tuple[str, int, str, str], Case] = {}
    pairs = []
    for case in cases:
        other = first.setdefault(case.network, case)
        if other is not case:
            pairs.append(_pair(other, case))
    if not pairs:
        raise ConfigError(
            "one side was given, and no network in it has two results",
            cause=Cause.BAD_INPUT,
            hint="give two folders, or results of several targets",
        )
    return pairs


def _pair(a: Case, b: Case) -> Pair:
    outputs, notes = _outputs(a, b)
    differing = tuple(o for o in outputs if o.differing)
    was, now = a.record.verdict, b.record.verdict
    known = _known_divergences(a, b)
    changed = f"{was.outcome} ({was.cause}) in A, {now.outcome} ({now.cause}) in B"
    if now.outcome is Outcome.PASSED and was.outcome not in (Outcome.PASSED, Outcome.SKIPPED):
        kind, message = Kind.NEWS, f"an expected failure passes now: {changed}"
    elif now.outcome.severity < was.outcome.severity:
        kind, message = Kind.WORSE, f"{changed}: {now.reason}"
    elif known and outputs and not differing and _providers(a, b) == {"fvp", "emulator"}:
        kind, message = Kind.NEWS, "a known divergence is not seen: FVP and emulator answer the same"
    elif differing:
        kind, message = Kind.BITS, "; ".join(_summary(o) for o in differing)
    elif (was.outcome, was.cause) != (now.outcome, now.cause):
        kind, message = Kind.VERDICT, changed
    elif not outputs and was.outcome is Outcome.PASSED:
        kind, message = Kind.MISSING, "the outputs cannot be compared: " + "; ".join(notes)
    else:
        kind, message = Kind.SAME, f"{was.outcome}, every element of {len(outputs)} outputs is the same"
    name = " / ".join(dict.fromkeys((a.record.case_id, b.record.case_id)))
    return Pair(kind, name, a.record.case_id, b.record.case_id, message, differing, (*notes, *known))


def _summary(difference: OutputDifference) -> str:
    worst = f", by up to {difference.max_lsb:.4g} output steps" if np.isfinite(difference.max_lsb) else ""
    return f"output {difference.output}: {difference.differing} of {difference.count} elements differ{worst}"


def _providers(a: Case, b: Case) -> set[str]:
    return {c.record.executor.kind for c in (a, b) if c.record.executor}


def _known_divergences(a: Case, b: Case) -> tuple[str, ...]:
    found: list[str] = []
    for case in (a, b):
        if case.folder is not None:
            found += divergence_notes(case.record.target, Question.load(case.folder).operators)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class _Side:
    """Arrays of one capture."""

    program: Program
    inputs: list[Array]
    outputs: list[Array]

    def qparams(self, output: int) -> QParams | None:
        return self.program.output_qparams[output] if self.program.output_qparams else None


def _side(case: Case) -> _Side | str:
    """The arrays of a case, or why there are none."""
    if case.folder is None or not (case.folder / "program.json").is_file():
        return f"{case.record.case_id} has no capture here"
    capture, program = Capture.load(case.folder), Program.load(case.folder / "program.json")
    try:
        raw, given = capture.output_bytes(), capture.input_bytes()
    except OSError as error:
        return f"{case.record.case_id}: {error.strerror}: {error.filename}"
    if [len(x) for x in raw] != [s.size_bytes for s in program.outputs]:
        return f"{case.record.case_id}: its outputs are not complete"
    inputs = list(arrays(given, program.inputs)) if len(given) == len(program.inputs) else []
    return _Side(program, inputs, list(arrays(raw, program.outputs)))


def _outputs(a: Case, b: Case) -> tuple[tuple[OutputDifference, ...], tuple[str, ...]]:
    sides = _side(a), _side(b)
    reasons = tuple(s for s in sides if isinstance(s, str))
    first, second = sides
    if reasons or isinstance(first, str) or isinstance(second, str):
        return (), reasons
    if [x.shape for x in first.outputs] != [x.shape for x in second.outputs]:
        return (), ("the outputs have other shapes",)
    notes = list(_scale_changes(first.program, second.program))
    same_inputs = [x.tobytes() for x in first.inputs] == [x.tobytes() for x in second.inputs]
    if not same_inputs:
        aligned = all(_codes_of(s, s.outputs[0].size) is not None for s in (first, second) if s.outputs)
        if not aligned or not _same_codes(first, second):
            return (), (*notes, "the inputs differ, so the outputs say nothing about each other")
        notes.append("the inputs have other scales: elements are compared by their codes")
    return tuple(_difference(i, first, second) for i in range(len(first.outputs))), tuple(notes)


def _codes_of(side: _Side, count: int) -> npt.NDArray[np.int64] | None:
    qparams = side.program.input_qparams[0] if side.program.input_qparams else None
    view = input_view(side.inputs, qparams, count)
    return None if view is None else view.codes


def _same_codes(a: _Side, b: _Side) -> bool:
    first, second = (_codes_of(s, s.outputs[0].size) for s in (a, b))
    return first is not None and second is not None and np.array_equal(first, second)


def _scale_changes(a: Program, b: Program) -> Iterable[str]:
    for what, mine, theirs in (
        ("input", a.input_qparams, b.input_qparams),
        ("output", a.output_qparams, b.output_qparams),
    ):
        for i, (p, q) in enumerate(zip(mine, theirs, strict=False)):
            if p != q:
                yield f"{what} {i} is quantized in another way: {_words(p)} in A, {_words(q)} in B"


def _words(q: QParams | None) -> str:
    return "not at all" if q is None else f"scale {q.scale:.9g}, zero point {q.zero_point}, {q.qmin}..{q.qmax}"


def _difference(output: int, a: _Side, b: _Side) -> OutputDifference:
    x, y = a.outputs[output].reshape(-1), b.outputs[output].reshape(-1)
    p, q = a.qparams(output), b.qparams(output)
    bits = np.uint8
    equal = (
        (x.view(bits).reshape(x.size, -1) == y.view(bits).reshape(y.size, -1)).all(axis=1)
        if x.dtype == y.dtype and x.size
        else np.zeros(x.size, np.bool_)
    )
    where = np.flatnonzero(~equal)
    left, right = real_values(x, p), real_values(y, q)
    with np.errstate(invalid="ignore", over="ignore"):
        steps = np.abs(left - right)[where] / (p.scale if p is not None else 1.0)
    steps = np.where(np.isnan(steps), np.inf, steps)
    view = input_view(a.inputs, a.program.input_qparams[0] if a.program.input_qparams else None, x.size)
    # By input code where there is one, so that neighbours in the table stand together.
    order = where if view is None or view.codes is None else where[np.argsort(view.codes[where], kind="stable")]
    elements = tuple(
        Element(
            index=int(at),
            input_code=None if view is None or view.codes is None else int(view.codes[at]),
            input_value=None if view is None else float(view.values[at]),
            a_code=_code(x[at], p),
            b_code=_code(y[at], q),
            a_value=float(left[at]),
            b_value=float(right[at]),
        )
        for at in order[:KEPT]
    )
    note = "" if where.size <= KEPT else f"the first {KEPT} of {where.size} are listed"
    return OutputDifference(output, x.size, int(where.size), float(steps.max(initial=0.0)), elements, note)


def _code(value: Any, q: QParams | None) -> int | None:
    if isinstance(value, np.integer):
        return int(value)
    return None if q is None or not np.isfinite(value) else int(quantize(np.array([value]), q)[0])


def _version_changes(a: Sequence[Case], b: Sequence[Case]) -> dict[str, tuple[str, str]]:
    mine, theirs = ({k: v for c in side for k, v in c.record.versions.items()} for side in (a, b))
    return {
        tool: (mine.get(tool, "-"), theirs.get(tool, "-"))
        for tool in sorted(mine.keys() | theirs.keys())
        if mine.get(tool) != theirs.get(tool)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
