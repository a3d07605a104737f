"""Modules that are imported as empty shells and become themselves when something of theirs is used.

A shell has the module's name, place and, for a package, its folder, so that modules below it are imported as ever. It
runs the module's code, in itself, when it is asked for a name it does not have; who imported it holds the right object.
Names that importers take out of it by ``from`` stand there as a ``Later``, or are those of a lighter module where they
come from; calls that register something there are kept and made when it is itself. Leaves out which modules are shells
and why (``lean``). Needs no torch itself.
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
    real one would import and that others count on; ``homes`` gives for modules the names that are theirs; ``given`` are
    names with what they are until then; ``noted`` are functions, or decorators with arguments, that register something.
    """

    later: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    homes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    given: Mapping[str, object] = field(default_factory=dict)
    noted: tuple[str, ...] = ()


class Later:
    """Something of a module that is looked up when it is first used."""

    def __init__(self, module: ModuleType, name: str) -> None:
        self.module, self.name = module, name

    def real(self) -> Any:
        """What it stands for."""
        become_real(self.module)
        return getattr(self.module, self.name)

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


class Noted(Later):
    """A function of a shell whose calls are made when the shell has become real."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self.module, _Module):
            return self.real()(*args, **kwargs)
        decorated: list[Any] = []

        def make() -> None:
            self.before_late_call(args)
            result = self.real()(*args, **kwargs)
            for thing in decorated:
                result(thing)

        def decorate(thing: Any) -> Any:
            decorated.append(thing)
            return thing

        self.module.notes.append(make)
        return decorate

    def before_late_call(self, args: tuple[Any, ...]) -> None:
        """Undo what the module has by itself for such a call, as it was run later than it would have been."""


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
        vars(module).update(shell.given)
        vars(module).update({name: self._special.get(name, Noted)(module, name) for name in shell.noted})
        for name in shell.later:
            setattr(module, name, self._special.get(name, Later)(module, name))

    def close(self) -> None:
        """From now on those who take such a name get what it stands for."""
        for module in self._made:
            if is_shell(module):
                shell = self._table[module.__name__]
                for name in (*shell.later, *shell.noted):
                    vars(module).pop(name, None)


class _Module(ModuleType):
    """A shell; ``notes`` are calls to be made when it is real."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.notes: list[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        if (name.startswith("__") and name != "__all__") or (_is_below(self, name) and _imports_are_lean()):
            raise AttributeError(name)
        become_real(self)
        return getattr(self, name)


def is_shell(module: ModuleType) -> bool:
    """Whether it has not become itself."""
    return type(module) is _Module


def _imports_are_lean() -> bool:
    return any(isinstance(finder, Finder) for finder in sys.meta_path)


def _is_below(package: ModuleType, name: str) -> bool:
    path = getattr(package, "__path__", None)
    return path is not None and PathFinder.find_spec(f"{package.__name__}.{name}", path) is not None


def become_real(module: ModuleType) -> None:
    """Run the code of a shell, after that of the packages it is in and before that of the shells below it."""
    parent, _, _ = module.__name__.rpartition(".")
    if parent and parent in sys.modules:
        become_real(sys.modules[parent])
    if not is_shell(module):
        return
    assert module.__spec__ is not None
    real: ModuleSpec = module.__spec__.loader_state
    notes = vars(module).pop("notes")
    module.__class__ = ModuleType
    module.__spec__, module.__loader__ = real, real.loader
    finders = [finder for finder in sys.meta_path if isinstance(finder, Finder)]
    for finder in finders:
        sys.meta_path.remove(finder)
    try:
        assert real.loader is not None
        real.loader.exec_module(module)
        # The code of a package may import those for what they register.
        for name in [name for name in sys.modules if name.rpartition(".")[0] == module.__name__]:
            become_real(sys.modules[name])
        for make in notes:
            make()
    finally:
        sys.meta_path[:0] = finders
