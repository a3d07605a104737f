"""One program on many inputs, booted together: how far each answer is from float64, and whether it keeps its budget.

One judged input says little of a network's rounding. Leaves out exact references: ``corstone check`` compares bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.boards import BootRequest
from corstone.boards.many import boot_many
from corstone.capture import Capture
from corstone.causes import Outcome
from corstone.judge.accuracy import compare_accuracy
from corstone.judge.budget import Budget, default_budget
from corstone.judge.structure import arrays
from corstone.judge.verdict import Comparison
from corstone.program import Program, QParams

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Judged:
    """One input set: its capture, and the float comparison of each output (none where the device gave no answer)."""

    capture: Capture
    comparisons: tuple[Comparison, ...]
    outputs: tuple[Array, ...]

    @property
    def passed(self) -> bool:
        """It ran, and each output kept its budget."""
        ran = self.capture.ending.outcome is Outcome.PASSED
        return ran and all(comparison.passed for comparison in self.comparisons)

    @property
    def lsb(self) -> float:
        """The largest distance in output steps; infinite where there is no answer."""
        return max((comparison.max_lsb for comparison in self.comparisons), default=float("inf"))


def judge_many(
    program: Program,
    sets: Sequence[Sequence[Array]],
    exact: Sequence[Sequence[Array]],
    folder: Path,
    budgets: Sequence[Budget] = (),
    **device: Any,
) -> list[Judged]:
    """Boot ``program`` on each set and compare each answer with ``exact``, its float64 outputs, as ``judge`` does.

    Parameters
    ----------
    sets: arrays in the dtypes and shapes of the program's inputs.
    budgets: as ``judge`` takes them, without regions of the input; none: its default where an output is quantized.
    device: fields of ``BootRequest``, such as ``provider``.

    Raises
    ------
    ConfigError, ToolError: as ``boot_many``.
    """
    given = [tuple(np.ascontiguousarray(x).tobytes() for x in one) for one in sets]
    captures = boot_many(BootRequest(program, (), folder, **device), given)
    qparams = list(program.output_qparams) or [None] * len(program.outputs)
    return [
        _judged(capture, program, qparams, answer, budgets) for capture, answer in zip(captures, exact, strict=True)
    ]


def _judged(
    capture: Capture, program: Program, qparams: list[QParams | None], exact: Sequence[Array], budgets: Sequence[Budget]
) -> Judged:
    if capture.ending.outcome is not Outcome.PASSED:
        return Judged(capture, (), ())
    outputs = tuple(arrays(capture.output_bytes(), program.outputs))
    found = []
    for i, (expected, got, q) in enumerate(zip(exact, outputs, qparams, strict=True)):
        chosen = list(budgets) or ([default_budget(q.qmin, q.qmax)] if q is not None else [])
        wide = np.asarray(expected, np.float64).reshape(got.shape)
        found.append(compare_accuracy(i, wide, got, q, None, chosen, None).comparison)
    return Judged(capture, tuple(found), outputs)
