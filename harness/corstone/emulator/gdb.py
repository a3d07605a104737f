"""Client of QEMU's gdb stub: registers, memory, watchpoints, run and stop.

Source: the remote serial protocol of the GDB manual, appendix E, as QEMU 7.2 and 10.0 speak it for Armv8-M: ``g``
gives r0 to r15 and xPSR, ``P19`` writes xPSR once the target description was read, an access watchpoint stops
*before* the access. Packets may be queued in one write, also before QEMU runs; whatever follows ``c`` would stop the
CPU again, so ``c`` is always last. QEMU waits for no acknowledgement, so none is sent.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from corstone.causes import Cause
from corstone.errors import ToolError

_REGISTERS = struct.Struct("<17I")
_CHUNK = 0x700  # bytes of memory in one packet; QEMU's packets hold 4096 characters
XPSR = 16
_XPSR_NUMBER = 25


class StopKind(Enum):
    """Why the CPU stands still."""

    WATCHPOINT = "watchpoint"
    BREAKPOINT = "breakpoint"
    INTERRUPT = "interrupt"
    EXIT = "exit"
    CLOSED = "closed"


@dataclass(frozen=True)
class Stop:
    """One stop reply; ``status`` is the program's own with kind ``EXIT``."""

    kind: StopKind
    status: int = 0


def packet(text: bytes) -> bytes:
    """A packet with its checksum."""
    return b"$%b#%02x" % (text, sum(text) & 0xFF)


class GdbClient:
    """The stub at the other end of a connected socket. One request at a time, each with the socket's own timeout."""

    def __init__(self, connection: socket.socket, timeout_s: float) -> None:
        self._socket = connection
        self._socket.settimeout(timeout_s)
        self._timeout_s = timeout_s
        self._buffer = b""
        self._packets: deque[bytes] = deque()
        self.running = False
        self.closed = False

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno()

    @property
    def pending(self) -> bool:
        """Whether a packet was read that nobody took yet."""
        return bool(self._packets)

    def send(self, texts: Iterable[bytes]) -> None:
        """Queue packets in one write; ``c`` may only be the last."""
        texts = list(texts)
        try:
            self._socket.sendall(b"".join(map(packet, texts)))
        except OSError:
            self.closed = True
        if texts and texts[-1] == b"c":
            self.running = True

    def receive(self) -> bytes:
        """The next packet's text.

        Raises
        ------
        ToolError: nothing came in time.
        EOFError: QEMU closed the connection.
        """
        while not self._packets:
            self._read(wait=True)
        return self._packets.popleft()

    def ask(self, text: bytes) -> bytes:
        """One request and its answer."""
        self.send([text])
        return self.receive()

    def expect_ok(self, count: int) -> None:
        """Take ``count`` answers that must all be OK.

        Raises
        ------
        ToolError: one is not.
        """
        for _ in range(count):
            answer = self.receive()
            if answer != b"OK":
                raise ToolError(f"QEMU's gdb stub answered {answer[:80]!r}, expected OK", cause=Cause.LAUNCH)

    def poll_stop(self) -> Stop | None:
        """The stop reply when one has come; None while the CPU runs."""
        if not self._packets and not self.closed:
            self._read(wait=False)
        while self._packets:
            stop = _stop(self._packets.popleft())
            if stop is not None:
                self.running = False
                return stop
        return Stop(StopKind.CLOSED) if self.closed else None

    def wait_stop(self) -> Stop:
        """The next stop reply, waited for."""
        while True:
            try:
                stop = _stop(self.receive())
            except EOFError:
                self.running = False
                return Stop(StopKind.CLOSED)
            if stop is not None:
                self.running = False
                return stop

    def interrupt(self) -> Stop:
        """Stop a running CPU."""
        try:
            self._socket.sendall(b"\x03")
        except OSError:
            self.closed = True
        return self.wait_stop()

    def registers(self) -> tuple[int, ...]:
        """r0 to r15 and xPSR at index 16."""
        return parse_registers(self.ask(b"g"))

    def read_memory(self, address: int, size: int) -> bytes | None:
        """Memory as the CPU sees it; None where there is none."""
        starts = range(address, address + size, _CHUNK)
        self.send(b"m%x,%x" % (start, min(_CHUNK, address + size - start)) for start in starts)
        answers = [self.receive() for _ in starts]
        if any(answer.startswith(b"E") for answer in answers):
            return None
        return b"".join(bytes.fromhex(answer.decode()) for answer in answers)

    def _read(self, *, wait: bool) -> None:
        try:
            data = self._socket.recv(65536, 0 if wait else socket.MSG_DONTWAIT)
        except TimeoutError:
            raise ToolError(
                f"QEMU's gdb stub did not answer within {self._timeout_s:g} s",
                cause=Cause.LAUNCH,
                hint="see QEMU's own messages above; the machine may be overloaded",
            ) from None
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.closed = True
            if wait:
                raise EOFError("QEMU closed the connection")
            return
        self._buffer += data
        while (start := self._buffer.find(b"$")) >= 0:
            end = self._buffer.find(b"#", start)
            if end < 0 or len(self._buffer) < end + 3:
                return
            self._packets.append(self._buffer[start + 1 : end])
            self._buffer = self._buffer[end + 3 :]
        self._buffer = b""


def parse_registers(answer: bytes) -> tuple[int, ...]:
    """Registers of a ``g`` answer.

    Raises
    ------
    ToolError: it is not one.
    """
    try:
        values: tuple[int, ...] = _REGISTERS.unpack_from(bytes.fromhex(answer.decode()))
    except (ValueError, struct.error):
        raise ToolError(f"QEMU's gdb stub gave registers as {answer[:40]!r}", cause=Cause.LAUNCH) from None
    return values


def write_register(number: int, value: int) -> bytes:
    """The packet text that writes r0 to r15, or xPSR as number 16."""
    wire = _XPSR_NUMBER if number == XPSR else number
    return b"P%x=%b" % (wire, (value & 0xFFFFFFFF).to_bytes(4, "little").hex().encode())


def _stop(text: bytes) -> Stop | None:
    head = text[:1]
    if head in (b"W", b"X"):
        return Stop(StopKind.EXIT, int(text[1:3], 16))
    if head not in (b"T", b"S"):
        return None
    if b"watch:" in text:
        return Stop(StopKind.WATCHPOINT)
    return Stop(StopKind.BREAKPOINT if text[1:3] == b"05" else StopKind.INTERRUPT)
