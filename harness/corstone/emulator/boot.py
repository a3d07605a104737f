"""One boot from options to an ending: check everything, start QEMU, wire the devices, run, dump, report.

Nothing is started before the whole command line and all files have been checked. numpy and the NPU model are imported
while QEMU starts. Leaves out the command line's syntax (``options.py``) and the loop (``machine.py``).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corstone.causes import Cause
from corstone.emulator import faults, load
from corstone.emulator.console import Console
from corstone.emulator.devices.bus import Bus
from corstone.emulator.devices.device import Device
from corstone.emulator.devices.npu import Npu, RunFailed
from corstone.emulator.devices.timing_adapter import TimingAdapter
from corstone.emulator.devices.uart import Uart
from corstone.emulator.devices.unimplemented import Unimplemented
from corstone.emulator.endings import End, Kind, stop_lines
from corstone.emulator.image import Image, Piece, read_file, read_image
from corstone.emulator.interrupts import Interrupted, Signals
from corstone.emulator.machine import Limits, Machine
from corstone.emulator.memory import GuestMemory, SharedDdr
from corstone.emulator.options import Options
from corstone.emulator.parameters import Parameters
from corstone.emulator.platforms import Platform
from corstone.emulator.qemu import Qemu, Setup, check_version, find_qemu
from corstone.errors import ConfigError
from corstone.targets import Target

if TYPE_CHECKING:
    from corstone.emulator.npu import RunStats
    from corstone.emulator.qtest import QtestClient

COMMAND_LINE_LIMIT = 256
_MACHINE = "mps3-an547"
_UART_RX_IRQ, _UART_TX_IRQ = 33, 34


@dataclass(frozen=True)
class Board:
    """What is to be played: the platform, its NPU, the parameters."""

    platform: Platform
    target: Target
    parameters: Parameters


def say(text: str) -> None:
    """One message on the error output, by our name."""
    sys.stdout.flush()
    os.write(2, f"corstone-emulator: {text}\n".encode(errors="replace"))


class Boot:
    """The files and settings of one boot, checked."""

    def __init__(self, options: Options, board: Board) -> None:
        self.options = options
        self.board = board
        platform, values = board.platform, board.parameters
        if not options.applications and not options.data:
            raise ConfigError("nothing to boot: no application given", hint="pass -a ELF")
        self.images: list[Image] = [read_image(path) for path in options.applications]
        pieces = [piece for image in self.images for piece in image.pieces]
        pieces += [
            Piece(file.address, memoryview(read_file(file.path, "data")), f"data file {file.path}")
            for file in options.data
        ]
        ranges = [r for image in self.images for r in image.ranges]
        self.placed = load.place(platform, pieces, ranges)
        self.vtor = int(values.values[platform.vectors_parameter])
        self.vectors = load.vectors(platform, self.placed, self.vtor)
        for image in self.images:
            from corstone.emulator.features import check_features

            check_features(image)
        for dump in options.dumps:
            if platform.ram_of(dump.address, max(dump.size, 1)) is None:
                raise ConfigError(
                    f"--dump: there is no memory at {dump.address:#010x}+{dump.size:#x}", cause=Cause.CONFIGURATION
                )
            _check_writable(dump.path)
        in_file = str(values.board("uart0.in_file"))
        if in_file:
            read_file(Path(in_file), "UART input")
        self.uart_input = os.path.abspath(in_file) if in_file else ""
        self.qemu = find_qemu()

    def run(self, began: float) -> int:
        """Boot, and return the exit status. ``began`` is when the process started, by ``perf_counter``."""
        values = self.board.parameters
        console = Console(
            str(values.board("uart0.out_file")),
            bool(values.board("uart0.shutdown_on_eot")),
            str(values.board("uart0.shutdown_tag")),
            self.options.output,
        )
        ddr = SharedDdr()
        try:
            blobs = load.load(self.placed, ddr)
            setup = Setup(
                blobs,
                bool(values.cpu("cpu0.semihosting-enable")),
                str(values.cpu("cpu0.semihosting-cmd_line"))[:COMMAND_LINE_LIMIT],
                str(values.cpu("cpu0.semihosting-cwd")) or ".",
                self.uart_input if self.board.platform.qemu_uart else "",
            )
            with Signals() as signals, Qemu(self.qemu, _MACHINE, setup, ddr) as qemu:
                return self._run(qemu, ddr, console, signals, began)
        finally:
            console.close()
            ddr.close()

    def _run(self, qemu: Qemu, ddr: SharedDdr, console: Console, signals: Signals, began: float) -> int:
        platform, options = self.board.platform, self.options
        memory = GuestMemory(platform, ddr, qemu.qtest)
        npu = Executor(memory, self.board.target, signals, options, began)
        devices = Devices(self.board, qemu.qtest, console, npu)
        locate = faults.locator(self.images[0].path) if self.images else (lambda address: f"{address:#010x}")
        machine = Machine(qemu, devices.bus, console, signals, say, locate)
        stack, entry = self.vectors[:2]
        default = platform.board.vectors == 0x10000000 and self.vtor in (0, 0x10000000)
        machine.start(stack, entry, None if default else self.vtor, self.vectors[2:16])
        if self.uart_input and devices.uart is not None:
            devices.uart.feed(read_file(Path(self.uart_input), "UART input"))
        npu.prepare()
        warning = check_version(qemu.version())
        if warning:
            say(warning)
        machine.ready()
        started = time.perf_counter()
        end = machine.run(_limits(self.board.parameters, options), began)
        finished = time.perf_counter()
        if options.dumps and qemu.wait(0) is None:
            machine.halt()
        self._dump(memory, qemu)
        status = end.status
        if end.message:
            say(end.message)
        if end.kind not in (Kind.LOCKUP, Kind.QEMU_DIED) and machine.log:
            say("QEMU says: " + machine.log)
        for line in devices.notes():
            say(line)
        npu.close()
        qemu.kill()
        sys.stdout.write(stop_lines(end))
        if options.stat:
            from corstone.emulator.statistics import statistics

            sys.stdout.write(statistics(platform, machine.counters, npu.seconds, began, started, finished))
        sys.stdout.flush()
        return status

    def _dump(self, memory: GuestMemory, qemu: Qemu) -> None:
        for dump in self.options.dumps:
            shared = self.board.platform.ram_of(dump.address)
            if shared is not None and not shared[0].shared and qemu.wait(0) is not None:
                say(f"--dump {dump.path}: memory at {dump.address:#010x} is lost, QEMU has ended")
                continue
            data = memory.read(dump.address, dump.size) or b""
            try:
                dump.path.write_bytes(data)
            except OSError as error:
                raise ConfigError(
                    f"cannot write dump {str(dump.path)!r}: {error.strerror}", cause=Cause.NOT_WRITABLE
                ) from error


class Executor:
    """Runs the NPU's command streams on guest memory, with trace and limits."""

    def __init__(
        self, memory: GuestMemory, target: Target, signals: Signals, options: Options, began: float
    ) -> None:  # fmt: skip
        self.seconds = 0.0
        self._memory = memory
        self._target = target
        self._signals = signals
        self._timelimit_s = options.timelimit_s
        self._began = began
        self._trace_path = options.trace
        self._trace: Callable[[object], None] | None = None
        self._trace_close: Callable[[], None] = lambda: None
        if options.trace is not None:
            from corstone.emulator.tracefile import TraceFile

            file = TraceFile(options.trace)
            self._trace, self._trace_close = file, file.close

    def prepare(self) -> None:
        """Import the model, while QEMU starts."""
        import corstone.emulator.npu as npu

        self._config = npu.NpuConfig.for_target(self._target.name)

    def close(self) -> None:
        """Flush the trace."""
        self._trace_close()

    def __call__(self, address: int, size: int, bases: list[int]) -> RunStats:
        """See ``devices.npu.Execute``."""
        from corstone.emulator import npu

        began = time.perf_counter()
        left = None if self._timelimit_s is None else self._timelimit_s - (began - self._began)
        try:
            with self._signals.breakable(left):
                stream = self._memory.window(address, size, False).tobytes()
                return npu.execute(stream, bases, self._memory, self._config, self._trace)
        except npu.NpuError as error:
            say(str(error))
            raise RunFailed(error) from error
        finally:
            self._memory.commit()
            self.seconds += time.perf_counter() - began


class Devices:
    """The device models of a board on one bus, with their interrupt lines."""

    def __init__(self, board: Board, qtest: QtestClient, console: Console, npu: Executor) -> None:
        irq = board.platform.board.npu.irq
        self.npu = Npu(board.target, npu, lambda level: qtest.set_irq(irq, level))
        self.uart: Uart | None = None
        self._named: list[Unimplemented] = []
        windows: list[tuple[int, int, Device]] = []
        for window in board.platform.windows:
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


def _limits(parameters: Parameters, options: Options) -> Limits:
    running, kind = options.simlimit_s, Kind.SIMLIMIT
    if options.cyclelimit is not None:
        clock = int(parameters.values["core_clk.mul"]) / int(parameters.values["core_clk.div"])
        seconds = options.cyclelimit / max(clock, 1)
        if running is None or seconds < running:
            running, kind = seconds, Kind.CYCLELIMIT
    return Limits(options.timelimit_s, options.cpulimit_s, running, kind)


def _check_writable(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ConfigError(
            f"cannot open dump file {str(path)!r}: its folder is not there or not writable", cause=Cause.NOT_WRITABLE
        )


__all__ = ["Board", "Boot", "End", "Interrupted"]
