"""Spares the compile child imports of torch and ExecuTorch that a lowering never uses.

While ``lean_imports`` is in force, a few modules are replaced as they are asked for, by stand-ins that import the real
module when they are first used. Afterwards every import finds the real ones. Where a torch asks a stand-in for more,
it gets the real module's. Meanwhile garbage is not looked for (what is imported stays), an operator's registration
keeps its file and line without reading the source around them, and the table of the edge operators is parsed as far as
it is needed (``edge_table``). Sharded training (``torch.distributed.fsdp``) is not spared: inductor cannot be imported
later without it. Leaves out what torch repeats in every lowering (``speed``). Needs no torch itself.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from corstone.lowering import edge_table

# Module to the names that importers take from it: each is only called, or has its attributes called.
_LATER: Mapping[str, tuple[str, ...]] = {
    # Activation checkpointing of a training step, which brings networkx.
    "torch._functorch._activation_checkpointing.graph_info_provider": ("GraphInfoProvider",),
    "torch._functorch._activation_checkpointing.knapsack_evaluator": ("KnapsackEvaluator",),
    # Inductor's lowerings, for one function that finds nothing to do in a graph without such nodes.
    "torch._inductor.fx_passes.post_grad": ("decompose_auto_functionalized",),
}
_DECOMPOSED = ("auto_functionalized", "control_deps")


@contextmanager
def lean_imports() -> Iterator[None]:
    """Replace the modules while the block imports what it needs."""
    collected = gc.isenabled()
    finder = _Finder()
    gc.disable()
    sys.meta_path.insert(0, finder)
    try:
        with ExitStack() as stack:
            stack.enter_context(_frames_without_source())
            stack.enter_context(_edge_table_by_block())
            yield
    finally:
        sys.meta_path.remove(finder)
        finder.withdraw()
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


class _Finder(MetaPathFinder, Loader):
    """Finds stand-ins for the modules of the table."""

    def __init__(self) -> None:
        self._made: list[ModuleType] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        return ModuleSpec(fullname, self) if fullname in _LATER else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        made = _StandIn(spec.name)
        self._made.append(made)
        return made

    def exec_module(self, module: ModuleType) -> None:
        for name in _LATER[module.__name__]:
            kind = _Decompose if name == "decompose_auto_functionalized" else _Later
            setattr(module, name, kind(module.__name__, name))

    def withdraw(self) -> None:
        """Let imports find the real modules from now on."""
        for module in self._made:
            name = module.__name__
            if sys.modules.get(name) is module:
                del sys.modules[name]
            parent, _, last = name.rpartition(".")
            if vars(sys.modules[parent]).get(last) is module:
                delattr(sys.modules[parent], last)


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_real(self.__name__), name)


class _Later:
    """Something of a module that is imported when it is first used."""

    def __init__(self, module: str, name: str) -> None:
        self._where = module, name

    def real(self) -> Any:
        """What it stands for."""
        module, name = self._where
        return getattr(_real(module), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.real()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.real(), name)


class _Decompose(_Later):
    """``decompose_auto_functionalized``: matches such nodes in a graph and its subgraphs, and changes nothing else."""

    def __call__(self, graph: Any) -> Any:
        targets = (node.target for node in graph.nodes if node.op == "call_function")
        if any(word in str(target) for target in targets for word in _DECOMPOSED):
            return self.real()(graph)
        return None


def _real(name: str) -> ModuleType:
    """The module itself, which also takes its place in ``sys.modules``."""
    finders = [finder for finder in sys.meta_path if isinstance(finder, _Finder)]
    for finder in finders:
        sys.meta_path.remove(finder)
        finder.withdraw()
    try:
        return importlib.import_module(name)
    finally:
        sys.meta_path[:0] = finders
