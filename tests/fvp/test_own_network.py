"""A user's convolutional network of which nothing but its input's shape is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from corstone.causes import Cause, Outcome
from corstone.pipeline import CheckRequest, check_all

pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing")

SOURCE = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, stride=5)
        self.last = nn.Linear(4 * 4 * 4, 10)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)).flatten(1))
"""


def test_it_is_calibrated_on_inputs_like_those_that_it_is_judged_on(tmp_path: Path) -> None:
    """On a ramp alone its output hardly moves: everything else was cut off, by hundreds of steps."""
    (tmp_path / "net.py").write_text(SOURCE)
    requests = [
        CheckRequest(
            f"{tmp_path / 'net.py'}:Net",
            target="ethos-u85-256",
            shapes=((1, 1, 20, 20),),
            stimulus=stimulus,
            provider="emulator",
            out=tmp_path / "out",
        )
        for stimulus in ("codes", "random", "ramp")
    ]
    for record in check_all(requests):
        assert record.verdict.outcome is Outcome.PASSED, record.verdict.reason
        (against_float,) = (c for c in record.verdict.comparisons if not c.exact)
        assert against_float.max_lsb < 3


EXAMPLE = (
    SOURCE
    + """
    def example_inputs(self):
        torch.manual_seed(1)
        return (torch.randn(1, 1, 20, 20),)
"""
)


def test_it_can_be_judged_on_its_own_example(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(EXAMPLE)
    source = f"{tmp_path / 'net.py'}:Net"
    others, own = check_all(
        [
            CheckRequest(source, target="ethos-u85-256", stimulus=stimulus, provider="emulator", out=tmp_path / "out")
            for stimulus in ("codes", "example")
        ]
    )
    assert own.verdict.outcome is Outcome.PASSED, own.verdict.reason
    given = np.fromfile(tmp_path / "out" / "cases" / own.case_id / "in-0.bin", np.float32)
    assert given.std() == pytest.approx(1, abs=0.1)
    # Every code of its range, in any order, is no normal distribution, which is all that calibration saw.
    assert (others.verdict.outcome, others.verdict.cause) == (Outcome.FAILED, Cause.ACCURACY)
    assert "--stimulus example" in others.verdict.hint


PERMUTED = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)

    def forward(self, x):
        return self.conv(x).permute(0, 2, 3, 1)
"""


def test_an_output_that_is_permuted_last_is_read_as_the_program_stores_it(tmp_path: Path) -> None:
    """In the graph it is a view whose memory is in another order; the program writes it in its own."""
    (tmp_path / "net.py").write_text(PERMUTED)
    request = CheckRequest(
        f"{tmp_path / 'net.py'}:Net", target="ethos-u85-256", shapes=((1, 2, 5, 6),), provider="emulator", out=tmp_path
    )
    verdict = check_all([request])[0].verdict
    assert verdict.outcome is Outcome.PASSED, verdict.reason


SOLID = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv3d(2, 3, (3, 2, 2))

    def forward(self, x):
        return self.conv(x)
"""


@pytest.mark.parametrize("bits", [8, 16])
def test_the_planes_of_a_3d_kernel_are_added_up_through_memory(tmp_path: Path, bits: int) -> None:
    (tmp_path / "net.py").write_text(SOLID)
    request = CheckRequest(
        f"{tmp_path / 'net.py'}:Net",
        bits,
        target="ethos-u85-256",
        shapes=((1, 2, 4, 4, 5),),
        stimulus="random",
        provider="emulator",
        out=tmp_path,
    )
    verdict = check_all([request])[0].verdict
    assert verdict.outcome is Outcome.PASSED, verdict.reason
    assert [c.reference for c in verdict.comparisons if c.exact] == ["tosa"]
