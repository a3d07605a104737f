"""Modules that are imported as empty shells and become themselves when something of theirs is used.

A shell has the module's name, place and, for a package, its folder, so that modules below it are imported as ever. It
runs the module's code, in itself, when it is asked for a name it does not have; who imported it holds the right object.
Names that importers take out of it by ``from`` stand there as a ``Later``, or are those of a lighter module where they
come from. Leaves out which modules are shells and why (``lean``). Needs no torch itself.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class Shell:
    """What a module is before it is itself.

    ``later`` are names that are only called, compared, or have their attributes used; ``first`` are modules that the
    real one would import and that others count on; ``homes`` gives for modules the names that are theirs.
    """

    later: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    homes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Later:
    """Something of a module that is looked up when it is first used."""

    def __init__(self, module: ModuleType, name: str) -> None:
        self._where = module, name

    def real(self) -> Any:
        """What it stands for."""
        module, name = self._where
        become_real(module)
        return getattr(module, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.real()(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.real(), name)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self.real())

    def __eq__(self, other: object) -> bool:
        return bool(self.real() == other)

    def __hash__(self) -> int:
        return hash(self.real())


Make = Callable[[ModuleType, str], Later]


class Finder(MetaPathFinder, Loader):
    """Finds shells for the modules of a table, as long as it stands in ``sys.meta_path``.

    ``special`` makes the stand-ins of some names.
    """

    def __init__(self, table: Mapping[str, Shell], special: Mapping[str, Make]) -> None:
        self._table = table
        self._special = special
        self._made: list[ModuleType] = []

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target) if fullname in self._table else None
        if found is None or found.loader is None:
            return None
        spec = ModuleSpec(fullname, self, origin=found.origin, loader_state=found)
        spec.submodule_search_locations = found.submodule_search_locations
        return spec

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._made.append(_Module(spec.name))
        return self._made[-1]

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        real: ModuleSpec = module.__spec__.loader_state
        module.__file__ = real.origin
        shell = self._table[module.__name__]
        for name in shell.first:
            importlib.import_module(name)
        for home, names in shell.homes.items():
            for name in names:
                setattr(module, name, getattr(importlib.import_module(home), name))
        for name in shell.later:
            setattr(module, name, self._special.get(name, Later)(module, name))

    def close(self) -> None:
        """From now on those who take such a name get what it stands for."""
        for module in self._made:
            if type(module) is _Module:
                for name in self._table[module.__name__].later:
                    vars(module).pop(name, None)


class _Module(ModuleType):
    """A shell."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or (_is_below(self, name) and _imports_are_lean()):
            raise AttributeError(name)
        become_real(self)
        return getattr(self, name)


def _imports_are_lean() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def _is_below(package: ModuleType, name: str) -> bool:
    path = getattr(package, "__path__", None)
    return path is not None and PathFinder.find_spec(f"{package.__name__}.{name}", path) is not None


def become_real(module: ModuleType) -> None:
    """Run the code of a shell, after that of the packages it is in, which may already have done so."""
    parent, _, _ = module.__name__.rpartition(".")
    if parent and parent in sys.modules:
        become_real(sys.modules[parent])
    if type(module) is not _Module:
        return
    assert module.__spec__ is not None
    real: ModuleSpec = module.__spec__.loader_state
    module.__class__ = ModuleType  # type: ignore[assignment]
    module.__spec__, module.__loader__ = real, real.loader
    finders = [finder for finder in sys.meta_path if isinstance(finder, Finder)]
    for finder in finders:
        sys.meta_path.remove(finder)
    try:
        assert real.loader is not None
        real.loader.exec_module(module)
    finally:
        sys.meta_path[:0] = finders
