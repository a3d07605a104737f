"""Names for the array types that the model passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Any dtype; the docstring says which."""
DType = np.dtype[Any]
Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
