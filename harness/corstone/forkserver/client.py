"""The harness's side of a fork server: starts it, asks for children, and sees their ends.

A server ends with this process, however that ends. Leaves out which server is asked when (``boards/warm``,
``lowering/warm``).
"""

from __future__ import annotations

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
from typing import Any

SUPPORTED = hasattr(os, "pidfd_open") and sys.platform.startswith("linux")


class ServerGone(Exception):
    """The server did not answer; nothing was started."""


class Forked:
    """A child of a server. Has what callers need of ``subprocess.Popen``."""

    def __init__(self, channel: socket.socket, pid: int) -> None:
        self.pid = pid
        self._channel = channel
        self._status: int | None = None

    def poll(self) -> int | None:
        """Exit status, negative for a signal, None while it runs. A dead server has taken its children along."""
        return self.wait(0)

    def wait(self, seconds: float) -> int | None:
        """``poll``, after waiting for the end for that long."""
        if self._status is None and select.select([self._channel], [], [], seconds)[0]:
            line = _line(self._channel, 5.0)
            self._status = int(line) if line else -signal.SIGKILL
            self._channel.close()
        return self._status

    def close(self) -> None:
        """Give it up; the server kills it if it still runs."""
        self._channel.close()


class ForkServer:
    """A running server of ``python -m module``; ``start`` may be called from several threads."""

    def __init__(
        self, module: str, most: int, *, start_s: float, options: Sequence[str] = (), **environment: str
    ) -> None:
        self.owner = os.getpid()
        self.started = 0
        self._most = most
        self._start_s = start_s
        self._lock = threading.Lock()
        self._socket, theirs = socket.socketpair()
        with theirs:
            # One thread for linear algebra: a process with threads is not to be forked.
            self._process = subprocess.Popen(
                [sys.executable, "-P", *options, "-m", module, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **environment},
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether this process may ask it for another child."""
        return self.owner == os.getpid() and self.started < self._most and self._process.poll() is None

    def fork(self, request: Mapping[str, Any], fds: Sequence[int]) -> Forked:
        """Begin a child on a request and descriptors of its own.

        Raises
        ------
        ServerGone: it died or does not answer.
        """
        ours, theirs = socket.socketpair()
        line = json.dumps(dict(request)).encode() + b"\n"
        try:
            with theirs, self._lock:
                self.started += 1
                sent = socket.send_fds(self._socket, [line], [*fds, theirs.fileno()])
                self._socket.sendall(line[sent:])
            pid = _line(ours, self._start_s)
            if not pid:
                raise ServerGone("no answer")
        except (OSError, ServerGone) as error:
            ours.close()
            self.close()
            raise ServerGone(str(error)) from error
        except BaseException:
            ours.close()
            raise
        return Forked(ours, int(pid))

    def close(self) -> None:
        """End it, and every child it still has."""
        if self.owner != os.getpid():
            return
        self._socket.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10.0)


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
