"""The harness's side of the warm emulator: one server a process, which forks a child for each boot.

A boot then saves the half second that Python, numpy and the NPU model take to start. What runs in the child is
``corstone-emulator``'s own entry point with the same arguments, folder, environment and terminal. ``CORSTONE_WARM=0``
turns it off; where a server cannot be had, a boot starts the command as usual. The server ends with this process,
however that ends. Leaves out the server itself (``emulator/server.py``).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ENVIRONMENT = "CORSTONE_WARM"
_START_S = 30.0
# A child inherits what its server has; after so many boots a new server bounds whatever may pile up.
_BOOTS = 1000


class ServerGone(Exception):
    """The server did not answer; nothing was started."""


class WarmProcess:
    """A boot's process. Has what the session needs of ``subprocess.Popen``."""

    def __init__(self, channel: socket.socket, pid: int) -> None:
        self.pid = pid
        self._channel = channel
        self._status: int | None = None

    def poll(self) -> int | None:
        """Exit status, negative for a signal, None while it runs. A dead server has taken its children along."""
        if self._status is None and select.select([self._channel], [], [], 0)[0]:
            line = _line(self._channel, 5.0)
            self._status = int(line) if line else -signal.SIGKILL
            self._channel.close()
        return self._status

    def close(self) -> None:
        """Give the boot up; the server kills it if it still runs."""
        self._channel.close()


class WarmServer:
    """A running server; ``start`` may be called from several threads."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.boots = 0
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            # One thread for linear algebra: the NPU model uses no more, and a process with threads is not to be forked.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "corstone.emulator.server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether this process may ask it for another boot."""
        return self.owner == os.getpid() and self.boots < _BOOTS and self._process.poll() is None

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], terminal: int) -> WarmProcess:
        """Begin a boot on a terminal.

        Raises
        ------
        ServerGone: it died or does not answer.
        """
        ours, theirs = socket.socketpair()
        request = json.dumps({"argv": list(argv), "cwd": str(cwd), "env": dict(env)}).encode() + b"\n"
        try:
            with theirs, self._lock:
                self.boots += 1
                sent = socket.send_fds(self._socket, [request], [terminal, theirs.fileno()])
                self._socket.sendall(request[sent:])
            pid = _line(ours, _START_S)
            if not pid:
                raise ServerGone("no answer")
        except (OSError, ServerGone) as error:
            ours.close()
            self.close()
            raise ServerGone(str(error)) from error
        except BaseException:
            ours.close()
            raise
        return WarmProcess(ours, int(pid))

    def close(self) -> None:
        """End it, and every boot it still has."""
        if self.owner != os.getpid():
            return
        self._socket.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10.0)


_current: WarmServer | None = None
_guard = threading.Lock()


def server() -> WarmServer | None:
    """The server of this process, started when it is not there; None where it is turned off or cannot be.

    It needs process descriptors and a parent's death as a signal, so Linux.
    """
    global _current
    if os.environ.get(ENVIRONMENT) == "0" or not hasattr(os, "pidfd_open") or not sys.platform.startswith("linux"):
        return None
    with _guard:
        if _current is None or not _current.usable:
            if _current is not None:
                with contextlib.suppress(OSError):
                    _current.close()
            try:
                _current = WarmServer()
            except OSError:
                return None
        return _current


@atexit.register
def shut_down() -> None:
    """End the server now; the next boot starts another."""
    global _current
    with _guard:
        if _current is not None:
            _current.close()
        _current = None


def _line(channel: socket.socket, seconds: float) -> bytes:
    """A line; empty at the end of the stream or of the time."""
    data = b""
    end = time.monotonic() + seconds
    while not data.endswith(b"\n"):
        if not select.select([channel], [], [], max(0.0, end - time.monotonic()))[0]:
            return b""
        try:
            # Byte by byte: the status may already stand behind the process id.
            more = channel.recv(1)
        except OSError:
            return b""
        if not more:
            return b""
        data += more
    return data
