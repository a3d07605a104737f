"""The operator ``corstone::table16``: an int16 TABLE with stated nodes, which ExecuTorch lowers to one TOSA TABLE.

In a quantized graph it stands between a dequantize and a quantize, like any unary operator. Eagerly it computes what
the device computes, so a quantized graph and the device agree bit for bit. ExecuTorch makes table nodes by calling the
operator at the nodes' codes; ``register`` adds it to the list of operators it does that for. Importing this module
defines the operator, which is also what loading a saved graph needs. Needs torch; ``register`` needs ExecuTorch.
"""

from __future__ import annotations

from typing import Any

import torch

from corstone.causes import Cause
from corstone.errors import ToolError

NAME = "corstone::table16"


def _table16(x: torch.Tensor, nodes: list[int], input_scale: float, output_scale: float) -> torch.Tensor:
    """Look up and interpolate.

    Parameters
    ----------
    x: multiples of ``input_scale``, any shape; the codes are -32768..32767, and 32768 where a table is made.
    nodes: 513 values in output codes; node i stands at code ``128 i - 32768``.
    """
    codes = torch.round(x.double() / input_scale).to(torch.int64)
    table = torch.tensor(nodes, dtype=torch.int64, device=x.device)
    index = ((codes + 32768) >> 7).clamp(0, 512)
    right = (index + 1).clamp(max=512)
    full = (table[index] << 7) + (table[right] - table[index]) * (codes & 127)
    return (((full + 64) >> 7).double() * output_scale).to(x.dtype)


def _same_shape(x: torch.Tensor, nodes: list[int], input_scale: float, output_scale: float) -> torch.Tensor:
    del nodes, input_scale, output_scale
    return torch.empty_like(x)


table16 = torch.library.custom_op(NAME, _table16, mutates_args=())
table16.register_fake(_same_shape)


def register() -> None:
    """Let ExecuTorch's Arm backend lower the operator to a TABLE; may be called any number of times.

    Raises
    ------
    ToolError: this ExecuTorch keeps its table operators in another way.
    """
    try:
        from executorch.backends.arm._passes.insert_table_ops import TableOps
        from executorch.backends.arm.operator_support.tosa_profile_supported_op_lists import TOSA_PRO_INT_SupportList
        from executorch.exir.dialects._ops import ops as exir_ops

        edge_op = exir_ops.edge.corstone.table16.default
        if edge_op in TableOps.special_table_ops:
            return
        original = TableOps.__getitem__
        TableOps.special_table_ops.add(edge_op)
        TOSA_PRO_INT_SupportList.add(edge_op)
    except (ImportError, AttributeError) as error:
        raise ToolError(
            f"this version of ExecuTorch does not take further TABLE operators: {error}",
            cause=Cause.MISSING_TOOL,
            hint="the policy 'segmented' was built for executorch 1.5.1",
        ) from error

    def getitem(self: Any, node: Any) -> Any:
        if node.target != edge_op:
            return original(self, node)
        _, nodes, input_scale, output_scale = node.args
        return lambda x: table16(x, list(nodes), input_scale, output_scale)

    TableOps.__getitem__ = getitem
