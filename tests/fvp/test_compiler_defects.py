"""Networks that Vela 5.1.0 compiles to a stream that says something else: found on the device, with the operation."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest

from corstone.causes import Cause, Outcome
from pytest_corstone.device import Corstone

WRONG = importlib.metadata.version("ethos-u-vela") == "5.1.0"


def layers() -> Any:
    """Two linear layers with seeded weights."""
    import torch

    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))


def batch(size: int) -> tuple[Any, ...]:
    """Inputs within [-1, 1], ``[size, 16]``."""
    import torch

    return (torch.linspace(-1, 1, 16 * size).reshape(size, 16),)


@pytest.mark.fvp(policies="fixed")
@pytest.mark.parametrize("size", [1, 4])
def test_linear_layers_in_a_row_on_a_batch(corstone: Corstone, size: int) -> None:
    """int16: the first layer's input is folded into height and width, its output is not, and padding fills the rest."""
    wrong = WRONG and size > 1 and corstone.bits == 16
    record = corstone.check(layers(), batch(size), expect=Outcome.FAILED if wrong else Outcome.PASSED)
    if wrong:
        assert record.verdict.cause is Cause.BITS
        assert "command stream: wrong operator" in record.verdict.first_difference
        assert "NPU operation 0 (CONV" in record.verdict.first_difference
        assert "another Vela" in record.verdict.hint
