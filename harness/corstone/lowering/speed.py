"""Spares the compile child work that torch repeats in every lowering with the same result. Needs torch.

Programs come out byte for byte as without (tests compare them with ExecuTorch's own flow, and with a lowering that
spares nothing). Where this torch or ExecuTorch looks otherwise inside, nothing is changed.
"""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import ModuleType
from typing import Any

from corstone.lowering.composites import remember_composite_operators
from corstone.lowering.histogram import search_with_numbers
from corstone.lowering.replacing import is_known

_SOURCE_READ = "0e29c3d55d6345c34657e0c97227bd3d35cb7d4949a689171a7224ff48d5c74f"
_PASS_READ = "1afada6089433ecd5147292a932acee25b614fafe383e177f3e9e2cf3fcc5b24"
_CHECK_READ = "73502d8b65f8fb09aa38907abf71f224976f9f4fac021cd7198d840fc00d2bce"
_INDUCTOR = "torch._inductor.ir"


@lru_cache(maxsize=1)
def spare_repeated_work() -> None:
    """Apply all of it, once; for a process that does nothing but lower, and those it forks."""
    remember_composite_operators()
    _share_origins()
    _share_empty_graph()
    _remember_signatures()
    search_with_numbers()
    # Libraries stay until the end, with the ten thousand objects of theirs that are garbage: looking for those takes
    # 0.3 s. Between requests the child collects once, among its own.
    gc.freeze()
    gc.disable()


def _share_origins() -> None:
    """A node's origins are copied, with all of theirs, for each node made of it; nobody changes one that is made."""
    from torch.fx.traceback import NodeSource

    if is_known(NodeSource, _SOURCE_READ):
        NodeSource.__deepcopy__ = lambda source, memo: source  # noqa: ARG005


def _share_empty_graph() -> None:
    """Each of two hundred passes a lowering generates and compiles the code of an empty graph that it never runs."""
    import torch
    from executorch.exir import pass_base

    if not is_known(pass_base.ExportPass.__init__, _PASS_READ):
        return
    empty = torch.fx.GraphModule(torch.nn.Module(), torch.fx.Graph())

    def init(this: Any) -> None:
        this.interpreter = torch.fx.Interpreter(empty)
        this.tracer = this.ExportTracer(this, pass_base.CodeGen())
        this.fake_tensor_mode = None
        this._initialized = True
        this.node_debug_str = None

    pass_base.ExportPass.__init__ = init


def _remember_signatures() -> None:
    """Generating code asks for the signature of the same methods at every node."""
    from torch.fx.graph import CodeGen

    if not is_known(CodeGen._call_method_with_signature_check, _CHECK_READ):
        return
    names = lru_cache(maxsize=256)(lambda function: frozenset(inspect.signature(function).parameters))

    def call(this: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        del this
        known = names(getattr(method, "__func__", method))
        return method(*args, **{name: value for name, value in kwargs.items() if name in known})

    CodeGen._call_method_with_signature_check = call


@contextmanager
def without_inductor() -> Iterator[None]:
    """Saving a graph imports inductor's classes to see whether an argument is of one; none is, unless loaded."""
    if _INDUCTOR in sys.modules:
        yield
        return
    stand_in = ModuleType(_INDUCTOR)
    for name in ("Buffer", "ReinterpretView", "TorchBindObject"):
        setattr(stand_in, name, type(name, (), {}))
    sys.modules[_INDUCTOR] = stand_in
    try:
        yield
    finally:
        del sys.modules[_INDUCTOR]
