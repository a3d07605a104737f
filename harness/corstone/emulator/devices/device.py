"""What a device model is: 32-bit registers behind an offset."""

from __future__ import annotations

from typing import Protocol


class Device(Protocol):
    """Registers of 32 bits. The bus cuts smaller accesses out of them; offsets are multiples of 4."""

    name: str

    def read(self, offset: int) -> int:
        """Value of the register."""
        ...

    def write(self, offset: int, value: int) -> None:
        """Write the register."""
        ...

    def reset(self) -> None:
        """Every field to its reset value."""
        ...
