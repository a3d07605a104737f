"""Spares the compile child imports of torch and ExecuTorch that a lowering never uses.

While ``lean_imports`` is in force, a few modules are imported as shells (``standins``) that become themselves when they
are first used, then or later; where a torch asks one of them for more than the table knows, at once. Meanwhile garbage
is not looked for (what is imported stays), an operator's registration keeps its file and line without reading the
source around them, dataclasses get their methods when these are called (``lean_dataclasses``), and the table of the
edge operators is parsed as far as it is needed (``edge_table``). Leaves out what torch repeats in every lowering
(``speed``). Needs no torch itself.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import FrameType, ModuleType
from typing import Any

from corstone.lowering import edge_table
from corstone.lowering.lean_dataclasses import methods_on_demand
from corstone.lowering.standins import Finder, Later, Noted, Shell, become_real, is_shell

_LOADER = "torch._dynamo.polyfills.loader"
_SHELLS: Mapping[str, Shell] = {
    # Activation checkpointing of a training step, which brings networkx.
    "torch._functorch._activation_checkpointing.graph_info_provider": Shell(("GraphInfoProvider",)),
    "torch._functorch._activation_checkpointing.knapsack_evaluator": Shell(("KnapsackEvaluator",)),
    # Inductor's lowerings, for one function that finds nothing to do in a graph without such nodes.
    "torch._inductor.fx_passes.post_grad": Shell(("decompose_auto_functionalized",)),
    # Sharded training, for a comparison with one of its functions while dynamo traces. Inductor takes for granted that
    # operators of the module named here are there.
    "torch.distributed.fsdp": Shell((), ("torch.distributed._symmetric_memory",)),
    "torch.distributed.fsdp._fully_shard": Shell(("_fsdp_param_group",)),
    # Inductor's decompositions, where torchao enters its own.
    "torch._inductor.decomposition": Shell(noted=("register_decomposition",)),
    # What dynamo traces instead of functions in C: registering asks its tables, which import all that torch has. Stack
    # traces leave their files out, where frames can be of them.
    _LOADER: Shell(given={"POLYFILLED_MODULES": ()}),
    # Weight-only quantization, float8 and its optimizers. Lowering quantizes by ``pt2e``, the package below.
    "torchao.quantization": Shell(
        ("quantize_",),
        ("torchao.quantization.quant_primitives",),
        {
            "torchao.quantization.granularity": (
                "Granularity",
                "PerAxis",
                "PerBlock",
                "PerGroup",
                "PerRow",
                "PerTensor",
                "PerToken",
            )
        },
    ),
    "torchao.optim": Shell(),
    # Microscaling formats, which no Ethos-U has; the Arm backend asks for the names of two.
    "torchao.prototype.mx_formats": Shell(),
    "torchao.prototype.mx_formats.mx_tensor": Shell(
        ("to_dtype", "to_mx"), (), {"torchao.prototype.mx_formats.constants": ("DTYPE_FP6_E2M3", "DTYPE_FP6_E3M2")}
    ),
    # Another backend, for the base class of its passes, which is ExecuTorch's.
    "executorch.backends.xnnpack": Shell(),
    "executorch.backends.xnnpack._passes": Shell(),
}
_DECOMPOSED = ("auto_functionalized", "control_deps")


@contextmanager
def lean_imports() -> Iterator[None]:
    """Replace the modules while the block imports what it needs."""
    collected = gc.isenabled()
    finder = Finder(_SHELLS, _SPECIAL)
    gc.disable()
    sys.meta_path.insert(0, finder)
    try:
        with ExitStack() as stack:
            stack.enter_context(_frames_without_source())
            stack.enter_context(methods_on_demand())
            stack.enter_context(_modules_of_frames())
            stack.enter_context(_edge_table_by_block())
            yield
    finally:
        sys.meta_path.remove(finder)
        finder.close()
        _polyfills_before_tracing()
        if collected:
            gc.enable()


@contextmanager
def _frames_without_source() -> Iterator[None]:
    """``inspect.getframeinfo`` looks through all modules for lines that an operator's registration drops."""
    original = inspect.getframeinfo
    inspect.getframeinfo = lambda frame, context=1: original(frame, 0)  # noqa: ARG005
    try:
        yield
    finally:
        inspect.getframeinfo = original


@contextmanager
def _modules_of_frames() -> Iterator[None]:
    """``inspect.getmodule`` resolves the files of all modules that are new to find the one a frame says it is in."""
    original = inspect.getmodule

    def getmodule(object: object, _filename: str | None = None) -> ModuleType | None:
        if isinstance(object, FrameType):
            module = sys.modules.get(object.f_globals.get("__name__", ""))
            if module is not None and getattr(module, "__file__", None) == object.f_code.co_filename:
                return module
        return original(object, _filename)

    inspect.getmodule = getmodule
    try:
        yield
    finally:
        inspect.getmodule = original


@contextmanager
def _edge_table_by_block() -> Iterator[None]:
    """Let the parser that ExecuTorch uses for its table put off the blocks of one."""
    try:
        parser: Any = importlib.import_module("ruamel.yaml").YAML
    except ImportError:
        yield
        return
    original = parser.load

    def load(this: Any, stream: Any) -> Any:
        found = (
            edge_table.blocks(stream, lambda text: original(parser(typ="safe"), text)) if _is_table(stream) else None
        )
        return original(this, stream) if found is None else found

    parser.load = load
    try:
        yield
    finally:
        parser.load = original


def _is_table(stream: object) -> bool:
    return isinstance(stream, str) and "executorch/exir/dialects/edge" in stream[:200]


class _Decompose(Later):
    """``decompose_auto_functionalized``: matches such nodes in a graph and its subgraphs, and changes nothing else."""

    def __call__(self, graph: Any) -> Any:
        targets = (node.target for node in graph.nodes if node.op == "call_function")
        if any(word in str(target) for target in targets for word in _DECOMPOSED):
            return self.real()(graph)
        return None


class _Decomposition(Noted):
    """``register_decomposition``: inductor's table starts with all composite operators, now those of torchao, too."""

    def before_late_call(self, args: tuple[Any, ...]) -> None:
        table = self.module.decompositions
        for packet in args[0]:
            for overload in packet.overloads():
                table.pop(getattr(packet, overload), None)


_SPECIAL = {"decompose_auto_functionalized": _Decompose, "register_decomposition": _Decomposition}


def _polyfills_before_tracing() -> None:
    """Let dynamo load its polyfills when it begins its first trace; a lowering, which exports as is, has none."""
    loader, tracing = sys.modules.get(_LOADER), sys.modules.get("torch._dynamo.symbolic_convert")
    if loader is None or tracing is None or not is_shell(loader):
        return
    translator: Any = tracing.InstructionTranslatorBase
    original = translator.__init__

    def init(this: Any, *args: Any, **kwargs: Any) -> None:
        translator.__init__ = original
        become_real(loader)
        for module in ("torch._dynamo.guards", "torch.fx.experimental.symbolic_shapes"):
            sys.modules[module].uninteresting_files.cache_clear()
        original(this, *args, **kwargs)

    translator.__init__ = init
