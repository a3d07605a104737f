"""How a plain (float) program is judged: by its distance to float64 alone.

Its outputs have no scale, and float arithmetic no bits that two executors must share. The distance is counted in steps
of 2^-10 of the output's largest value (at least 1).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.capture import Capture
from corstone.judge.budget import EVERYWHERE, Budget
from corstone.program import Program, QParams

BUDGET = Budget(
    EVERYWHERE,
    2.0,
    "a plain graph is judged in steps of 2^-10 of its largest output: ExecuTorch's polynomials for acos and asin are "
    "off by 1.3 of them near the ends of the domain",
)


def is_plain(capture: Capture, program: Program) -> bool:
    """A float graph on a host target."""
    return capture.executor.kind == "host" and not program.bits


def steps_of(expected: npt.NDArray[Any]) -> QParams:
    """The step that distances to ``expected`` are counted in."""
    finite = np.abs(expected[np.isfinite(expected)])
    largest = max(1.0, float(finite.max(initial=0.0)))
    return QParams(largest * 2.0**-10, 0, -(1 << 31), (1 << 31) - 1, "float32")
