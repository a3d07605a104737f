"""The CPU kernels that lowered programs call outside their delegates, in numpy, as the table ``KERNELS``.

Each computes what ExecuTorch's portable kernel computes (kernels/portable/cpu, kernels/quantized/cpu), element for
element. Only kernels whose result does not depend on the implementation are here: data movement, comparisons, integer
arithmetic, single correctly rounded float operations, and sums in the portable kernel's own order that were compared
with a device. Leaves out every kernel over the C library's functions (exp, tanh, softmax, ...), whose last bits are the
library's own: ``unknown`` says so.
"""

from __future__ import annotations

from corstone.reference.kernels import (
    arithmetic,
    bounds,
    comparison,
    movement,
    parts,
    pooling,
    products,
    quant,
    resize,
    topk,
)
from corstone.reference.kernels.row import Kernel

KERNELS: dict[str, Kernel] = {
    **quant.ROWS,
    **movement.ROWS,
    **parts.ROWS,
    **comparison.ROWS,
    **bounds.ROWS,
    **arithmetic.ROWS,
    **pooling.ROWS,
    **topk.ROWS,
    **products.ROWS,
    **resize.ROWS,
}
