"""Domains: where a network means something, and which quantized codes lie outside.

Leaves out the guard, which scans whole graphs and table nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.codes import dequantize, quantize
from corstone.program import QParams


@dataclass(frozen=True)
class Domain:
    """An interval of real input values; ``lo_open`` and ``hi_open`` say that the end itself is outside.

    ``declared`` is False where nobody stated a domain and the range of the calibration inputs stands in for it: it then
    says which inputs float is asked for, and is no ground for a finding.
    """

    lo: float = -math.inf
    hi: float = math.inf
    lo_open: bool = False
    hi_open: bool = False
    declared: bool = True

    def holds(self, values: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.bool_]:
        """Element-wise membership; NaN is outside."""
        above = values > self.lo if self.lo_open else values >= self.lo
        below = values < self.hi if self.hi_open else values <= self.hi
        result: npt.NDArray[np.bool_] = above & below
        return result

    def __str__(self) -> str:
        left = "(" if self.lo_open or math.isinf(self.lo) else "["
        right = ")" if self.hi_open or math.isinf(self.hi) else "]"
        return f"{left}{self.lo:g}, {self.hi:g}{right}"


def codes_of_domain(domain: Domain, qparams: QParams) -> npt.NDArray[np.int64]:
    """Codes that inputs of the domain round to, int64 [N], ascending."""
    # Just inside an open end: the nearest float32 is as close as an input can come.
    lo = np.nextafter(np.float32(domain.lo), np.float32(math.inf)) if domain.lo_open else np.float32(domain.lo)
    hi = np.nextafter(np.float32(domain.hi), np.float32(-math.inf)) if domain.hi_open else np.float32(domain.hi)
    first = qparams.qmin if math.isinf(domain.lo) else int(quantize(np.array([lo], np.float32), qparams)[0])
    last = qparams.qmax if math.isinf(domain.hi) else int(quantize(np.array([hi], np.float32), qparams)[0])
    return np.arange(first, last + 1, dtype=np.int64)


def spoilt_codes(domain: Domain, qparams: QParams) -> npt.NDArray[np.int64]:
    """Codes that in-domain inputs round to, although the value they stand for lies outside the domain.

    With an observer's scale 0.007839 the input -1.0 becomes code -128, which stands for -1.0034: acos has no value
    there. Returns int64 [N], ascending; empty when the parameters fit the domain.
    """
    codes = codes_of_domain(domain, qparams)
    return codes[~domain.holds(dequantize(codes, qparams))]
