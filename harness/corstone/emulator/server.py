"""A process that has imported the emulator once and forks a child for each boot: what ``corstone-emulator`` would do.

Started by ``boards/warm.py`` with one end of a socket as its argument. A request is a JSON line (``argv``, ``cwd``,
``env``) with two descriptors, the boot's terminal and a channel: the child's process id goes out on the channel, then
its exit status. The child is a session of its own and runs the command's own entry point, so a boot is the same as one
of a new process, and a crash ends that boot alone. Children die with this process, and this process with its starter.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1
_LOOK_MS = 2000


def preload() -> None:
    """Import everything that a boot needs, and take it out of the garbage collector's sight."""
    import corstone.emulator.boot
    import corstone.emulator.cli
    import corstone.emulator.features
    import corstone.emulator.machine
    import corstone.emulator.memory
    import corstone.emulator.statistics
    import corstone.emulator.wiring  # noqa: F401

    gc.collect()
    gc.freeze()


class Server:
    """Forks on request, reports ends, and leaves when its starter is gone."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._parent = os.getppid()
        self._libc = ctypes.CDLL(None)
        self._poll = select.poll()
        self._poll.register(requests, select.POLLIN)
        self._channels: dict[int, socket.socket] = {}
        self._ends: dict[int, tuple[int, int]] = {}  # process descriptor to process id and channel

    def serve(self) -> None:
        """Until the socket closes or the starter is gone."""
        while os.getppid() == self._parent:
            for fd, _ in self._poll.poll(_LOOK_MS):
                if fd == self._requests.fileno():
                    if not self._take():
                        return
                elif fd in self._ends:
                    self._ended(fd)
                elif fd in self._channels:
                    self._abandoned(fd)

    def close(self) -> None:
        """Kill what still runs."""
        for pid, _ in self._ends.values():
            _kill_session(pid)

    def _take(self) -> bool:
        try:
            data, fds, _, _ = socket.recv_fds(self._requests, 1 << 16, 2)
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
        self._start(json.loads(data), *fds)
        return True

    def _start(self, request: dict[str, Any], terminal: int, channel_fd: int) -> None:
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
                    status = _run(request, terminal)
            finally:
                os._exit(status)
        os.close(terminal)
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
        _, status = os.waitpid(pid, 0)
        channel = self._channels.pop(channel_fd, None)
        if channel is not None:
            self._poll.unregister(channel)
            _say(channel, os.waitstatus_to_exitcode(status))
            channel.close()

    def _abandoned(self, channel_fd: int) -> None:
        """The starter closed a boot's channel before its end: nobody wants that boot any more."""
        self._poll.unregister(channel_fd)
        self._channels.pop(channel_fd).close()
        for pid, fd in self._ends.values():
            if fd == channel_fd:
                _kill_session(pid)


def _say(channel: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):
        channel.sendall(b"%d\n" % number)


def _kill_session(pid: int) -> None:
    # QEMU is in a group of its own and dies with its parent.
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)


def _run(request: dict[str, Any], terminal: int) -> int:
    """In the child: become what a new process would be, then run the command. Does not return normally."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, fd in ((null, 0), (terminal, 1), (terminal, 2)):
        os.dup2(source, fd)
    os.close(null)
    os.close(terminal)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    argv = request["argv"]
    # What the interpreter would make of "python -m corstone.emulator.cli ...", the command where its script is missing.
    sys.argv = argv[2:] if argv[1:2] == ["-m"] else argv
    from corstone.emulator.cli import main

    return main()


def main() -> None:
    """Entry point: ``python -m corstone.emulator.server FD``."""
    # The starter stops us by closing the socket; a ctrl-C or a TERM to the whole group is its affair.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = socket.socket(fileno=int(sys.argv[1]))
    server = Server(requests)
    preload()
    try:
        server.serve()
    finally:
        server.close()


if __name__ == "__main__":
    main()
