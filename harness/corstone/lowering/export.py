"""The first stage: a module becomes an exported program that can be saved. Needs torch, and nothing of ExecuTorch."""

from __future__ import annotations

from typing import Any

import torch


def export(module: Any, inputs: tuple[Any, ...]) -> Any:
    """``nn.Module`` to ``ExportedProgram``.

    Named results of torch's own (``torch.topk``, ``torch.max`` along an axis) become plain tuples: torch cannot save a
    program that returns one.
    """
    exported = torch.export.export(module, inputs)
    if not _returns_named(exported.call_spec.out_spec):
        return exported
    return torch.export.export(_PlainResult(module), inputs)


def _returns_named(spec: Any) -> bool:
    return spec.type in torch.return_types.all_return_types or any(map(_returns_named, spec.children()))


class _PlainResult(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Any) -> tuple[Any, ...]:
        return tuple(torch.utils._pytree.tree_leaves(self.network(*inputs)))
