"""Scale and round: ``round(v * scale / 2^shift)`` in every rounding mode of the hardware, exactly.

Source: ethos-u.md section 5.2 (regor folds constants with these formulas). Two forms of the same function: 64-bit
integers, checked against overflow, and Python integers for products beyond 63 bits. Leaves out zero points and clamps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.types import Array, Ints


class Rounding(Enum):
    """What happens to the bits below the result."""

    NATURAL = "half up"
    DBL = "half up after a first rounding at bit 31, away from zero"
    DOUBLE_ASYMMETRIC = "half up after a first rounding at bit 31, up"
    SYMMETRIC = "half away from zero"
    TRUNCATE = "toward zero"
    LOWER = "floor"


# The hardware's names (instructions.py) for the modes.
ROUNDINGS: dict[str, Rounding] = {
    "NATURAL": Rounding.NATURAL,
    "DBL": Rounding.DBL,
    "DOUBLE_SYMMETRIC": Rounding.DBL,
    "DOUBLE_ASYMMETRIC": Rounding.DOUBLE_ASYMMETRIC,
    "SYMMETRIC": Rounding.SYMMETRIC,
    "TRUNCATE": Rounding.TRUNCATE,
    "TRUNCATE_TO_LOWER": Rounding.LOWER,
}

_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True)
class Scale:
    """One multiplier for a whole tensor."""

    multiplier: int
    shift: int
    rounding: Rounding
    dbl_rnd: int = 0

    @property
    def identity(self) -> bool:
        """Whether it changes nothing."""
        return self.multiplier == 1 and self.shift == 0

    def apply(self, values: Ints) -> Ints:
        """``values: int64``, any shape, to ``int64`` of the same shape."""
        if self.identity:
            return values
        return scale_round(values, self.multiplier, self.shift, self.rounding, self.dbl_rnd)


def largest(values: Ints) -> int:
    """The largest magnitude in an array, 0 for an empty one."""
    if not values.size:
        return 0
    return max(int(values.max()), -int(values.min()))


def scale_round(values: Ints, multiplier: int | Ints, shift: int | Ints, rounding: Rounding, dbl_rnd: int = 0) -> Ints:
    """``round(values * multiplier / 2^shift)``.

    Shapes: ``values`` int64 of any shape; ``multiplier`` and ``shift`` numbers or arrays that broadcast against it.
    The product and what rounding adds to it fit 63 bits, which is checked on the actual extremes; where they do not,
    the same formula runs in Python integers.

    Raises
    ------
    NpuError: kind ``overflow``, when a result does not fit 64 bits.
    """
    top_shift = int(np.max(shift, initial=0)) if isinstance(shift, np.ndarray) else shift
    top_multiplier = largest(multiplier) if isinstance(multiplier, np.ndarray) else abs(multiplier)
    added = 1 << top_shift if rounding not in (Rounding.TRUNCATE, Rounding.LOWER) else 0
    # The first rounding of the double modes adds at most 2^30 more.
    if largest(values) * top_multiplier + added + (1 << 30) > _INT64_MAX or top_shift > 62:
        return _wide(values, multiplier, shift, rounding, dbl_rnd)
    product = values * multiplier
    if rounding is Rounding.NATURAL and isinstance(shift, int):
        product += (1 << shift) >> 1
        product >>= shift
        return product
    return _round(product, values < 0, shift, rounding, dbl_rnd)


def _round(product: Array, negative: Array, shift: int | Array, rounding: Rounding, dbl_rnd: int) -> Array:
    """The rounding itself, on int64 or object arrays; ``product`` is overwritten."""
    if rounding is Rounding.LOWER:
        return product >> shift
    if rounding is Rounding.TRUNCATE:
        quotient: Array = np.abs(product) >> shift
        return np.where(negative, -quotient, quotient)
    one = 1 if isinstance(shift, int) else np.ones_like(shift)
    half = (one << shift) >> 1
    product += half
    if rounding is Rounding.SYMMETRIC:
        # With no bits below the result there is nothing to round.
        product -= negative & (np.asarray(shift) > 0)
    elif rounding in (Rounding.DBL, Rounding.DOUBLE_ASYMMETRIC):
        extra = 1 << max(30 - dbl_rnd, 0)
        applies = np.asarray(shift) > 31 - dbl_rnd
        step = np.where(applies, extra, 0)
        if rounding is Rounding.DBL:
            product += np.where(negative, -step, step)
        else:
            product += step
    return product >> shift


def _wide(values: Ints, multiplier: int | Ints, shift: int | Ints, rounding: Rounding, dbl_rnd: int) -> Ints:
    """``scale_round`` in Python integers, for products of more than 63 bits."""
    wide = values.astype(object)
    factor = multiplier.astype(object) if isinstance(multiplier, np.ndarray) else multiplier
    places = shift.astype(object) if isinstance(shift, np.ndarray) else shift
    result = np.asarray(_round(np.asarray(wide * factor, object), values < 0, places, rounding, dbl_rnd), object)
    if any(abs(int(v)) > _INT64_MAX for v in result.reshape(-1)):
        raise NpuError("overflow", "a scaled value does not fit 64 bits")
    return result.astype(np.int64)


def reciprocal(count: int) -> tuple[int, int]:
    """Multiplier and shift that divide by ``count`` as TOSA's AVG_POOL2D does (ethos-u.md 5.7).

    The multiplier is a little too large, which is what pushes halves of negative sums down.
    """
    if count == 1:
        return 1 << 30, 30
    bits = (count - 1).bit_length()
    return (((1 << 30) + 1) << bits) // count, 30 + bits
