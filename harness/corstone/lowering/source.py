"""Makes the module that a source names, and notes which files it was made of. Runs in the compile child; needs torch.

Files are found in two ways: modules that were newly imported, and any file that was opened for reading meanwhile (an
audit hook sees weights that a constructor loads). What belongs to Python, to installed packages or to the harness does
not count: versions stand for those.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import corstone
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.lowering.request import FILE, NETWORK, SourceRef

_READ_ONLY = {"r", "rb", "rt", "br"}


class Dependencies:
    """Collects the files a source was made of while ``watching``."""

    def __init__(self) -> None:
        self._opened: set[str] = set()
        self._active = False
        self._outside = _uninteresting()
        sys.addaudithook(self._hook)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Files opened and modules imported inside belong to the source.

        Afterwards its modules are forgotten and the import path is as before: the next source may bring others of the
        same names, or the same ones changed.
        """
        modules, path = set(sys.modules), list(sys.path)
        self._opened.clear()
        self._active = True
        try:
            yield
        finally:
            self._active = False
            sys.path[:] = path
            for name in set(sys.modules) - modules:
                file = str(getattr(sys.modules[name], "__file__", None) or "")
                self._opened.add(file)
                if file and not self._foreign(Path(file).resolve()):
                    del sys.modules[name]

    def files(self) -> list[Path]:
        """The files, sorted; those that are gone again are left out."""
        paths = {Path(name).resolve() for name in self._opened if name}
        return sorted(p for p in paths if p.is_file() and p.suffix != ".pyc" and not self._foreign(p))

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self._active and event == "open" and isinstance(args[0], str) and args[1] in _READ_ONLY | {None}:
            self._opened.add(os.path.abspath(args[0]))

    def _foreign(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self._outside)


def _uninteresting() -> tuple[Path, ...]:
    names = {sysconfig.get_path(key) for key in ("stdlib", "platstdlib", "purelib", "platlib")}
    names |= {str(Path(corstone.__file__).parent), "/proc", "/sys", "/dev", "/etc"}
    return tuple(Path(name).resolve() for name in names if name)


def load(ref: SourceRef) -> tuple[Any, ModuleType | None]:
    """The ``nn.Module`` of a source, in eval mode, and the Python module it was found in.

    Raises
    ------
    ConfigError: it cannot be imported, has no such attribute, or that is no module and makes none.
    """
    from torch import nn

    if ref.kind == NETWORK:
        from corstone_models.networks import network

        where, _, attribute = network(ref.where).module.partition(":")
        home = importlib.import_module(where)
    else:
        home, attribute = _import(ref), ref.attribute
    try:
        found = getattr(home, attribute)
    except AttributeError:
        public = sorted(name for name in vars(home) if not name.startswith("_"))
        raise ConfigError(
            f"{ref.where} has no attribute {attribute!r}", hint=f"it has {', '.join(public[:20]) or 'none'}"
        ) from None
    module = found if isinstance(found, nn.Module) else _build(found, ref)
    return module.eval(), home


def example_inputs(module: Any, home: ModuleType | None) -> tuple[Any, ...]:
    """Example inputs that the source brings: ``example_inputs`` of the module or beside it, a tuple or a function.

    Raises
    ------
    ConfigError: there is none.
    """
    for owner in (module, home):
        given = getattr(owner, "example_inputs", None)
        if given is not None:
            values = given() if callable(given) else given
            return tuple(values) if isinstance(values, tuple | list) else (values,)
    raise ConfigError(
        "the network's input shapes are not known",
        cause=Cause.BAD_INPUT,
        hint="give shapes (--shape N,N once for each input), or add 'example_inputs' (a tuple of tensors, or a "
        "function that returns one) to the module",
    )


def calibration_inputs(module: Any, home: ModuleType | None) -> list[tuple[Any, ...]]:
    """Calibration sets that the source brings: ``calibration_inputs``, a list of input sets or a function that returns
    one, of the module or beside it. Empty where there is none.

    Raises
    ------
    ConfigError: it is there and holds no set of tensors.
    """
    from torch import Tensor

    for owner in (module, home):
        given = getattr(owner, "calibration_inputs", None)
        if given is not None:
            sets = given() if callable(given) else given
            found = [tuple(s) if isinstance(s, tuple | list) else (s,) for s in sets]
            if not found or not all(isinstance(x, Tensor) for s in found for x in s):
                raise ConfigError(
                    "the network's calibration_inputs hold no set of tensors",
                    cause=Cause.BAD_INPUT,
                    hint="make it a list of tuples of tensors, each tuple as forward takes it",
                )
            return found
    return []


def _import(ref: SourceRef) -> ModuleType:
    path = Path(ref.where)
    try:
        if ref.kind != FILE:
            sys.path.insert(0, os.getcwd())
            return importlib.import_module(ref.where)
        # Its siblings are found as they would be when the file is run.
        sys.path.insert(0, str(path.parent))
        spec = importlib.util.spec_from_file_location(f"corstone_source_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        home = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = home
        spec.loader.exec_module(home)
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"importing {ref.where} failed: {type(error).__name__}: {error}",
            cause=Cause.BAD_INPUT,
            hint="import it in Python to see the whole traceback",
        ) from error
    return home


def _build(found: Any, ref: SourceRef) -> Any:
    from torch import nn

    if not callable(found):
        raise ConfigError(
            f"{ref.where}:{ref.attribute} is {type(found).__name__}, expected an nn.Module or something that makes one"
        )
    try:
        module = found()
    except Exception as error:
        raise ConfigError(
            f"calling {ref.where}:{ref.attribute}() without arguments failed: {type(error).__name__}: {error}",
            cause=Cause.BAD_INPUT,
            hint="name a function that builds the module with its arguments",
        ) from error
    if not isinstance(module, nn.Module):
        raise ConfigError(f"{ref.where}:{ref.attribute}() returned {type(module).__name__}, expected an nn.Module")
    return module
