"""What a verdict is made of. How it is reached is in the other files of this folder."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
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
    """

    index: tuple[int, ...]
    expected: float
    got: float
    distance_lsb: float
    input_value: float | None = None
    input_code: int | None = None


@dataclass(frozen=True)
class Comparison:
    """One output against one reference.

    ``exact`` says that every bit had to agree. ``budget_lsb`` is None for exact comparisons; ``budget_share`` is the
    largest error over its budget (1.0 = used up), taken per region of the budget.
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


@dataclass(frozen=True)
class Verdict:
    """The outcome of one case, with its reason in words and the evidence it rests on."""

    outcome: Outcome
    cause: Cause
    reason: str
    hint: str = ""
    comparisons: tuple[Comparison, ...] = ()
    first_difference: str = ""
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
        """Plain data for reports."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> Verdict:
        """Inverse of ``to_json``."""
        data = dict(data)
        comparisons = tuple(
            Comparison(
                **{
                    **c,
                    "worst": tuple(WorstElement(**{**w, "index": tuple(w["index"])}) for w in c["worst"]),
                }
            )
            for c in data.pop("comparisons")
        )
        return Verdict(
            outcome=Outcome(data.pop("outcome")),
            cause=Cause(data.pop("cause")),
            comparisons=comparisons,
            notes=tuple(data.pop("notes")),
            **data,
        )
