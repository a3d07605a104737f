"""Boards as data, what plays them, and the session that boots a program on one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corstone.boards.board import Board
    from corstone.boards.deadlines import Deadlines
    from corstone.boards.registry import board_for_target, boards
    from corstone.boards.request import BootRequest
    from corstone.boards.session import boot

__all__ = ["Board", "BootRequest", "Deadlines", "board_for_target", "boards", "boot"]

_HOME = {
    "Board": "board",
    "BootRequest": "request",
    "Deadlines": "deadlines",
    "boot": "session",
    "board_for_target": "registry",
    "boards": "registry",
}


def __getattr__(name: str) -> Any:
    # Loaded on use: the session pulls in pexpect, which a listing of boards does not need.
    import importlib

    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
