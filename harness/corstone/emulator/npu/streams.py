"""Byte streams that an operation reads beside its feature maps: weights and scale records.

Source: ethos-u.md sections 3.3 (BASE and LENGTH registers) and 8. Leaves out their formats.
"""

from __future__ import annotations

from dataclasses import dataclass

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.state import UNSET, Registers
from corstone.emulator.npu.types import Bytes

_ALIGNMENT = 16


@dataclass(frozen=True)
class StreamSource:
    """``length`` bytes at a pointer in a region; ``place`` is the pointer's place among the pointers."""

    name: str
    region: int
    place: int
    length: int

    def read(self, machine: Machine, pointers: list[int]) -> Bytes:
        """The bytes, ``uint8 [length]``.

        Raises
        ------
        NpuError: kind ``parse`` when its base was never set, ``bus`` when it is not aligned or not in memory.
        """
        base = pointers[self.place]
        if base == UNSET:
            raise NpuError("parse", f"{self.name}_BASE was never set")
        address = self.region + base
        if address % _ALIGNMENT:
            raise NpuError("bus", f"{self.name}_BASE at {address:#x} is not aligned to {_ALIGNMENT} bytes")
        return machine.memory.window(address, self.length, False)


def build_streams(machine: Machine, regs: Registers, region: str, names: tuple[str, ...]) -> tuple[StreamSource, ...]:
    """Streams ``names`` (``WEIGHT``, ``WEIGHT1``, ...) of one region register.

    Raises
    ------
    NpuError: kind ``parse``, for registers never set.
    """
    base = machine.region(regs[region])
    return tuple(StreamSource(name, base, machine.pointer[f"{name}_BASE"], regs[f"{name}_LENGTH"]) for name in names)
