"""Finds boards: every module of this package that holds a ``BOARD``. Adding a board adds a file."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from corstone.boards.board import Board
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.targets import target as target_named


@functools.cache
def boards() -> dict[str, Board]:
    """All boards by name."""
    import corstone.boards as package

    found: dict[str, Board] = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("corstone_"):
            board: Board = importlib.import_module(f"{package.__name__}.{module.name}").BOARD
            found[board.name] = board
    return found


def board(name: str) -> Board:
    """The board of that name.

    Raises
    ------
    ConfigError: there is none; the message lists those there are.
    """
    known = boards()
    if name not in known:
        raise ConfigError(f"there is no board {name!r}", hint="use one of " + ", ".join(known))
    return known[name]


def board_for_target(target: str, wanted: str | None = None) -> Board:
    """The board that carries a target; ``wanted`` picks one by name and must carry it.

    Raises
    ------
    ConfigError: unknown target, unknown board, or a board that cannot carry the target.
    """
    target_named(target)
    if wanted is not None:
        chosen = board(wanted)
        if target not in chosen.targets:
            raise ConfigError(
                f"{chosen.name} does not carry {target}",
                cause=Cause.WRONG_TARGET,
                hint=f"targets of {chosen.name}: " + ", ".join(chosen.targets),
            )
        return chosen
    for candidate in boards().values():
        if target in candidate.targets:
            return candidate
    raise ConfigError(f"no board carries {target}", cause=Cause.WRONG_TARGET)
