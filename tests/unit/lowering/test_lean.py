"""Spared imports: not there while lowering's libraries are imported, and the real ones as soon as somebody asks."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("executorch", reason="ExecuTorch is not installed")

SCRIPT = """
import gc, importlib, sys
from corstone.lowering.lean import lean_imports

assert gc.isenabled()
with lean_imports():
    import corstone.lowering.build
    import torch._functorch.partitioners
assert gc.isenabled()
spared = ("networkx", "torch._inductor.fx_passes.post_grad")
assert not [name for name in spared if name in sys.modules], [name for name in spared if name in sys.modules]

import torch
import torch.export._remove_auto_functionalized_pass as removing
import torch._functorch.partitioners as partitioners
stand_in = removing.decompose_auto_functionalized
graph = torch.fx.symbolic_trace(torch.nn.ReLU()).graph
before = str(graph)
assert stand_in(graph) is None and str(graph) == before
assert "torch._inductor.fx_passes.post_grad" not in sys.modules, "nothing was to be done"

from torch._inductor.fx_passes.post_grad import decompose_auto_functionalized as real
assert stand_in.real() is real
name = "torch._functorch._activation_checkpointing.graph_info_provider"
assert partitioners.GraphInfoProvider.real() is importlib.import_module(name).GraphInfoProvider
"""


def test_what_is_spared_is_the_real_thing_once_it_is_used() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-3000:]
