"""The Ethos-U timing adapter: registers that hold what is written, and the version its driver asks for.

Source: ethos-u-core-driver timing_adapter.c (offsets, widths, version 0x1117). It slows nothing down here: the NPU
model has no memory timing.
"""

from __future__ import annotations

# Offset -> writable bits; version is read-only.
_MASKS = {
    0x00: 0x3F,  # MAXR
    0x04: 0x3F,  # MAXW
    0x08: 0x3F,  # MAXRW
    0x0C: 0xFFF,  # RLATENCY
    0x10: 0xFFF,  # WLATENCY
    0x14: 0xFFFF,  # PULSE_ON
    0x18: 0xFFFF,  # PULSE_OFF
    0x1C: 0xFFFF,  # BWCAP
    0x20: 0x3F,  # PERFCTRL
    0x24: 0xFFFFFFFF,  # PERFCNT
    0x28: 0xFFF,  # MODE
    0x2C: 0xFFFFFFFF,  # MAXPENDING
    0x30: 0xF,  # HISTBIN
    0x34: 0xFFFFFFFF,  # HISTCNT
}
_VERSION_OFFSET, _VERSION = 0x38, 0x1117


class TimingAdapter:
    """One adapter."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._values = dict.fromkeys(_MASKS, 0)

    def read(self, offset: int) -> int:
        """What was written, or the version."""
        return _VERSION if offset == _VERSION_OFFSET else self._values.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Keep the register's bits."""
        if offset in _MASKS:
            self._values[offset] = value & _MASKS[offset]

    def reset(self) -> None:
        """All zero."""
        self._values = dict.fromkeys(_MASKS, 0)
