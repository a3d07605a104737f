"""Finds the device at an address and cuts accesses of any width out of its 32-bit registers."""

from __future__ import annotations

from collections.abc import Iterable

from corstone.causes import Cause
from corstone.emulator.devices.device import Device
from corstone.emulator.thumb import Access
from corstone.errors import DeviceFault


class Bus:
    """Device windows by address. ``windows`` are (base, size, device)."""

    def __init__(self, windows: Iterable[tuple[int, int, Device]]) -> None:
        self.windows = tuple(windows)

    def find(self, address: int) -> tuple[Device, int]:
        """The device and the offset in it.

        Raises
        ------
        DeviceFault: no window holds the address.
        """
        for base, size, device in self.windows:
            if base <= address < base + size:
                return device, address - base
        raise DeviceFault(
            f"no device model at {address:#010x}", cause=Cause.UNSUPPORTED, evidence={"address": f"{address:#010x}"}
        )

    def load(self, access: Access) -> list[int]:
        """Values for the registers of a load, extended to 32 bits."""
        values = []
        for i in range(len(access.registers)):
            value = self._read(access.address + i * access.size, access.size)
            if access.signed and value >> (access.size * 8 - 1):
                value |= 0xFFFFFFFF << access.size * 8 & 0xFFFFFFFF
            values.append(value)
        return values

    def store(self, access: Access, registers: tuple[int, ...]) -> None:
        """Carry out a store of CPU registers."""
        for i, number in enumerate(access.registers):
            self._write(access.address + i * access.size, access.size, registers[number])

    def _read(self, address: int, size: int) -> int:
        value = 0
        done = 0
        while done < size:  # more than one turn only for an unaligned access
            device, offset = self.find(address + done)
            lane = offset & 3
            count = min(4 - lane, size - done)
            part = device.read(offset - lane) >> lane * 8 & (1 << count * 8) - 1
            value |= part << done * 8
            done += count
        return value

    def _write(self, address: int, size: int, value: int) -> None:
        done = 0
        while done < size:
            device, offset = self.find(address + done)
            lane = offset & 3
            count = min(4 - lane, size - done)
            part = value >> done * 8 & (1 << count * 8) - 1
            if count < 4:  # the other bytes of the register keep their value, as with APB strobes
                mask = (1 << count * 8) - 1 << lane * 8
                part = device.read(offset - lane) & ~mask | part << lane * 8
            device.write(offset - lane, part & 0xFFFFFFFF)
            done += count
