"""Chooses who plays the board: ``auto``, ``fvp`` or ``emulator``."""

from __future__ import annotations

from pathlib import Path

from corstone.boards.board import Board
from corstone.boards.providers.emulator import find_emulator
from corstone.boards.providers.fvp import find_fvp, is_installed
from corstone.boards.providers.simulator import Simulator
from corstone.errors import ConfigError

PROVIDERS = ("auto", "fvp", "emulator")


def find_simulator(
    board: Board, product: str, provider: str = "auto", fvp_dir: Path | None = None, *, require_fvp: bool = False
) -> Simulator:
    """The simulator to boot on.

    ``auto`` takes the FVP where one is installed and the emulator elsewhere; an FVP that is there but refuses is an
    error, never a silent fall-back. ``require_fvp`` turns ``auto`` into ``fvp`` and refuses ``emulator``.

    Raises
    ------
    ConfigError: unknown provider, or one that contradicts ``require_fvp``.
    ToolError: the provider is missing or refuses.
    """
    if provider not in PROVIDERS:
        raise ConfigError(f"there is no provider {provider!r}", hint="use one of " + ", ".join(PROVIDERS))
    if require_fvp and provider == "emulator":
        raise ConfigError("an FVP is required and the provider is 'emulator'", hint="drop one of the two options")
    name = board.simulator_for(product)
    if provider == "fvp" or require_fvp or (provider == "auto" and is_installed(name, fvp_dir)):
        return find_fvp(name, fvp_dir)
    return find_emulator()
