"""Policy ``segmented``: replaces steep operators of a quantized graph by tables that follow them (``segments``).

For any flow of your own, after ``convert_pt2e`` and before the last ``torch.export.export``::

    quantized = convert_pt2e(prepared)
    report = segment(quantized)                    # acos, asin, atanh, log, sqrt, ... wherever they sit
    exported = torch.export.export(quantized, inputs)

The operator's own input and output scales stay as they are, so nothing around it changes. int16 activations only: an
int8 TABLE has an entry for every code, and is exact already. Needs torch and ExecuTorch.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from executorch.backends.arm.common.annotation_meta import ArmAnnotationInfo

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.quantize import table16
from corstone.quantize.domains import operator_name
from corstone.quantize.sampling import sample_steps
from corstone.quantize.segments import GOAL_LSB, Segments, plan

STEEP = frozenset(
    ("acos", "acosh", "asin", "atanh", "erfinv", "log", "log10", "log1p", "pow", "reciprocal", "rsqrt", "sqrt")
)
"""Operators that are replaced unless the caller names others: those with a pole, or an infinite slope at an end."""

_WARP_SCALE = 2.0**-15
_QUANTIZE = torch.ops.quantized_decomposed.quantize_per_tensor.default
_DEQUANTIZE = torch.ops.quantized_decomposed.dequantize_per_tensor.default


@dataclass(frozen=True)
class Replaced:
    """One operator that was replaced: the node's name, the aten name, its scales, and its tables."""

    node: str
    operator: str
    input_scale: float
    output_scale: float
    segments: Segments

    def __str__(self) -> str:
        return (
            f"segmented: {self.node} ({self.operator}) became {self.segments.tables} tables, at most "
            f"{self.segments.max_lsb:.2f} output steps from {self.operator} on every input code"
        )


def segment(graph_module: Any, operators: Collection[str] = STEEP, goal_lsb: float = GOAL_LSB) -> tuple[Replaced, ...]:
    """Replace each named operator, in place, by the fewest tables that follow it within ``goal_lsb`` output steps.

    Parameters
    ----------
    graph_module: what ``convert_pt2e`` returned.
    operators: aten names without overload; any unary elementwise operator, with constants as further arguments.

    Raises
    ------
    ConfigError: such an operator is quantized in a way that cannot be replaced, or no tables reach the goal; the
        message names the node. Then nothing was replaced.
    ToolError: this ExecuTorch does not take the table operator.
    """
    table16.register()
    planned = [
        (node, _plan(node, goal_lsb))
        for node in graph_module.graph.nodes
        if _named(node, operators) and _is_int16(node)
    ]
    for node, replaced in planned:
        _replace(graph_module.graph, node, replaced)
    if planned:
        graph_module.graph.eliminate_dead_code()
        graph_module.recompile()
    return tuple(replaced for _, replaced in planned)


def _named(node: Any, operators: Collection[str]) -> bool:
    return node.op == "call_function" and operator_name(node.target) in operators


def _is_int16(node: Any) -> bool:
    """Whether the node is a quantized int16 operator; int8 and float ones are left alone."""
    source = node.args[0]
    return getattr(source, "target", None) is _DEQUANTIZE and source.args[5] is torch.int16


def _plan(node: Any, goal_lsb: float) -> Replaced:
    _, input_scale, input_zero, *_ = node.args[0].args
    users = list(node.users)
    scales = {tuple(user.args[1:]) for user in users if user.target is _QUANTIZE}
    if len(scales) != 1 or len(users) != sum(user.target is _QUANTIZE for user in users):
        raise ConfigError(
            f"{node.name}: expected every use of its result to quantize it in one and the same way, "
            f"found {', '.join(sorted(str(user.target) for user in users))}",
            cause=Cause.UNSUPPORTED,
            hint="let a quantizer annotate the operator's output",
        )
    output_scale, output_zero, qmin, qmax, dtype = scales.pop()
    if input_zero or output_zero or dtype is not torch.int16:
        raise ConfigError(
            f"{node.name}: expected symmetric int16 at its input and output, got zero points {input_zero} and "
            f"{output_zero}, output {dtype}",
            cause=Cause.UNSUPPORTED,
            hint="use get_symmetric_a16w8_quantization_config()",
        )

    def function(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        result = node.target(torch.from_numpy(x), *node.args[1:], **node.kwargs)
        return np.asarray(result.numpy(), np.float64)

    try:
        steps = sample_steps(function, float(input_scale), float(output_scale), (int(qmin), int(qmax)))
        segments = plan(steps, goal_lsb, (int(qmin), int(qmax)))
    except ConfigError as error:
        raise ConfigError(f"{node.name}: {error.message}", cause=error.cause, hint=error.hint) from error
    return Replaced(node.name, operator_name(node.target), float(input_scale), float(output_scale), segments)


def _replace(graph: Any, node: Any, replaced: Replaced) -> None:
    codes = node.args[0].args[0]
    segments, scale = replaced.segments, replaced.output_scale
    custom = dict(node.meta.get("custom", {})) | {ArmAnnotationInfo.CUSTOM_META_KEY: ArmAnnotationInfo(quantized=True)}

    def call(target: Any, *args: Any, like: torch.Tensor) -> Any:
        made = graph.call_function(target, args)
        made.meta = {k: v for k, v in node.meta.items() if k in ("nn_module_stack", "stack_trace", "source_fn_stack")}
        made.meta["val"] = like
        if target not in (_QUANTIZE, _DEQUANTIZE):
            made.meta["custom"] = custom
        return made

    real = node.meta["val"]
    whole = real.to(torch.int16)

    def quantized(value: Any, at: float) -> Any:
        return call(_QUANTIZE, value, at, 0, -32768, 32767, torch.int16, like=whole)

    def real_of(value: Any, at: float) -> Any:
        return call(_DEQUANTIZE, value, at, 0, -32768, 32767, torch.int16, like=real)

    def table(value: Any, nodes: tuple[int, ...], scale_in: float, scale_out: float) -> Any:
        looked_up = call(
            torch.ops.corstone.table16.default, real_of(value, scale_in), list(nodes), scale_in, scale_out, like=real
        )
        return quantized(looked_up, scale_out)

    with graph.inserting_before(node):
        total = table(codes, segments.core, replaced.input_scale, scale)
        for window in segments.windows:
            warped = table(codes, window.warp, replaced.input_scale, _WARP_SCALE)
            part = table(warped, window.table, _WARP_SCALE, scale)
            added = call(torch.ops.aten.add.Tensor, real_of(total, scale), real_of(part, scale), like=real)
            total = quantized(added, scale)
    for user in list(node.users):
        user.replace_all_uses_with(total)
        graph.erase_node(user)
    graph.erase_node(node)
