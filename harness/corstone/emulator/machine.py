"""The event loop around a running QEMU: device accesses, console, semihosting text, limits, faults, the end.

One thread, one ``poll``; nothing sleeps or spins. A stop at a device window takes two round trips to the gdb stub: one
for registers and the instruction (whose address is guessed from the access before), one to write the result and go on.
Leaves out how the machine was made (``qemu.py``) and what devices do (``devices``).
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.emulator import faults, thumb
from corstone.emulator.console import Console, write_all
from corstone.emulator.devices.bus import Bus
from corstone.emulator.endings import FAULT_STATUS, HOST_STATUS, LIMIT_STATUS, End, Kind
from corstone.emulator.gdb import XPSR, StopKind, parse_registers, write_register
from corstone.emulator.interrupts import Interrupted, Signals
from corstone.emulator.qemu import Qemu
from corstone.errors import DeviceFault

_BRANCH_TO_SELF = b"\xfe\xe7"
_IT_MASK = 0x0600FC00
_NOISE = b"warning: nic lan9118.0 has no peer"
_FIRST_INTERRUPT = 16
_NUDGE_MS = 10.0


@dataclass(frozen=True)
class Limits:
    """Seconds, None for none. ``host`` is wall clock from the start of the run, ``running`` counts only guest time."""

    host_s: float | None = None
    cpu_s: float | None = None
    running_s: float | None = None
    running_kind: Kind = Kind.SIMLIMIT


@dataclass
class Counters:
    """Where the time went; seconds but for the counts."""

    stops: int = 0
    devices_s: float = 0.0
    running_s: float = 0.0


class Machine:
    """Drives one boot from the first instruction to an ``End``. ``bus`` is set before ``run``."""

    def __init__(
        self,
        qemu: Qemu,
        console: Console,
        signals: Signals,
        report: Callable[[str], None],
        locate: Callable[[int], str],
    ) -> None:
        self.counters = Counters()
        self._qemu = qemu
        self._gdb = qemu.gdb
        self.bus = Bus(())
        self._console = console
        self._signals = signals
        self._report = report
        self._locate = locate
        self._next_pc: dict[int, int] = {}
        self._last_pc = 0
        self._breakpoints: set[int] = set()
        self._log = b""
        self._log_line = b""
        self._pipes: dict[int, Callable[[bytes], None]] = {
            qemu.uart.fd: console.take,
            qemu.semihosting: lambda data: write_all(1, data),
            qemu.log: self._take_log,
        }
        self._sent = 0
        self._went_at = 0.0

    def start(
        self,
        stack: int,
        entry: int,
        windows: Sequence[tuple[int, int]],
        handlers: Sequence[int],
        stub: tuple[int, bytes] | None,
    ) -> None:
        """Queue everything up to the first instruction. QEMU may still be starting: the socket holds it.

        ``windows`` are (base, size) of what ``bus`` will serve, ``handlers`` the exception vectors to look at.
        ``stub`` is code to run first, with its address; it goes to ``entry`` by itself.
        """
        texts = [b"qXfer:features:read:target.xml:0,ffb"]
        if stub is not None:
            address, code = stub
            texts.append(b"M%x,%x:%b" % (address, len(code), code.hex().encode()))
            entry = address | 1
        texts += [write_register(13, stack), write_register(15, entry & ~1), write_register(XPSR, (entry & 1) << 24)]
        texts += [b"Z4,%x,%x" % (base, size) for base, size in windows]
        self._breakpoints = {address & ~1 for address in handlers if address}
        texts += [b"Z0,%x,2" % address for address in sorted(self._breakpoints)]
        self._sent = len(texts) - 1
        self._gdb.send([*texts, b"c"])

    def ready(self) -> None:
        """Take the answers to ``start``; the CPU runs from here on."""
        self._gdb.receive()
        self._gdb.expect_ok(self._sent)
        self._went_at = time.perf_counter()

    def run(self, limits: Limits, began: float) -> End:
        """Serve until something ends the run. ``began`` is when the host's clock started, by ``perf_counter``.

        Raises
        ------
        ToolError: QEMU no longer answers.
        """
        poll = select.poll()
        pipes = self._pipes
        for fd in (*pipes, self._gdb.fileno(), self._signals.fd):
            poll.register(fd, select.POLLIN)
        uart = self._qemu.uart
        if uart.pending:
            poll.modify(uart.fd, select.POLLIN | select.POLLOUT)
        while True:
            timeout, ended = self._next_limit(limits, began)
            if ended is not None:
                return ended
            # A stop that came in with the answers before it is no longer in the socket.
            pending = self._gdb.pending
            if uart.unread():
                # QEMU's UART does not look at input that came before its receiver was enabled until something wakes it.
                self._qemu.qtest.read(0, 1)
                timeout = min(timeout or _NUDGE_MS, _NUDGE_MS)
            events = poll.poll(0 if pending else timeout)
            ready = [fd for fd, what in events if what & ~select.POLLOUT]
            for fd in ready:
                if fd in pipes:
                    data = _read(fd)
                    if not data:
                        poll.unregister(fd)
                    pipes[fd](data)
            if uart.pending and not uart.feed():
                poll.modify(uart.fd, select.POLLIN)
            if self._console.ended:
                return End(Kind(self._console.ended), 0)
            if self._signals.received:
                return self._signalled()
            if pending or self._gdb.fileno() in ready:
                try:
                    end = self._stopped()
                except Interrupted:
                    end = self._signalled() if self._signals.received else None
                except EOFError:
                    end = self._died()
                if end is not None:
                    self._drain(pipes)
                    return self._console_end() or end

    def flush(self) -> None:
        """Take what the board has sent so far, so that a message of ours comes after it."""
        self._drain(self._pipes)

    def halt(self) -> None:
        """Stop the CPU, if there still is one, so that memory holds still."""
        if self._gdb.running and not self._gdb.closed:
            self._gdb.interrupt()
            self._pause()

    def _console_end(self) -> End | None:
        return End(Kind(self._console.ended), 0) if self._console.ended else None

    def _stopped(self) -> End | None:
        """One look at the gdb stub; None when the CPU runs on."""
        stop = self._gdb.poll_stop()
        if stop is None:
            return None
        self._pause()
        if stop.kind is StopKind.WATCHPOINT:
            try:
                self._access()
            except DeviceFault as fault:
                return End(Kind.UNSUPPORTED, FAULT_STATUS, str(fault))
            if self._console.ended:  # a UART that is a device model
                return End(Kind(self._console.ended), 0)
            return None
        if stop.kind is StopKind.BREAKPOINT:
            return self._at_handler()
        if stop.kind is StopKind.EXIT:
            status = self._qemu.wait(10.0)
            return End(Kind.EXIT, stop.status if status is None or status < 0 else status)
        if stop.kind is StopKind.CLOSED:
            return self._died()
        self._go([])
        return None

    def _access(self) -> None:
        """A load or store at a device window: do it, and step over it."""
        self.counters.stops += 1
        began = time.perf_counter()
        gdb = self._gdb
        guess = self._next_pc.get(self._last_pc, self._last_pc)
        gdb.send([b"g", b"m%x,4" % guess])
        registers = parse_registers(gdb.receive())
        code = gdb.receive()
        pc = registers[15]
        if pc != guess or code[:1] == b"E":
            code = gdb.ask(b"m%x,4" % pc)
            if code[:1] == b"E":  # the last half-word before the end of a memory
                code = gdb.ask(b"m%x,2" % pc)
            self._next_pc[self._last_pc] = pc
        self._last_pc = pc
        access = thumb.decode(bytes.fromhex(code.decode()), pc, registers)
        if access.exclusive:
            # The monitor is inside QEMU and knows nothing of this load, so the store would fail for ever.
            raise DeviceFault(
                f"exclusive access {access.name} at {pc:#010x} to the device at {access.address:#010x} is not modelled",
                cause=Cause.UNSUPPORTED,
                hint="access device registers with plain loads and stores",
            )
        if access.write:
            self.bus.store(access, registers)
            writes = []
        else:
            values = self.bus.load(access)
            writes = [write_register(r, v) for r, v in zip(access.registers, values, strict=True)]
        if access.base >= 0:
            writes.append(write_register(access.base, access.base_value))
        xpsr = registers[XPSR]
        if xpsr & _IT_MASK:
            writes.append(write_register(XPSR, _advance_it(xpsr)))
        writes.append(write_register(15, pc + access.length))
        self.counters.devices_s += time.perf_counter() - began
        self._go(writes)

    def _go(self, writes: list[bytes]) -> None:
        self._went_at = time.perf_counter()
        self._gdb.send([*writes, b"c"])
        self._gdb.expect_ok(len(writes))

    def _pause(self) -> None:
        self.counters.running_s += time.perf_counter() - self._went_at

    def _at_handler(self) -> End | None:
        """At the first instruction of an exception handler from the vector table."""
        registers = self._gdb.registers()
        pc, number = registers[15], registers[XPSR] & 0x1FF
        self._breakpoints.discard(pc)
        remove = b"z0,%x,2" % pc
        loops = self._gdb.read_memory(pc, 2) == _BRANCH_TO_SELF
        if number in faults.FAULTS:
            self.flush()
            text = faults.describe(faults.read_fault(registers, self._gdb.read_memory), self._locate)
            if loops:
                return End(Kind.FAULT, FAULT_STATUS, f"{text}\n  its handler at {self._locate(pc)} loops for ever")
            self._report(text)
        elif loops and number >= _FIRST_INTERRUPT - 2:
            what = f"interrupt {number - _FIRST_INTERRUPT}" if number >= _FIRST_INTERRUPT else f"exception {number}"
            message = f"CPU fault: {what} went to the handler at {self._locate(pc)}, which loops for ever"
            return End(Kind.FAULT, FAULT_STATUS, message)
        self._go([remove])
        return None

    def _died(self) -> End:
        """QEMU is gone without a word on the gdb channel: lockup, abort, kill, or an exit with its packet lost."""
        status = self._qemu.wait(10.0)
        self._drain(self._pipes)
        text = self._log.decode(errors="replace")
        if status is not None and status >= 0 and "fatal" not in text:
            return End(Kind.EXIT, status)
        if "Lockup" in text:
            return End(Kind.LOCKUP, FAULT_STATUS, _lockup(text, self._locate))
        if status == -signal.SIGSYS:
            return End(
                Kind.UNSUPPORTED,
                FAULT_STATUS,
                "the image asked to run a program of the host (semihosting SYS_SYSTEM), which is not allowed here",
            )
        how = "did not end" if status is None else f"ended by signal {-status}" if status < 0 else f"status {status}"
        return End(Kind.QEMU_DIED, HOST_STATUS, f"QEMU died under the machine ({how}), see its messages")

    def _signalled(self) -> End:
        number = self._signals.received
        return End(Kind.SIGNAL, 128 + number)

    def _take_log(self, data: bytes) -> None:
        """Pass on what QEMU, or the guest through ``:tt``, writes to the error output, line by line; keep the tail."""
        self._log = (self._log + data)[-65536:]
        *lines, self._log_line = (self._log_line + data).split(b"\n")
        for line in lines:
            if not line.endswith(_NOISE):
                write_all(2, line + b"\n")

    def _drain(self, pipes: dict[int, Callable[[bytes], None]]) -> None:
        for fd, take in pipes.items():
            while data := _read(fd):
                take(data)

    def close(self) -> None:
        """Pass on everything that is still in the pipes."""
        self._drain(self._pipes)
        if self._log_line:
            write_all(2, self._log_line + b"\n")

    def _next_limit(self, limits: Limits, began: float) -> tuple[float | None, End | None]:
        """Milliseconds to the next limit, and the end when one has passed."""
        left: list[float] = []
        now = time.perf_counter()
        if limits.host_s is not None:
            left.append(limits.host_s - (now - began))
            if left[-1] <= 0:
                return 0, End(Kind.TIMELIMIT, LIMIT_STATUS)
        if limits.running_s is not None:
            running = self.counters.running_s + (now - self._went_at if self._gdb.running else 0)
            left.append(limits.running_s - running)
            if left[-1] <= 0:
                return 0, End(limits.running_kind, LIMIT_STATUS)
        if limits.cpu_s is not None:
            # Several threads can use it up faster than the clock runs.
            left.append((limits.cpu_s - cpu_seconds(self._qemu.pid)) / 2)
            if left[-1] <= 0:
                return 0, End(Kind.CPULIMIT, LIMIT_STATUS)
            left[-1] = max(left[-1], 0.005)
        return (min(left) * 1000 + 0.5, None) if left else (None, None)


def _read(fd: int) -> bytes:
    """What is there; nothing at the end of the stream and when there is nothing."""
    try:
        return os.read(fd, 65536)
    except (BlockingIOError, ConnectionResetError):
        return b""


def cpu_seconds(pid: int) -> float:
    """CPU time of this process and of QEMU so far."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return total
    return total + (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _advance_it(xpsr: int) -> int:
    """The xPSR after one instruction of an IT block (ITSTATE[7:2] in bits 15:10, [1:0] in 26:25)."""
    state = xpsr >> 8 & 0xFC | xpsr >> 25 & 3
    state = 0 if state & 7 == 0 else state & 0xE0 | state << 1 & 0x1F
    return xpsr & ~_IT_MASK | (state & 0xFC) << 8 | (state & 3) << 25


def _lockup(text: str, locate: Callable[[int], str]) -> str:
    """QEMU's last words, with the program counter named."""
    import re

    found = re.search(r"R15=([0-9a-f]{8})", text)
    where = f" at {locate(int(found[1], 16))} (pc=0x{found[1]})" if found else ""
    return f"CPU lockup{where}: a fault inside a fault handler, or a handler that does not exist"
