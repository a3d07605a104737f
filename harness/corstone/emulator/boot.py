"""One boot from options to an ending: check everything, start QEMU, wire the devices, run, dump, report.

Nothing is started before the whole command line and all files have been checked. numpy and the NPU model are imported
while QEMU starts. Leaves out the command line's syntax (``options.py``) and the loop (``machine.py``).
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from corstone.causes import Cause
from corstone.emulator import faults, load
from corstone.emulator.console import Console
from corstone.emulator.endings import Kind, stop_lines
from corstone.emulator.image import Image, Piece, read_file, read_image
from corstone.emulator.interrupts import Signals
from corstone.emulator.memory import SharedDdr
from corstone.emulator.messages import say
from corstone.emulator.options import Options
from corstone.emulator.parameters import Parameters
from corstone.emulator.platforms import Platform
from corstone.emulator.qemu import Qemu, SandboxMissingError, Setup, check_version, find_qemu
from corstone.errors import ConfigError
from corstone.targets import Target

if TYPE_CHECKING:
    from corstone.emulator.machine import Limits
    from corstone.emulator.memory import GuestMemory

COMMAND_LINE_LIMIT = 256
_MACHINE = "mps3-an547"
# Where QEMU's CPU has its vectors at reset: the ITCM by either alias.
_QEMU_VECTORS = (0x00000000, 0x10000000)
_VTOR = 0xE000ED08


@dataclass(frozen=True)
class Board:
    """What is to be played: the platform, its NPU, the parameters."""

    platform: Platform
    target: Target
    parameters: Parameters


def vector_stub(vtor: int, entry: int) -> bytes:
    """Code that sets VTOR and goes to the entry: QEMU ignores writes of the gdb stub to the system control space."""
    code = bytes.fromhex(
        "0448"  # ldr r0, =VTOR
        "0549"  # ldr r1, =vtor
        "0160"  # str r1, [r0]
        "bff34f8f"  # dsb
        "0020"  # movs r0, #0
        "0021"  # movs r1, #0
        "dff80cf0"  # ldr.w pc, =entry
        "00bf"  # nop
    )
    return code + b"".join(word.to_bytes(4, "little") for word in (_VTOR, vtor, entry))


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
        if options.trace is not None:
            _check_writable(options.trace)
        in_file = str(values.board("uart0.in_file"))
        self.uart_input = read_file(Path(in_file), "UART input") if in_file else b""
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
                self.uart_input if self.board.platform.qemu_uart else b"",
            )
            with Signals() as signals:
                try:
                    with Qemu(self.qemu, _MACHINE, setup, ddr) as qemu:
                        return self._run(qemu, ddr, console, signals, began)
                except SandboxMissingError:
                    say("this QEMU has no sandbox: an image that calls SYS_SYSTEM can run programs of this host")
                with Qemu(self.qemu, _MACHINE, replace(setup, sandbox=False), ddr) as qemu:
                    return self._run(qemu, ddr, console, signals, began)
        finally:
            console.close()
            ddr.close()

    def _run(self, qemu: Qemu, ddr: SharedDdr, console: Console, signals: Signals, began: float) -> int:
        # QEMU is starting. Imports come in the order in which they are needed: first what lets the CPU run, then numpy,
        # the NPU model and the devices, while it runs to its first access.
        from corstone.emulator.machine import Machine

        platform, options = self.board.platform, self.options
        locate = faults.locator(self.images[0].path) if self.images else (lambda address: f"{address:#010x}")
        machine = Machine(qemu, console, signals, say, locate)
        windows = [(base, window.size) for window in platform.windows for base in window.bases]
        stack, entry = self.vectors[:2]
        stub = None if self.vtor in _QEMU_VECTORS else (platform.stub, vector_stub(self.vtor, entry))
        machine.start(stack, entry, windows, self.vectors[2:], stub)

        from corstone.emulator.memory import GuestMemory
        from corstone.emulator.wiring import Devices, Executor

        deadline = None if options.timelimit_s is None else began + options.timelimit_s
        memory = GuestMemory(platform, ddr, qemu.qtest)
        npu = Executor(memory, self.board.target, signals, options.trace, deadline, machine.flush)
        devices = Devices(platform, self.board.target, qemu.qtest, console, npu)
        machine.bus = devices.bus
        if devices.uart is not None:
            devices.uart.feed(self.uart_input)
        warning = check_version(qemu.version())
        if warning:
            say(warning)
        machine.ready()
        started = time.perf_counter()
        end = machine.run(_limits(self.board.parameters, options), began)
        finished = time.perf_counter()
        machine.flush()
        if options.dumps and qemu.wait(0) is None:
            machine.halt()
        self._dump(memory, qemu)
        status = end.status
        if end.message:
            say(end.message)
        for line in devices.notes():
            say(line)
        npu.close()
        qemu.kill()
        machine.close()
        if console.mid_line:
            sys.stdout.write("\n")
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


def _limits(parameters: Parameters, options: Options) -> Limits:
    from corstone.emulator.machine import Limits

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
            f"cannot open output file {str(path)!r}: its folder is not there or not writable", cause=Cause.NOT_WRITABLE
        )
