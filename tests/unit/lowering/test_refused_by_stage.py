"""Operators that cannot be had, each named with its stage: some stay on the CPU, some no export or Vela takes."""

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

class Strided(torch.nn.Module):
    example_inputs = (torch.linspace(-1, 1, 1600).reshape(1, 4, 20, 20),)
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(4, 4, 3, stride=5, groups=4)
    def forward(self, x):
        return self.conv(x)
"""


def test_what_stays_on_the_cpu_and_what_no_export_or_vela_takes_are_named(empty_cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "refused.py"
    file.write_text(SOURCE)
    names = ("Sort", "WidePool", "Item", "Strided")
    sort, pool, item, strided = lower_all([LowerRequest(f"{file}:{name}") for name in names])
    assert isinstance(sort, Program), sort
    assert any(note.startswith("aten.sort.default stays on the CPU (1 time): ") for note in sort.notes)
    assert isinstance(pool, Program), pool
    assert not pool.tosa
    assert any(note.startswith("aten.avg_pool2d.default stays on the CPU") and "260" in note for note in pool.notes)
    assert isinstance(item, StageError), item
    assert item.evidence["stage"] == "export"
    assert "the stage 'export' failed" in item.message
    assert "no control flow on values" in item.hint
    assert isinstance(strided, StageError), strided
    assert strided.evidence["stage"] == "vela"
    assert "the stage 'vela' failed" in strided.message
    assert "DepthwiseConv2D" in strided.message
