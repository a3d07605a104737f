"""The device models of a board on one bus, and the NPU model behind its registers.

Imported while QEMU starts, as is the model with numpy: neither is on the way to the start.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from corstone.emulator.console import Console
from corstone.emulator.devices.bus import Bus
from corstone.emulator.devices.device import Device
from corstone.emulator.devices.npu import Npu, RunFailed
from corstone.emulator.devices.timing_adapter import TimingAdapter
from corstone.emulator.devices.uart import Uart
from corstone.emulator.devices.unimplemented import Unimplemented
from corstone.emulator.interrupts import Signals
from corstone.emulator.memory import GuestMemory
from corstone.emulator.messages import say
from corstone.emulator.npu.config import NpuConfig
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.interpreter import execute
from corstone.emulator.npu.stats import RunStats
from corstone.emulator.platforms import Platform
from corstone.emulator.qtest import QtestClient
from corstone.emulator.tracefile import TraceFile
from corstone.targets import Target

_UART_RX_IRQ, _UART_TX_IRQ = 33, 34


class Executor:
    """Runs the NPU's command streams on guest memory, with trace and limits.

    ``deadline`` is by ``perf_counter``; ``flush`` lets the console go first when there is something to say.
    """

    def __init__(
        self,
        memory: GuestMemory,
        target: Target,
        signals: Signals,
        trace: Path | None,
        deadline: float | None,
        flush: Callable[[], None],
    ) -> None:
        self.seconds = 0.0
        self._flush = flush
        self._memory = memory
        self._config = NpuConfig.for_target(target.name)
        self._signals = signals
        self._deadline = deadline
        self._trace = None if trace is None else TraceFile(trace)

    def close(self) -> None:
        """Flush the trace."""
        if self._trace is not None:
            self._trace.close()

    def __call__(self, address: int, size: int, bases: list[int]) -> RunStats:
        """What ``devices.npu.Npu`` calls."""
        began = time.perf_counter()
        left = None if self._deadline is None else self._deadline - began
        try:
            with self._signals.breakable(left):
                stream = self._memory.window(address, size, False).tobytes()
                return execute(stream, bases, self._memory, self._config, self._trace)
        except NpuError as error:
            self._flush()
            say(str(error))
            raise RunFailed(error) from error
        finally:
            self._memory.commit()
            self.seconds += time.perf_counter() - began


class Devices:
    """The device models of a platform, with their interrupt lines."""

    def __init__(
        self, platform: Platform, target: Target, qtest: QtestClient, console: Console, execute: Executor
    ) -> None:
        irq = platform.board.npu.irq
        self.npu = Npu(target, execute, lambda level: qtest.set_irq(irq, level))
        self.uart: Uart | None = None
        self._named: list[Unimplemented] = []
        windows: list[tuple[int, int, Device]] = []
        for window in platform.windows:
            device: Device
            if window.kind == "npu":
                device = self.npu
            elif window.kind == "uart":
                device = self.uart = Uart(window.name, console.put, _uart_lines(qtest))
            elif window.kind == "timing-adapter":
                device = TimingAdapter(window.name)
            else:
                device = Unimplemented(window.name)
                self._named.append(device)
            windows += [(base, window.size, device) for base in window.bases]
        self.bus = Bus(windows)

    def notes(self) -> list[str]:
        """What was touched and has no model."""
        lines = [
            f"note: the NPU has no register for {what}, seen {count} times" for what, count in self.npu.seen.items()
        ]
        for device in self._named:
            for (what, offset), count in device.seen.items():
                lines.append(f"note: {device.name} is not modelled: {what} at offset {offset:#x}, seen {count} times")
        return lines


def _uart_lines(qtest: QtestClient) -> Callable[[bool, bool], None]:
    def drive(receive: bool, transmit: bool) -> None:
        qtest.set_irq(_UART_RX_IRQ, receive)
        qtest.set_irq(_UART_TX_IRQ, transmit)

    return drive
