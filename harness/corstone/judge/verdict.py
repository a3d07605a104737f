"""What a verdict is made of. How it is reached is in the other files of this folder."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, is_dataclass
from typing import Any

from corstone.causes import Cause, Outcome

_CALLER = {
    Cause.CONFIGURATION,
    Cause.BAD_INPUT,
    Cause.BAD_PROGRAM,
    Cause.WRONG_TARGET,
    Cause.NO_DELEGATE,
    Cause.UNSUPPORTED,
    Cause.NOT_WRITABLE,
}


@dataclass(frozen=True)
class WorstElement:
    """One differing element: where, what went in, what should have come and what came.

    ``input_code`` is the quantized input where the input is quantized and elementwise, else None; ``distance_lsb``
    is in steps of the output's scale, or in units in the last place of the dtype where there is no scale.
    ``expected_code`` and ``got_code`` are the output codes where the output is quantized and the value is one.
    """

    index: tuple[int, ...]
    expected: float
    got: float
    distance_lsb: float
    input_value: float | None = None
    input_code: int | None = None
    expected_code: int | None = None
    got_code: int | None = None


@dataclass(frozen=True)
class RegionResult:
    """One region of a budget: how many elements fell into it, their largest error and the share of the budget used."""

    name: str
    count: int
    max_lsb: float
    budget_lsb: float
    share: float
    reason: str


@dataclass(frozen=True)
class StageDistance:
    """How far one stage's answer is from the stage before it, over all elements of all outputs.

    ``differing`` counts elements that moved by more than half an LSB; ``first_index`` is the flat index of the first of
    them, in output ``first_output``, None when there is none. ``worst_index`` is the flat index of the largest step,
    in output ``worst_output``, None when nothing moved.
    """

    earlier: str
    later: str
    max_lsb: float
    max_abs: float
    differing: int
    worst_index: int | None = None
    worst_output: int = 0
    first_index: int | None = None
    first_output: int = 0


@dataclass(frozen=True)
class Comparison:
    """One output against one reference.

    ``exact`` says that every bit had to agree. ``budget_lsb`` is None for exact comparisons; ``budget_share`` is the
    largest error over its budget (1.0 = used up), taken per region of the budget (``regions`` has them all).
    """

    reference: str
    output: int
    count: int
    differing: int
    max_lsb: float
    max_abs: float
    exact: bool
    passed: bool
    budget_lsb: float | None = None
    budget_share: float | None = None
    worst: tuple[WorstElement, ...] = ()
    note: str = ""
    regions: tuple[RegionResult, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The outcome of one case, with its reason in words and the evidence it rests on."""

    outcome: Outcome
    cause: Cause
    reason: str
    hint: str = ""
    comparisons: tuple[Comparison, ...] = ()
    first_difference: str = ""
    stages: tuple[StageDistance, ...] = ()
    notes: tuple[str, ...] = ()
    evidence: dict[str, str] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """Exit status of the ``corstone`` command for this verdict (0 to 5)."""
        if self.outcome is Outcome.PASSED:
            return 0
        if self.outcome is Outcome.FAILED:
            return 1
        if self.outcome is Outcome.SKIPPED or self.cause in {Cause.NO_DEVICE, Cause.NOTHING_RAN}:
            return 5
        if self.outcome is Outcome.ERROR:
            return 2 if self.cause in _CALLER else 3
        return 4

    def to_json(self) -> dict[str, Any]:
        """Plain data for reports: NaN and infinities become the words ``NaN``, ``Infinity`` and ``-Infinity``.

        JSON has no such numbers, and a browser refuses a file that holds them.
        """
        # One pass without the copies of ``asdict``: every finished test goes through here.
        plain: dict[str, Any] = _without_nonfinite(self)
        return plain

    @staticmethod
    def from_json(data: dict[str, Any]) -> Verdict:
        """Inverse of ``to_json``; fields that a newer version added are ignored, missing ones take their default."""
        data = _known(Verdict, data)
        comparisons = tuple(_comparison(_with_nonfinite(c)) for c in data.pop("comparisons", ()))
        stages = tuple(StageDistance(**_known(StageDistance, _with_nonfinite(s))) for s in data.pop("stages", ()))
        return Verdict(
            outcome=Outcome(data.pop("outcome")),
            cause=Cause(data.pop("cause")),
            comparisons=comparisons,
            stages=stages,
            notes=tuple(data.pop("notes", ())),
            **data,
        )


def _comparison(data: dict[str, Any]) -> Comparison:
    data = _known(Comparison, data)
    data["worst"] = tuple(
        WorstElement(**{**_known(WorstElement, w), "index": tuple(w["index"])}) for w in data.get("worst", ())
    )
    data["regions"] = tuple(RegionResult(**_known(RegionResult, r)) for r in data.get("regions", ()))
    return Comparison(**data)


def _known(kind: Any, data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name in kind.__dataclass_fields__}


_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_PLAIN = frozenset({str, int, bool, type(None)})
# Only these fields are numbers: text that happens to say "NaN" stays text.
_NUMBERS = {
    "expected", "got", "distance_lsb", "input_value", "max_lsb", "max_abs", "budget_lsb", "budget_share", "share",
}  # fmt: skip


def _without_nonfinite(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    if is_dataclass(value):
        return {k: _without_nonfinite(v) for k, v in vars(value).items()}
    if isinstance(value, dict):
        return {k: _without_nonfinite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nonfinite(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def _with_nonfinite(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {k: _with_nonfinite(v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_nonfinite(v, name) for v in value]
    if isinstance(value, str) and name in _NUMBERS:
        return _WORDS.get(value, value)
    return value
