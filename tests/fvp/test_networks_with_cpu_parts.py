"""Networks that leave operators to the CPU, before, between and behind their delegates: exact on Arm's image."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from corstone.causes import Cause, Outcome
from corstone.pipeline import CheckRequest, check_all, check_one
from corstone.reference.kernels import KERNELS
from corstone.reference.kernels.row import one
from corstone.report.record import CaseRecord

pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing")

HEAD = """
import torch
from torch import nn
from torch.nn import functional as f


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 4, 3, padding=1)
        self.last = nn.Conv2d(4, 2, 1)

    def forward(self, x):
        x = self.conv(x)
"""
# What follows in forward, and a kernel that stays on the CPU of Ethos-U55.
TAILS = {
    "relu6": ("return f.relu6(x)", "aten::hardtanh.out"),
    "argmax": ("return x.flatten(1).argmax(1)", "aten::argmax.out"),
    "topk": ("return tuple(torch.topk(x.flatten(1), 5))", "aten::topk.values"),
    "indices": ("return f.max_pool2d(x, 2, return_indices=True)", "aten::max_pool2d_with_indices.out"),
    "between": (
        'return self.last(f.interpolate(x, size=(11, 13), mode="bilinear", align_corners=True))',
        "aten::upsample_bilinear2d.vec_out",
    ),
    "logic": ("return (x > 0).logical_and(x < 0.5), x >= 0.1", "aten::logical_and.out"),
    "pieces": ("return self.last(x)[:, [1, 0, 1]]", "aten::index.Tensor_out"),
}


def request(folder: Path, name: str) -> CheckRequest:
    source = folder / f"{name}.py"
    source.write_text(HEAD + "        " + TAILS[name][0] + "\n")
    shapes = ((1, 3, 8, 8),)
    return CheckRequest(f"{source}:Net", shapes=shapes, stimulus="random", provider="emulator", out=folder / "out")


def kernels_of(record: CaseRecord) -> tuple[str, ...]:
    from corstone.formats.pte import read_pte
    from corstone.program import Program

    return read_pte(Program.load(Path(record.capture or "") / "program.json").pte).kernels


def test_the_bits_of_the_whole_program_are_judged(tmp_path: Path) -> None:
    for name, record in zip(TAILS, check_all([request(tmp_path, name) for name in TAILS]), strict=True):
        assert record.verdict.outcome is Outcome.PASSED, (name, record.verdict.reason)
        assert record.runner == "arm-executorch-u55"
        assert TAILS[name][1] in kernels_of(record), name
        exact = {c.reference for c in record.verdict.comparisons if c.exact}
        assert "tosa" in exact, name


def test_a_wrong_kernel_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One element of the reference moved by more than an output code, since the quantizer is behind the kernel."""
    right = KERNELS["aten::hardtanh.out"]

    def wrong(args: Any, out: Any) -> Any:
        made = right.compute(args, (out,))[0].copy()
        made.flat[7] += 0.125
        return made

    monkeypatch.setitem(KERNELS, "aten::hardtanh.out", one(wrong))
    verdict = check_one(request(tmp_path, "relu6")).verdict
    assert (verdict.outcome, verdict.cause) == (Outcome.FAILED, Cause.BITS)
    assert {c.differing for c in verdict.comparisons if c.exact} == {1}


def test_a_kernel_without_a_reference_is_named_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(KERNELS, "aten::hardtanh.out")
    verdict = check_one(request(tmp_path, "relu6")).verdict
    assert (verdict.outcome, verdict.cause) == (Outcome.ERROR, Cause.REFERENCE)
    assert "the references do not know the CPU kernel aten::hardtanh.out" in verdict.reason
    assert "quantize an operator" in verdict.hint
