"""Names for the array types that the model passes around, and the range of an integer type."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Any dtype; the docstring says which."""
DType = np.dtype[Any]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


@cache
def bounds(dtype: DType) -> tuple[int, int]:
    """The lowest and the highest value of an integer type; ``np.iinfo`` works them out anew each time."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)
