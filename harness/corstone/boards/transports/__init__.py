"""How program, inputs and outputs travel to and from the board."""

from __future__ import annotations

from corstone.boards.transports.base import OutputState, Parcel, Transported
from corstone.boards.transports.console import ConsoleOnly
from corstone.boards.transports.firmware import Firmware
from corstone.boards.transports.memory import Memory
from corstone.boards.transports.semihosting import Semihosting
from corstone.runners import Runner, Transport

__all__ = ["OutputState", "Parcel", "Transported", "transport_for"]


def transport_for(runner: Runner, inject: str = "") -> Transported:
    """The transport a runner speaks; ``inject`` is the fault switch of ours."""
    if runner.dialect == "corstone":
        return Firmware(runner, inject)
    if runner.transport is Transport.MEMORY:
        assert runner.window is not None
        return Memory(runner.window)
    if runner.transport is Transport.SEMIHOSTING:
        return Semihosting(runner)
    return ConsoleOnly()
