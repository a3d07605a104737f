"""Operators that cannot be had, each named with its stage: one that stays on the CPU, one that no export traces."""

from __future__ import annotations

from pathlib import Path

from corstone.errors import StageError
from corstone.lowering import LowerRequest, lower_all
from corstone.program import Program

SOURCE = """
import torch

class Sort(torch.nn.Module):
    example_inputs = (torch.linspace(-1, 1, 16).reshape(2, 8),)
    def forward(self, x):
        return torch.sort(x + 1.0, dim=-1)[0]

class WidePool(torch.nn.Module):
    example_inputs = (torch.linspace(-1, 1, 2400).reshape(1, 1, 600, 4),)
    def forward(self, x):
        return torch.nn.functional.avg_pool2d(x, (260, 2), stride=(7, 2))

class Item(torch.nn.Module):
    example_inputs = (torch.linspace(-1, 1, 16).reshape(2, 8),)
    def forward(self, x):
        return x[: int(x.abs().sum().item())]
"""


def test_what_stays_on_the_cpu_and_what_no_export_traces_are_named(empty_cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "refused.py"
    file.write_text(SOURCE)
    sort, pool, item = lower_all([LowerRequest(f"{file}:{name}") for name in ("Sort", "WidePool", "Item")])
    assert isinstance(sort, Program), sort
    assert any(note.startswith("aten.sort.default stays on the CPU (1 time): ") for note in sort.notes)
    assert isinstance(pool, Program), pool
    assert not pool.tosa
    assert any(note.startswith("aten.avg_pool2d.default stays on the CPU") and "260" in note for note in pool.notes)
    assert isinstance(item, StageError), item
    assert item.evidence["stage"] == "export"
    assert "the stage 'export' failed" in item.message
    assert "no control flow on values" in item.hint
