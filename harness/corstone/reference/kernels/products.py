"""Matrix products.

Source: ExecuTorch, kernels/portable/cpu, op_mm.cpp, op_bmm.cpp, op_addmm.cpp, util/vec_ops.h.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import TensorValue
from corstone.reference.kernels.fused import fused
from corstone.reference.kernels.row import Array, one


def _mm(args: Sequence[Any], out: TensorValue) -> Array:
    """Matrix products: each element a running sum in the order of k, as the portable kernel adds."""
    a, b = args[:2]
    total = np.zeros(out.shape, np.dtype(out.dtype))
    for k in range(a.shape[-1]):
        left, right = np.broadcast_arrays(a[..., k : k + 1], b[..., k : k + 1, :])
        total = np.asarray(fused(left, right, total))
    return total


def _addmm(args: Sequence[Any], out: TensorValue) -> Array:
    """``bias + a @ b``; with other factors than one the roundings are open."""
    bias, a, b, beta, alpha = args[:5]
    if (beta, alpha) != (1, 1):
        raise ConfigError(
            f"addmm with the factors {beta} and {alpha} on the CPU has no exact reference",
            cause=Cause.UNSUPPORTED,
            hint="write the products as operators of their own",
        )
    return np.asarray(_mm((a, b), out) + bias)


ROWS = {
    "aten::addmm.out": one(_addmm),
    "aten::mm.out": one(_mm),
    "aten::bmm.out": one(_mm),
}
