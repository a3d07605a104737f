"""Reads exported graphs: their hash, tensor specs, quantization parameters, and saving them. Needs torch."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from corstone.lowering.keys import GRAPH_HASH
from corstone.lowering.speed import without_inductor
from corstone.program import QParams, TensorSpec

_QUANTIZE = "quantized_decomposed.quantize_per_tensor"
_DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor"


def graph_sha256(exported: Any) -> str:
    """Hash of an exported program: every node with its arguments, the signature, and the bytes of all weights.

    Stack traces and object identities stay out, so that the same network always has the same hash.
    """
    total = hashlib.sha256()
    for path, graph in exported.graph_module.named_modules():
        if not isinstance(graph, torch.fx.GraphModule):
            continue
        total.update(f"graph {path}\n".encode())
        for node in graph.graph.nodes:
            value = node.meta.get("val")
            described = f"{tuple(value.shape)}{value.dtype}" if isinstance(value, torch.Tensor) else ""
            marks = node.meta.get("custom") or ""
            total.update(
                f"{node.op} {node.name} {node.target} {node.args} {node.kwargs} {described} {marks}\n".encode()
            )
    total.update(str(exported.graph_signature).encode())
    for name, tensor in sorted({**exported.state_dict, **exported.constants}.items()):
        total.update(f"{name} ".encode())
        total.update(_content(tensor))
    return total.hexdigest()


def _content(value: Any) -> bytes:
    if not isinstance(value, torch.Tensor):
        return str(value).encode()
    flat = value.detach().cpu().contiguous()
    raw: bytes = flat.reshape(-1).view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return f"{flat.dtype}{tuple(flat.shape)}".encode() + raw


def save_examples(exported: Any, path: Path) -> None:
    """The tensors that the program was exported on, ``input-<i>`` in the network's order, readable without torch."""
    tensors = torch.utils._pytree.tree_leaves(exported.example_inputs)
    arrays = {f"input-{i}": t.detach().cpu().numpy() for i, t in enumerate(tensors) if isinstance(t, torch.Tensor)}
    np.savez(path, **arrays)


def save_graph(exported: Any, path: Path) -> str:
    """Save an exported program with its hash inside the archive; returns the hash.

    This hash covers the example inputs, too: they are the calibration where nothing else is given.
    """
    total = hashlib.sha256(graph_sha256(exported).encode())
    for tensor in torch.utils._pytree.tree_leaves(exported.example_inputs):
        total.update(_content(tensor))
    with without_inductor():
        torch.export.save(exported, path, extra_files={GRAPH_HASH: total.hexdigest()})
    return total.hexdigest()


def tensor_specs(exported: Any) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs that the user sees, in order."""
    nodes = {node.name: node for node in exported.graph.nodes}
    signature = exported.graph_signature
    inputs = tuple(_spec(name, nodes[name]) for name in signature.user_inputs if name in nodes)
    outputs = tuple(_spec(name, nodes[name]) for name in signature.user_outputs if name in nodes)
    return inputs, outputs


def io_qparams(exported: Any) -> tuple[tuple[QParams | None, ...], tuple[QParams | None, ...]]:
    """Quantization parameters of inputs (first quantize) and outputs (their dequantize); None where not quantized."""
    nodes = {node.name: node for node in exported.graph.nodes}
    signature = exported.graph_signature
    inputs = []
    for name in signature.user_inputs:
        users = [_qparams(user) for user in nodes[name].users if _QUANTIZE in str(user.target)]
        inputs.append(users[0] if users else None)
    outputs = [
        _qparams(nodes[name]) if _DEQUANTIZE in str(nodes[name].target) else None for name in signature.user_outputs
    ]
    return tuple(inputs), tuple(outputs)


def operator_rows(exported: Any) -> list[dict[str, Any]]:
    """One row a quantized operator: name, target, parameters of its inputs and output, constant arguments; plain data.

    Long constants (the nodes of a table) are left out.
    """
    rows = []
    for node in exported.graph.nodes:
        if node.op != "call_function" or "quantized_decomposed" in str(node.target):
            continue
        inputs = [_qparams(source) if _DEQUANTIZE in str(source.target) else None for source in node.all_input_nodes]
        output = next((_qparams(user) for user in node.users if _QUANTIZE in str(user.target)), None)
        rows.append(
            {
                "name": node.name,
                "target": str(node.target),
                "inputs": [None if q is None else asdict(q) for q in inputs],
                "output": None if output is None else asdict(output),
                "constants": [
                    a for a in (*node.args, *node.kwargs.values()) if isinstance(a, bool | int | float | str)
                ],
            }
        )
    return rows


def _spec(name: str, node: Any) -> TensorSpec:
    value = node.meta["val"]
    if not isinstance(value, torch.Tensor):
        return TensorSpec(name, type(value).__name__, ())
    return TensorSpec(name, str(value.dtype).removeprefix("torch."), tuple(value.shape), tuple(value.dim_order()))


def _qparams(node: Any) -> QParams | None:
    args = node.args
    if "per_tensor.default" not in str(node.target):
        return None
    return QParams(float(args[1]), int(args[2]), int(args[3]), int(args[4]), str(args[5]).removeprefix("torch."))
