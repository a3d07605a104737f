"""Client of QEMU's qtest server: interrupt lines, and large reads and writes of guest memory.

Works beside TCG: commands are served between translated blocks. Source: QEMU docs/devel/testing/qtest.rst. Leaves out
the clock commands, which need the qtest accelerator.
"""

from __future__ import annotations

import binascii
import socket

from corstone.causes import Cause
from corstone.errors import ToolError

CPU_INTERRUPTS = "/machine/iotkit/cluster0/armv7m0"


class QtestClient:
    """The qtest server at the other end of a connected socket."""

    def __init__(self, connection: socket.socket, timeout_s: float) -> None:
        self._socket = connection
        self._socket.settimeout(timeout_s)
        self._buffer = bytearray()

    def set_irq(self, number: int, level: bool) -> None:
        """Drive external interrupt ``number`` of the CPU."""
        self._ask(f"set_irq_in {CPU_INTERRUPTS} unnamed-gpio-in {number} {int(level)}".encode())

    def read(self, address: int, size: int) -> bytes:
        """Guest-physical memory."""
        return binascii.a2b_base64(self._ask(b"b64read %#x %#x" % (address, size))) if size else b""

    def write(self, address: int, data: bytes) -> None:
        """Write guest-physical memory."""
        if data:
            encoded = binascii.b2a_base64(data, newline=False)
            self._ask(b"b64write %#x %#x %b" % (address, len(data), encoded))

    def _ask(self, command: bytes) -> bytes:
        try:
            self._socket.sendall(command + b"\n")
            while (end := self._buffer.find(b"\n")) < 0:
                data = self._socket.recv(1 << 20)
                if not data:
                    raise EOFError("QEMU closed the qtest connection")
                self._buffer += data
        except TimeoutError:
            raise ToolError(f"QEMU did not answer qtest {command[:60]!r} in time", cause=Cause.LAUNCH) from None
        except OSError as error:
            raise EOFError(str(error)) from error
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        if not line.startswith(b"OK"):
            raise ToolError(f"QEMU answered qtest {command[:60]!r} with {line[:200]!r}", cause=Cause.LAUNCH)
        return line[3:]
