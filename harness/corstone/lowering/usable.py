"""Whether an exported graph can become a program at all: it has an output, and every dtype is one that a stage takes.

Said here because the stages that trip over it later say it in their own words, without the operator. Leaves out what
the NPU supports: what its partitioner does not take runs on the CPU. Needs torch.
"""

from __future__ import annotations

from typing import Any

import torch

from corstone.causes import Cause
from corstone.errors import ConfigError

# What a program file can hold and a board can be fed with and read from as raw bytes.
RAW = frozenset(
    {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32}
    | {torch.uint16, torch.uint32, torch.uint64}
)


def refuse_unusable(exported: Any) -> None:
    """Refuse a graph without a tensor to give back, a float64 input, and a dtype that no program holds.

    Raises
    ------
    ConfigError: cause ``unsupported``; the message names the stage ``export`` and the first operator or input.
    """
    nodes = exported.graph.nodes
    given = set(exported.graph_signature.user_inputs)
    for node in nodes:
        for value in _tensors(node.meta.get("val")):
            if value.dtype in RAW or (value.dtype is torch.float64 and node.name not in given):
                continue
            what = f"the input '{node.name}' is" if node.op == "placeholder" else f"{node.target} makes"
            dtype = str(value.dtype).removeprefix("torch.")
            raise _unsupported(
                f"{what} {dtype}{list(value.shape)}, which is not supported",
                "quantization starts from float32: convert inputs and weights before, and keep complex numbers out",
                str(node.meta.get("stack_trace", "")),
            )
    output = next(node for node in nodes if node.op == "output")
    wanted = set(exported.graph_signature.user_outputs)
    if not any(_tensors(node.meta.get("val")) for node in output.all_input_nodes if node.name in wanted):
        raise _unsupported(
            "forward() returns no tensor, so there is nothing to judge", "return at least one tensor", ""
        )


def _tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _unsupported(what: str, hint: str, where: str) -> ConfigError:
    evidence: dict[str, object] = {"stage": "export"}
    if lines := [line for line in where.splitlines() if line.strip()]:
        evidence["where"] = "\n" + "\n".join(lines[-2:])
    return ConfigError(f"the stage 'export' refuses: {what}", cause=Cause.UNSUPPORTED, hint=hint, evidence=evidence)
