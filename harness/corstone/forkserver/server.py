"""The serving process: forks on request, reports ends, and leaves when its starter is gone.

Started with one end of a socket. A request is a JSON line with descriptors, of which the last is a channel and the
others are the child's: the child's process id goes out on the channel, then its exit status. The child is a session of
its own. A crash ends that child alone; a channel that its holder closes ends it, too. Children die with this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1
_LOOK_MS = 2000
_MOST_FDS = 8

Run = Callable[[dict[str, Any], list[int]], int]
"""In the child: becomes what the request asks for, with the request's own descriptors; returns its exit status."""


class Server:
    """Serves ``requests``; ``run`` is the child's work. Without a request for ``idle_s`` it leaves."""

    def __init__(self, requests: socket.socket, run: Run, idle_s: float | None = None) -> None:
        self._requests = requests
        self._run = run
        self._idle_s = idle_s
        self._parent = os.getppid()
        self._libc = ctypes.CDLL(None)
        self._poll = select.poll()
        self._poll.register(requests, select.POLLIN)
        self._channels: dict[int, socket.socket] = {}
        self._ends: dict[int, tuple[int, int]] = {}  # process descriptor to process id and channel

    def serve(self) -> None:
        """Until the socket closes, the starter is gone, or nobody asked for long."""
        asked = time.monotonic()
        while os.getppid() == self._parent:
            for fd, _ in self._poll.poll(_LOOK_MS):
                if fd == self._requests.fileno():
                    if not self._take():
                        return
                elif fd in self._ends:
                    self._ended(fd)
                elif fd in self._channels:
                    self._abandoned(fd)
                asked = time.monotonic()
            if self._idle_s is not None and not self._ends and time.monotonic() - asked > self._idle_s:
                return

    def close(self) -> None:
        """Kill what still runs."""
        for pid, _ in self._ends.values():
            _kill_session(pid)

    def _take(self) -> bool:
        try:
            data, fds, _, _ = socket.recv_fds(self._requests, 1 << 16, _MOST_FDS)
        except ConnectionResetError:
            return False
        if not data:
            return False
        self._requests.settimeout(5.0)
        while not data.endswith(b"\n"):
            more = self._requests.recv(1 << 16)
            if not more:
                return False
            data += more
        self._start(json.loads(data), fds[:-1], fds[-1])
        return True

    def _start(self, request: dict[str, Any], fds: list[int], channel_fd: int) -> None:
        channel = socket.socket(fileno=channel_fd)
        channel.setblocking(False)
        server = os.getpid()
        pid = os.fork()
        if not pid:
            status = 70
            try:
                self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
                if os.getppid() == server:
                    self._close_all(channel)
                    os.setsid()
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                    status = _status_of(self._run, request, fds)
            finally:
                os._exit(status)
        for fd in fds:
            os.close(fd)
        process = os.pidfd_open(pid)
        self._poll.register(process, select.POLLIN)
        self._poll.register(channel, select.POLLIN)
        self._channels[channel.fileno()] = channel
        self._ends[process] = (pid, channel.fileno())
        _say(channel, pid)

    def _close_all(self, channel: socket.socket) -> None:
        for connection in (self._requests, channel, *self._channels.values()):
            connection.close()
        for process in self._ends:
            os.close(process)

    def _ended(self, process: int) -> None:
        pid, channel_fd = self._ends.pop(process)
        self._poll.unregister(process)
        os.close(process)
        # Before its id can be somebody else's: what it started itself and left.
        _kill_session(pid)
        _, status = os.waitpid(pid, 0)
        channel = self._channels.pop(channel_fd, None)
        if channel is not None:
            self._poll.unregister(channel)
            _say(channel, os.waitstatus_to_exitcode(status))
            channel.close()

    def _abandoned(self, channel_fd: int) -> None:
        """The starter closed a child's channel before its end: nobody wants that child any more."""
        self._poll.unregister(channel_fd)
        self._channels.pop(channel_fd).close()
        for pid, fd in self._ends.values():
            if fd == channel_fd:
                _kill_session(pid)


def become(request: dict[str, Any], streams: tuple[int, int, int]) -> None:
    """In the child: take over streams, environment (``env``) and folder (``cwd``) of a request."""
    for fd, number in zip(streams, range(3), strict=True):
        os.dup2(fd, number)
    for fd in set(streams) - {0, 1, 2}:
        os.close(fd)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]


def serve(number: str, preload: Callable[[], None], run: Run, idle_s: float | None = None) -> None:
    """Be a server on the socket of that descriptor number; ``preload`` imports what the children need."""
    # The starter stops us by closing the socket; a ctrl-C or a TERM to the whole group is its affair.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = Server(socket.socket(fileno=int(number)), run, idle_s)
    preload()
    try:
        server.serve()
    finally:
        server.close()


def _status_of(run: Run, request: dict[str, Any], fds: list[int]) -> int:
    """What the interpreter makes of the end of a main program: its status, its traceback, its streams flushed."""
    try:
        status = run(request, fds)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    return status


def _say(channel: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):
        channel.sendall(b"%d\n" % number)


def _kill_session(pid: int) -> None:
    """The child, and its group once it has one: a child this young may not have become a session yet."""
    for end in (os.kill, os.killpg):
        with contextlib.suppress(OSError):
            end(pid, signal.SIGKILL)
