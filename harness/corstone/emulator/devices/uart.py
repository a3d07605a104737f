"""CMSDK APB UART, for boards where QEMU has none at the address.

Offers: transmit (never full: a byte written is a byte sent), receive from a byte source, interrupt status and lines.
Lacks: baud timing. Source: CMSDK technical reference (DDI 0479) chapter 4.3; ``uart_cmsdk_drv``; QEMU
hw/char/cmsdk-apb-uart.c for what clears on write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

_DATA, _STATE, _CTRL, _INT, _BAUDDIV = 0x00, 0x04, 0x08, 0x0C, 0x10
_RX_FULL = 1 << 1
_TX_ENABLE, _RX_ENABLE, _TX_INT_ENABLE, _RX_INT_ENABLE = 1, 2, 4, 8
_TX_INT, _RX_INT = 1, 2
# PID4 to PID7, PID0 to PID3, CID0 to CID3.
_ID = (0x04, 0, 0, 0, 0x21, 0xB8, 0x1B, 0, 0x0D, 0xF0, 0x05, 0xB1)


class Uart:
    """``transmit`` takes each byte sent; ``irq`` is called with (rx line, tx line) when a level changes."""

    def __init__(self, name: str, transmit: Callable[[int], None], irq: Callable[[bool, bool], None]) -> None:
        self.name = name
        self._transmit = transmit
        self._irq = irq
        self._lines = (False, False)
        self._input: deque[int] = deque()
        self._control = 0
        self._status = 0
        self._divider = 0

    def feed(self, data: bytes) -> None:
        """Bytes that arrive from outside."""
        self._input.extend(data)
        self._update()

    def read(self, offset: int) -> int:
        """Register value; reading DATA takes a byte."""
        if offset == _DATA:
            value = self._input.popleft() if self._input else 0
            self._update()
            return value
        if offset == _STATE:
            return _RX_FULL if self._input and self._control & _RX_ENABLE else 0
        if offset == _CTRL:
            return self._control
        if offset == _INT:
            return self._status
        if offset == _BAUDDIV:
            return self._divider
        return _ID[(offset - 0xFD0) // 4] if 0xFD0 <= offset < 0x1000 else 0

    def write(self, offset: int, value: int) -> None:
        """Register write; a byte written while transmission is off is lost."""
        if offset == _DATA:
            if self._control & _TX_ENABLE:
                self._transmit(value & 0xFF)
                if self._control & _TX_INT_ENABLE:
                    self._status |= _TX_INT
        elif offset == _CTRL:
            self._control = value & 0x7F
        elif offset == _INT:
            self._status &= ~value  # a one clears
        elif offset == _BAUDDIV:
            self._divider = value & 0xFFFFF
        self._update()

    def reset(self) -> None:
        """Registers to zero; bytes not yet read stay outside."""
        self._control = self._status = self._divider = 0
        self._update()

    def _update(self) -> None:
        if self._input and self._control & _RX_ENABLE and self._control & _RX_INT_ENABLE:
            self._status |= _RX_INT
        lines = (bool(self._status & _RX_INT), bool(self._status & _TX_INT))
        if lines != self._lines:
            self._lines = lines
            self._irq(*lines)
