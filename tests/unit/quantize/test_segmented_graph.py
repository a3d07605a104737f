"""``segment`` in a quantization flow of one's own: the operator is replaced wherever it sits, on every NPU."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.emulator.npu.offline import run_delegate
from corstone.errors import ConfigError, ToolError
from corstone.formats.vela import read_vela

pytestmark = pytest.mark.slow  # importing ExecuTorch takes ten seconds

CODES = np.arange(-32768, 32768).astype(np.int16)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Deprecations inside torch, torchao and ExecuTorch are not ours to judge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("executorch")
        yield


def Function(function: Callable[[Any], Any]) -> Any:  # noqa: N802
    """A module of one function; torch, which has the base class, is imported late."""
    import torch

    return type("Function", (torch.nn.Module,), {"forward": lambda _self, x: function(x)})()


def quantized(module: Any, inputs: tuple[Any, ...], bits: int = 16, observed: bool = False) -> Any:
    """A user's flow with ExecuTorch's own quantizer; ``observed``: with calibrated instead of its fixed parameters."""
    import torch
    from executorch.backends.arm.ethosu import EthosUCompileSpec
    from executorch.backends.arm.quantizer import EthosUQuantizer
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from corstone.quantize.annotator import DomainQuantizer
    from corstone.quantize.flow import activation_config

    config = activation_config(bits)
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u55-128")).set_global(config)
    if observed:
        quantizer.add_quantizer(DomainQuantizer("observer", bits, config))
    graph = torch.export.export(module.eval(), inputs).module(check_guards=False)
    prepared = prepare_pt2e(graph, quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def lowered(graph: Any, inputs: tuple[Any, ...], target: str) -> tuple[bytes, bytes]:
    """TOSA flatbuffer and Vela stream of a graph that becomes one delegate."""
    import torch

    from corstone.lowering import stages

    options = stages.NpuOptions(target)
    delegated = stages.to_tosa(torch.export.export(graph, inputs), options)
    (tosa,) = delegated.tosa
    return tosa, stages.to_vela(tosa, delegated.flags)


def network(name: str) -> Any:
    import torch

    torch.manual_seed(3)
    first, last = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)
    return torch.nn.Sequential(first, Function(lambda x: getattr(torch, name)(torch.tanh(3 * x))), last)


def alone(name: str) -> Any:
    import torch

    return Function(getattr(torch, name))


def test_inside_a_network_it_stays_one_delegate_and_the_device_answers_what_the_graph_computes(tmp_path: Path) -> None:
    import torch

    from corstone.quantize.segmented import segment
    from corstone.reference import tosa

    inputs = (torch.randn(32, 8),)
    graph = quantized(network("asin"), inputs)
    before = graph(*inputs)
    (replaced,) = segment(graph)
    assert (replaced.operator, replaced.segments.tables) == ("asin", 3)
    assert replaced.segments.max_lsb <= 1.5
    after = graph(*inputs)
    exact = network("asin").double()(inputs[0].double())
    assert float((after - exact).abs().max()) <= float((before - exact).abs().max()) * 1.05
    for target in ("ethos-u65-256", "ethos-u85-256"):
        flatbuffer, stream = lowered(graph, inputs, target)
        scale = next(n.args[1] for n in graph.graph.nodes if "quantize_per_tensor" in str(n.target))
        codes = torch.clamp(torch.round(inputs[0] / scale), -32767, 32767).to(torch.int16).numpy()
        run = run_delegate(read_vela(stream), [codes.tobytes()])
        path = tmp_path / f"{target}.tosa"
        path.write_bytes(flatbuffer)
        (wanted,) = tosa.run(path, [codes], cache=False)
        got = np.frombuffer(run.outputs[0], np.int16).reshape(wanted.shape)
        assert np.array_equal(got, wanted), target


@pytest.mark.parametrize(("name", "reach"), [("acos", 1.0), ("asin", 0.9), ("log", 4.0)])
def test_alone_every_code_is_within_a_step_and_a_half_at_a_calibrated_scale(name: str, reach: float) -> None:
    import torch

    from corstone.quantize.segmented import segment

    low = 0.01 if name == "log" else -reach
    inputs = (torch.linspace(low, reach, 65536).reshape(256, 256),)
    graph = quantized(alone(name), inputs, observed=True)
    (replaced,) = segment(graph)
    _, stream = lowered(graph, inputs, "ethos-u55-128")
    got = np.frombuffer(run_delegate(read_vela(stream), [CODES.tobytes()]).outputs[0], np.int16)
    x = (CODES.astype(np.float32) * np.float32(replaced.input_scale)).astype(np.float64)
    with np.errstate(all="ignore"):
        exact = {"acos": np.arccos, "asin": np.arcsin, "log": np.log}[name](x)
    inside = np.isfinite(exact)
    steps = np.clip(exact[inside] / replaced.output_scale, -32767, 32767)
    assert np.abs(got[inside] - steps).max() <= 1.5


def test_int8_operators_and_other_names_are_left_alone() -> None:
    import torch

    from corstone.quantize.segmented import segment

    inputs = (torch.linspace(-1, 1, 64),)
    assert segment(quantized(alone("asin"), inputs, bits=8)) == ()
    graph = quantized(alone("tanh"), inputs)
    assert segment(graph) == ()
    (replaced,) = segment(graph, operators={"tanh"})
    assert replaced.segments.tables == 1


def test_a_goal_out_of_reach_names_the_node_and_changes_nothing() -> None:
    import torch

    from corstone.quantize.segmented import segment

    inputs = (torch.linspace(-1, 1, 64),)
    graph = quantized(alone("asin"), inputs)
    before = str(graph.graph)
    with pytest.raises(ConfigError, match=r"asin: no segmented table reaches 0\.2 output steps"):
        segment(graph, goal_lsb=0.2)
    assert str(graph.graph) == before


def test_another_executorch_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from executorch.backends.arm._passes.insert_table_ops import TableOps

    from corstone.quantize import table16

    monkeypatch.delattr(TableOps, "special_table_ops")
    with pytest.raises(ToolError, match="does not take further TABLE operators"):
        table16.register()


def test_the_operator_computes_what_the_device_computes() -> None:
    import torch

    from corstone.quantize.segments import lookup
    from corstone.quantize.table16 import table16

    nodes = np.random.default_rng(1).integers(-9000, 9000, 513).tolist()
    x = torch.arange(-32768, 32768).float() * 2.0**-15
    got = table16(x, nodes, 2.0**-15, 0.25)
    assert np.array_equal(got.numpy() / 0.25, lookup(tuple(nodes), np.arange(-32768, 32768)))
