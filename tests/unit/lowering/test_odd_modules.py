"""Modules that are not a plain float function of one tensor: each becomes a program, or is refused in words that help.

The odd ones are lowered in one child. What a board does with those that get through is not asked here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from corstone.errors import ConfigError, HarnessError, StageError
from corstone.lowering import LowerRequest, lower_all
from corstone.pipeline import check
from corstone.program import Program
from corstone.reference import domain_findings

SOURCE = """
import torch

class Raises(torch.nn.Module):
    example_inputs = (torch.rand(1, 4),)
    def forward(self, a):
        raise RuntimeError("not today")

class Dynamic(torch.nn.Module):
    example_inputs = (torch.rand(1, 4),)
    def forward(self, a):
        return a if a.sum() > 0 else -a

class NoExample(torch.nn.Module):
    def forward(self, a):
        return a

class NoOutput(torch.nn.Module):
    example_inputs = (torch.rand(1, 4),)
    def forward(self, a):
        return None

class Double(torch.nn.Module):
    example_inputs = (torch.rand(1, 4).double(),)
    def forward(self, a):
        return a * 2

class Fft(torch.nn.Module):
    example_inputs = (torch.rand(1, 8),)
    def forward(self, a):
        return torch.fft.rfft(a).abs()

class DictOutput(torch.nn.Module):
    example_inputs = (torch.rand(1, 4), torch.rand(1, 4))
    def forward(self, a, b):
        return {"product": a * b, "positive": torch.relu(a)}

class NamedOutput(torch.nn.Module):
    example_inputs = (torch.rand(2, 8),)
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 8)
    def forward(self, a):
        return torch.topk(self.layer(a), 3)

class Embed(torch.nn.Module):
    example_inputs = (torch.tensor([[1, 2, 3]]),)
    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(10, 8)
    def forward(self, i):
        return self.table(i)
"""
# Name, class of the error, exit status, and words of its message.
REFUSED = (
    ("Raises", StageError, 3, ("the stage 'export' failed", "not today")),
    ("Dynamic", StageError, 3, ("the stage 'export' failed", "data-dependent")),
    ("NoExample", ConfigError, 2, ("input shapes are not known",)),
    ("NoOutput", ConfigError, 2, ("the stage 'export' refuses", "returns no tensor")),
    ("Double", ConfigError, 2, ("the stage 'export' refuses", "the input 'a' is float64[1, 4]")),
    ("Fft", ConfigError, 2, ("the stage 'export' refuses", "aten.fft_rfft.default makes complex64[1, 5]")),
)


@pytest.mark.parametrize("given", [{"x": 1.0}, ("a",), (1j,), ({"x": 1.0},)])
def test_what_is_no_tensor_is_no_example_input(given: object) -> None:
    with pytest.raises(ConfigError, match="example inputs must be tensors or arrays") as caught:
        check("acos", given)  # type: ignore[arg-type]
    assert "one for each argument of forward" in caught.value.hint


def test_what_is_no_module_is_a_verdict_that_says_so(tmp_path: Path) -> None:
    record = check(lambda x: x, [[1.0, 2.0]], target="ethos-u85-256", out=tmp_path)
    assert record.verdict.exit_code == 2
    assert "expected an nn.Module or the name of a network, got function" in record.verdict.reason


def test_a_live_module_without_outputs_is_refused_before_it_is_saved(tmp_path: Path) -> None:
    import torch

    class Empty(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
        def forward(self, _x: torch.Tensor) -> tuple[()]:
            return ()

    record = check(Empty(), torch.ones(2), target="ethos-u85-256", out=str(tmp_path))
    assert record.verdict.exit_code == 2
    assert "forward() returns no tensor" in record.verdict.reason


def test_a_live_module_with_named_results_is_saved(tmp_path: Path) -> None:
    import torch

    from corstone.lowering.live import export_module

    class Largest(torch.nn.Module):  # type: ignore[misc]  # torch is untyped here
        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"largest": torch.max(x, 1)}

    saved = torch.export.load(export_module(Largest(), (torch.arange(6.0).reshape(2, 3),), tmp_path))
    values, places = saved.module()(torch.arange(6.0).reshape(2, 3))
    assert (values.tolist(), places.tolist()) == ([2.0, 5.0], [2, 2])


def test_odd_modules_become_programs_or_are_refused_by_stage_and_operator(empty_cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "odd.py"
    file.write_text(SOURCE)
    names = [name for name, *_ in REFUSED] + ["DictOutput", "Embed", "NamedOutput"]
    results = lower_all([LowerRequest(f"{file}:{name}", target="ethos-u85-256") for name in names])
    found: dict[str, Program | HarnessError] = dict(zip(names, results, strict=True))
    for name, kind, status, words in REFUSED:
        error = found[name]
        assert isinstance(error, kind), f"{name}: {error}"
        assert error.exit_code == status
        assert error.hint
        for word in words:
            assert word in error.message, name
    both = found["DictOutput"]
    assert isinstance(both, Program), both
    assert [spec.shape for spec in both.inputs] == [(1, 4), (1, 4)]
    assert [spec.dtype for spec in both.outputs] == ["float32", "float32"]
    embed = found["Embed"]
    assert isinstance(embed, Program), embed
    assert embed.inputs[0].dtype == "int64"
    assert embed.outputs[0].shape == (1, 3, 8)
    named = found["NamedOutput"]
    assert isinstance(named, Program), named
    assert [(spec.dtype, spec.shape) for spec in named.outputs] == [("float32", (2, 3)), ("int64", (2, 3))]
    # Taking one of several results is Python's own function, no operator with a domain.
    assert domain_findings(named) == ()
