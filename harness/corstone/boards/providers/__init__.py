"""What plays the board: Arm's FVP or our emulator, found and probed."""

from corstone.boards.providers.select import find_simulator
from corstone.boards.providers.simulator import Simulator, Tried

__all__ = ["Simulator", "Tried", "find_simulator"]
