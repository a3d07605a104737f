"""Device against an exact reference: every bit, no tolerance.

Floats are compared by their bit patterns, so -0.0 differs from 0.0: quantized programs never make a negative zero, and
one that appears has a cause worth knowing. The one exception is NaN, which equals any other NaN: IEEE 754 leaves sign
and payload open (x86 makes 0xffc00000, Arm 0x7fc00000); the comparison notes when they differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.elements import InputView, worst_elements
from corstone.judge.hints import pattern_of_difference
from corstone.judge.verdict import Comparison
from corstone.program import QParams

Array = npt.NDArray[Any]


def bit_pattern(array: Array) -> Array:
    """The elements as unsigned integers of the same width; bool stays what it is in memory (0 or 1)."""
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))


def ordered_integers(array: Array) -> npt.NDArray[np.int64]:
    """Floats as integers in value order, so that a difference counts units in the last place; both zeros are 0."""
    bits = bit_pattern(array).astype(np.int64)
    sign = np.int64(1) << (8 * array.dtype.itemsize - 1)
    if array.dtype.itemsize == 8:
        bits = np.ascontiguousarray(array).view(np.int64)
        return np.where(bits < 0, np.int64(-(2**63)) - bits, bits)
    return np.where(bits >= sign, sign - bits, bits)


def distance_lsb(expected: Array, got: Array, qparams: QParams | None) -> npt.NDArray[np.float64]:
    """Distance element by element: steps of the output's scale where it has one, else integer steps or ULP.

    NaN against a number, and infinity against anything else, is infinitely far; NaN against NaN is 0.
    """
    if expected.dtype.kind != "f":
        steps: npt.NDArray[np.float64] = np.abs(expected.astype(np.float64) - got.astype(np.float64))
        return steps
    with np.errstate(invalid="ignore", over="ignore"):
        if qparams is not None:
            distance = np.abs(expected.astype(np.float64) - got.astype(np.float64)) / qparams.scale
        else:
            distance = np.abs(ordered_integers(expected).astype(np.float64) - ordered_integers(got).astype(np.float64))
    same = (expected == got) | (np.isnan(expected) & np.isnan(got))
    special = ~(np.isfinite(expected) & np.isfinite(got))
    return np.where(same, 0.0, np.where(special, np.inf, distance))


def compare_bits(
    name: str, output: int, expected: Array, got: Array, qparams: QParams | None, view: InputView | None
) -> Comparison:
    """One output against one exact reference; same dtype and shape, as ``structure`` has made sure."""
    flat_expected, flat_got = expected.reshape(-1), got.reshape(-1)
    different = bit_pattern(flat_expected) != bit_pattern(flat_got)
    notes: list[str] = []
    if expected.dtype.kind == "f":
        both_nan = np.isnan(flat_expected) & np.isnan(flat_got)
        payloads = int(np.count_nonzero(different & both_nan))
        different &= ~both_nan
        notes += _float_notes(flat_expected, flat_got, different, payloads)
    differing = int(np.count_nonzero(different))
    distance = np.where(different, distance_lsb(flat_expected, flat_got, qparams), 0.0)
    # A negative zero is a difference of no distance; half an LSB keeps it in the list of worst elements.
    listed = np.where(different & (distance == 0), 0.5, distance)
    if differing:
        notes += pattern_of_difference(flat_expected, flat_got)
    return Comparison(
        reference=name,
        output=output,
        count=flat_got.size,
        differing=differing,
        max_lsb=float(distance.max(initial=0.0)),
        max_abs=_max_abs(flat_expected, flat_got, different),
        exact=True,
        passed=differing == 0,
        worst=worst_elements(flat_expected, flat_got, listed, got.shape, view, qparams),
        note="; ".join(notes),
    )


def _max_abs(expected: Array, got: Array, different: npt.NDArray[np.bool_]) -> float:
    if not different.any():
        return 0.0
    with np.errstate(invalid="ignore"):
        distance = np.abs(expected[different].astype(np.float64) - got[different].astype(np.float64))
    return float(np.where(np.isnan(distance), np.inf, distance).max())


def _float_notes(expected: Array, got: Array, different: npt.NDArray[np.bool_], payloads: int) -> list[str]:
    notes = []
    if payloads:
        notes.append(f"{payloads} NaN with another payload, counted as equal")
    counts = {
        "NaN where a number was expected": np.isnan(got) & ~np.isnan(expected),
        "a number where NaN was expected": ~np.isnan(got) & np.isnan(expected),
        "an infinity where a finite number was expected": np.isinf(got) & np.isfinite(expected),
        "a finite number where an infinity was expected": np.isfinite(got) & np.isinf(expected),
        "a zero of the other sign": different & (got == 0) & (expected == 0),
    }
    return notes + [f"{int(n)} elements: {text}" for text, mask in counts.items() if (n := np.count_nonzero(mask))]
