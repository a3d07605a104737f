"""A product and a sum that are rounded once, as the processor's multiply-add does."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
Floats = npt.NDArray[np.float32]


def fused(a: Any, b: Any, c: Any) -> Floats:
    """``a * b + c`` of float32, rounded once.

    The product is exact in float64. The sum is rounded to odd there, so that rounding it again to float32 is rounding
    once.
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    addend = np.broadcast_to(np.asarray(c, np.float64), product.shape)
    with np.errstate(all="ignore"):
        return _odd(product, addend).astype(np.float32)


def _odd(product: Doubles, addend: Doubles) -> Doubles:
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    odd = (total.view(np.uint64) & 1).astype(bool)
    towards = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where((error != 0) & ~odd & np.isfinite(total), towards, total)
