"""Says in words what a lowered program leaves outside the NPU. Needs torch (it reads an edge program)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

# Floats become codes and back at the program's border; that is the CPU's work in every quantized program.
_BORDER = ("quantize_per_tensor", "dequantize_per_tensor", "getitem", "executorch_call_delegate", "_to_dim_order_copy")


def remainder_notes(edge: Any, delegates: int, reasons: Mapping[str, str]) -> list[str]:
    """Notes: no delegate or several, and operators that stay on the CPU, with the partitioner's reason by node name."""
    notes = []
    nodes = [
        node
        for node in edge.exported_program().graph.nodes
        if node.op == "call_function" and not any(word in str(node.target) for word in _BORDER)
    ]
    left = Counter(_plain_name(node.target) for node in nodes)
    why = {_plain_name(node.target): reasons[node.name] for node in reversed(nodes) if node.name in reasons}
    if delegates == 0:
        notes.append("no delegate: nothing of this program runs on the NPU")
    if delegates > 1:
        notes.append(f"{delegates} delegates: the NPU is entered {delegates} times, with CPU work between")
    notes += [
        f"{name} stays on the CPU ({count} time{'s' if count > 1 else ''}): "
        f"{why.get(name, 'the Ethos-U partitioner did not take it')}"
        for name, count in sorted(left.items())
    ]
    return notes


def _plain_name(target: Any) -> str:
    """``aten.acos.default`` from an edge operator or an ATen overload."""
    op = getattr(target, "_op", target)
    return str(op).replace("torch.ops.", "")
