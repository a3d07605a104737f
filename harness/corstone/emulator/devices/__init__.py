"""Device models where QEMU has none: the NPU's registers, timing adapters, a UART, and named placeholders."""

from corstone.emulator.devices.bus import Bus
from corstone.emulator.devices.device import Device

__all__ = ["Bus", "Device"]
