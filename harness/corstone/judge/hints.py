"""Patterns in wrong outputs that a person would recognise: all zeros, canary, another order, a shift, one constant.

A hint never decides a verdict; it says where to look.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# Fewer equal bytes at an end are likely data.
_LEAST_TAIL = 16


def pattern_of_difference(expected: Array, got: Array) -> list[str]:
    """Hints about a wrong output, flat arrays of one dtype; at most one, the most telling."""
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    want, have = np.ascontiguousarray(expected).view(bits), np.ascontiguousarray(got).view(bits)
    if have.size < 2:
        return ["the output is zero"] if not have.any() and want.any() else []
    if not have.any():
        return ["all zeros: the output was cleared or never computed"]
    if np.all(have == have[0]):
        return [f"every element is {got[0]}: one constant came instead of data"]
    for shift in (1, -1):
        mine, theirs = (have[1:], want[:-1]) if shift == 1 else (have[:-1], want[1:])
        if np.array_equal(mine, theirs) and np.unique(theirs).size > 2:
            return [f"the values are those expected, shifted by {shift:+d} element"]
    if expected.dtype.itemsize > 1 and np.array_equal(have.byteswap(), want):
        return ["the bytes of each element are swapped: big and little endian"]
    if np.unique(want).size > 2 and np.array_equal(np.sort(have), np.sort(want)):
        return ["the values are those expected in another order: layout or transposition"]
    return []


def untouched(raw: bytes, canary: bytes) -> str:
    """What the canary says about an output: all of it untouched, a tail untouched, or nothing to say ("").

    ``canary`` is the pattern that filled the output memory before the boot, repeated from its start.
    """
    if not canary or not raw:
        return ""
    pattern = (canary * (len(raw) // len(canary) + 1))[: len(raw)]
    if raw == pattern:
        return "all"
    same = np.frombuffer(raw, np.uint8) == np.frombuffer(pattern, np.uint8)
    written = np.flatnonzero(~same)
    tail = len(raw) - int(written[-1]) - 1
    return f"the last {tail} of {len(raw)} bytes were never written" if tail >= _LEAST_TAIL else ""
