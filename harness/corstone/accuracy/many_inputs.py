"""One program on many inputs, booted together: how far each answer is from float64, and the budget's verdict on each.

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
from corstone.judge.budget import Budget
from corstone.judge.decide import judge
from corstone.judge.reference import FLOAT, ReferenceResult
from corstone.judge.structure import arrays
from corstone.judge.verdict import Verdict
from corstone.program import Program

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Judged:
    """One input set: its capture, the verdict of the float comparison, and the distance in output steps.

    ``lsb`` is the largest over the outputs; infinite where the device gave no answer.
    """

    capture: Capture
    verdict: Verdict
    lsb: float

    @property
    def passed(self) -> bool:
        """Ran, and kept its budget."""
        return self.verdict.outcome is Outcome.PASSED

    def outputs(self, program: Program) -> list[Array]:
        """What the device answered, in the program's dtypes and shapes."""
        return arrays(self.capture.output_bytes(), program.outputs)


def judge_many(
    program: Program,
    sets: Sequence[Sequence[Array]],
    exact: Sequence[Sequence[Array]],
    folder: Path,
    budgets: Sequence[Budget] = (),
    **device: Any,
) -> list[Judged]:
    """Boot ``program`` on each set and judge each answer against ``exact``, its float64 outputs.

    Parameters
    ----------
    sets: arrays in the dtypes and shapes of the program's inputs.
    budgets: as ``judge`` takes them; none: its default.
    device: fields of ``BootRequest``, such as ``provider``.

    Raises
    ------
    ConfigError, ToolError: as ``boot_many``.
    """
    given = [tuple(np.ascontiguousarray(x).tobytes() for x in one) for one in sets]
    captures = boot_many(BootRequest(program, (), folder, **device), given)
    found = []
    for capture, answer in zip(captures, exact, strict=True):
        reference = ReferenceResult(FLOAT, tuple(np.asarray(x, np.float64) for x in answer))
        verdict = judge(capture, program, [reference], budgets)
        real = [c.max_lsb for c in verdict.comparisons if c.reference == FLOAT]
        found.append(Judged(capture, verdict, max(real, default=float("inf"))))
    return found
