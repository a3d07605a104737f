"""Spared imports: not there while lowering's libraries are imported, and the real ones as soon as somebody asks."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("executorch", reason="ExecuTorch is not installed")

SCRIPT = """
import gc, importlib, sys
from corstone.lowering import standins
from corstone.lowering.lean import lean_imports

assert gc.isenabled()
with lean_imports():
    import corstone.lowering.build
    import torch._functorch.partitioners
assert gc.isenabled()
spared = ("networkx", "torchao.float8", "torch.onnx", "executorch.backends.xnnpack.partition")
assert not [name for name in spared if name in sys.modules], [name for name in spared if name in sys.modules]

def is_shell(name):
    return standins.is_shell(sys.modules[name])

import torch
import torch.export._remove_auto_functionalized_pass as removing
import torch._functorch.partitioners as partitioners
stand_in = removing.decompose_auto_functionalized
graph = torch.fx.symbolic_trace(torch.nn.ReLU()).graph
before = str(graph)
assert stand_in(graph) is None and str(graph) == before
assert is_shell("torch._inductor.fx_passes.post_grad"), "nothing was to be done"

from torch._inductor.fx_passes.post_grad import decompose_auto_functionalized as real
assert stand_in.real() is real
name = "torch._functorch._activation_checkpointing.graph_info_provider"
assert partitioners.GraphInfoProvider.real() is importlib.import_module(name).GraphInfoProvider
"""

QUANTIZATION = """
import torchao.quantization.pt2e
from corstone.lowering import lean
from torchao.quantization import Int8WeightOnlyConfig, PerAxis, quantize_
import torchao
import torchao.optim
from torchao.quantization.granularity import PerAxis as home
from executorch.backends.xnnpack import XnnpackPartitioner
from executorch.backends.arm._passes import rewrite_mxfp_linear as arm
from torchao.prototype.mx_formats.mx_tensor import DTYPE_FP6_E2M3, MXTensor, to_mx

assert PerAxis is home and arm.DTYPE_FP6_E2M3 == DTYPE_FP6_E2M3 == "fp6_e2m3"
assert torchao.quantization.pt2e is sys.modules["torchao.quantization.pt2e"]
assert callable(torchao.optim.AdamW8bit) and torchao.optim.AdamW8bit.__module__.startswith("torchao.optim")
network = torch.nn.Sequential(torch.nn.Linear(64, 64))
torchao.quantize_(network, Int8WeightOnlyConfig())
assert "Int8" in type(network[0].weight).__name__
left = [name for name in lean._SHELLS if name.startswith(("torchao", "executorch")) and is_shell(name)]
assert not left, left
"""

# What is traced needs a polyfill: without it dynamo refuses the function of operator.
TRACING = """
import operator, itertools

def traced(x, pairs=((1, 2), (3, 4))):
    total = x
    for pair in itertools.chain.from_iterable(pairs):
        total = total * pair
    return total + operator.countOf([1, 2, 1], 1)

assert "<string>" in torch.fx.experimental.symbolic_shapes.uninteresting_files()
assert is_shell("torch._dynamo.polyfills.loader")
x = torch.ones(4)
assert torch.equal(torch.compile(traced, backend="eager", fullgraph=True)(x), traced(x))
assert not is_shell("torch._dynamo.polyfills.loader")
assert torch._dynamo.polyfills.itertools.__file__ in torch.fx.experimental.symbolic_shapes.uninteresting_files()
import torch._dynamo.trace_rules as rules
assert rules.is_polyfilled_callable(operator.countOf)

class Traced(torch.nn.Module):
    def forward(self, x):
        return traced(x)

assert torch.equal(torch.export.export(Traced(), (x,), strict=True).module()(x), traced(x))
"""

OTHERS = """
assert is_shell("torch._inductor.decomposition")
import torch._inductor.compile_fx
from torch._inductor.decomposition import decompositions
entered = torch.ops.torchao.dequantize_affine.default
assert decompositions[entered].__name__ == "_dequantize_affine"
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.fsdp._fully_shard import _fsdp_param_group
import torch._dynamo.variables.functions as functions
assert functions._fsdp_param_group.real() is _fsdp_param_group
assert functions._fsdp_param_group.FSDPParamGroup is _fsdp_param_group.FSDPParamGroup
import torch._functorch._activation_checkpointing.knapsack_evaluator
import torch._functorch._activation_checkpointing.graph_info_provider
"""


@pytest.mark.parametrize("more", [QUANTIZATION, TRACING, OTHERS], ids=["quantization", "tracing", "others"])
def test_what_was_a_shell_works_when_it_is_asked_for(more: str) -> None:
    begin = SCRIPT[: SCRIPT.index("import torch.export._remove")]
    ended = subprocess.run([sys.executable, "-c", begin + more], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-3000:]


def test_what_is_spared_is_the_real_thing_once_it_is_used() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-3000:]
