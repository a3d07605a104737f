"""The NPU's performance counters, fed after each run.

Counts are the model's estimates and order programs by cost; they are no hardware cycles. Event numbers: hal_ethos_u
pmu_ethosu.h. Leaves out overflow interrupts (no counter here comes near its width) and start and stop events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corstone.emulator.devices.npu_registers import PmuLayout


@dataclass(frozen=True)
class Counts:
    """What one run did, as far as events tell."""

    cycles: int
    mac_cycles: int
    bytes_read: int
    bytes_written: int
    stream_bytes: int


# Event number -> its count in one run. AXI0 (SRAM) carries the feature maps, AXI1 (EXT) the command stream: which port
# a weight comes through depends on REGIONCFG, which the model does not follow.
_EVENTS: dict[int, Callable[[Counts, int], int]] = {
    0x11: lambda c, _: c.cycles,  # CYCLE
    0x20: lambda c, _: max(16, c.cycles // 100),  # NPU_IDLE
    0x23: lambda c, _: c.cycles - max(16, c.cycles // 100),  # NPU_ACTIVE
    0x30: lambda c, _: c.mac_cycles,  # MAC_ACTIVE
    0x80: lambda c, beat: c.bytes_read // beat,  # AXI0/SRAM reads accepted
    0x81: lambda c, beat: c.bytes_read // beat,  # ... completed
    0x82: lambda c, beat: c.bytes_read // beat,  # ... data beats
    0x84: lambda c, beat: c.bytes_written // beat,
    0x85: lambda c, beat: c.bytes_written // beat,
    0x87: lambda c, beat: c.bytes_written // beat,  # data beats written
    0x180: lambda c, beat: c.stream_bytes // beat,  # AXI1/EXT reads
    0x181: lambda c, beat: c.stream_bytes // beat,
    0x182: lambda c, beat: c.stream_bytes // beat,
}

_EN_SET, _EN_CLR, _OVS_SET, _OVS_CLR, _INT_SET, _INT_CLR = (0x04 + 4 * i for i in range(6))
_COUNT_ENABLE, _EVENT_RESET, _CYCLE_RESET = 1, 2, 4
_CYCLE_BIT = 1 << 31


class Pmu:
    """State of the counters. ``axi_bytes`` are moved by one data beat."""

    def __init__(self, layout: PmuLayout, axi_bytes: int) -> None:
        self.layout = layout
        self._axi_bytes = axi_bytes
        self.reset()

    def reset(self) -> None:
        """All counters and enables to zero."""
        self._control = 0
        self._sets = {_EN_SET: 0, _OVS_SET: 0, _INT_SET: 0}
        self._cycles = 0
        self._config = {0x28: 0, 0x2C: 0}
        self._events = [0] * self.layout.counters
        self._types = [0] * self.layout.counters

    def read(self, offset: int) -> int | None:
        """Value at a register offset; None where the offset is not the PMU's."""
        if (index := self._event(offset, self.layout.counter_base)) is not None:
            return self._events[index]
        if (index := self._event(offset, self.layout.type_base)) is not None:
            return self._types[index]
        at = offset - self.layout.base
        if at == 0:
            return self._control | self.layout.counters << 11
        if _EN_SET <= at <= _INT_CLR:
            return self._sets[at if at in self._sets else at - 4]
        if at == 0x20:
            return self._cycles & 0xFFFFFFFF
        if at == 0x24:
            return self._cycles >> 32 & 0xFFFF
        return self._config.get(at)

    def write(self, offset: int, value: int) -> bool:
        """Write a register, its value already cut to its bits; False where the offset is not the PMU's."""
        if (index := self._event(offset, self.layout.counter_base)) is not None:
            self._events[index] = value
            return True
        if (index := self._event(offset, self.layout.type_base)) is not None:
            self._types[index] = value
            return True
        at = offset - self.layout.base
        if at == 0:
            self._control = value & 0x9
            if value & _EVENT_RESET:
                self._events = [0] * self.layout.counters
            if value & _CYCLE_RESET:
                self._cycles = 0
        elif at in self._sets:
            self._sets[at] |= value
        elif at in (_EN_CLR, _OVS_CLR, _INT_CLR):
            self._sets[at - 4] &= ~value
        elif at == 0x20:
            self._cycles = self._cycles & ~0xFFFFFFFF | value
        elif at == 0x24:
            self._cycles = self._cycles & 0xFFFFFFFF | (value & 0xFFFF) << 32
        elif at in self._config:
            self._config[at] = value
        else:
            return False
        return True

    def add(self, counts: Counts) -> None:
        """Count one run on whatever is enabled."""
        if not self._control & _COUNT_ENABLE:
            return
        enabled = self._sets[_EN_SET]
        if enabled & _CYCLE_BIT:
            self._cycles = (self._cycles + counts.cycles) & (1 << 48) - 1
        for i, number in enumerate(self._types):
            if enabled >> i & 1 and number in _EVENTS:
                self._events[i] = (self._events[i] + _EVENTS[number](counts, self._axi_bytes)) & 0xFFFFFFFF

    def _event(self, offset: int, base: int) -> int | None:
        index, rest = divmod(offset - base, 4)
        return index if not rest and 0 <= index < self.layout.counters else None
