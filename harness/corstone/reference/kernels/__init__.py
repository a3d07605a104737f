"""The CPU kernels that lowered programs call outside their delegates, in numpy, as the table ``KERNELS``.

Each computes what ExecuTorch's portable kernel computes (kernels/portable/cpu, kernels/quantized/cpu), element for
element, and was compared with Arm's runner image (``tests/fvp/test_cpu_kernels.py``). Data movement, comparisons,
integer arithmetic and single correctly rounded float operations do not depend on the implementation; sums, fused
products and the order of equal values do, and are those of that image. Leaves out every kernel over the C library's
functions (exp, tanh, softmax, ...), whose last bits are the library's own: ``unknown`` says so.
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
