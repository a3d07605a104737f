"""A simulator as a process: its own session, a pseudo terminal, an orderly stop, and nothing left behind.

The terminal makes a simulator that buffers its output when it does not see one (the FVPs do) write line by line. The
child gets a new session, so that a Ctrl-C at the harness reaches it only through us, and an environment variable
unique to the boot, by which even a descendant that started its own session is found at the end.
"""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import time
import tty
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol

from corstone.boards.deadlines import Deadlines
from corstone.boards.warm import ServerGone, WarmProcess, WarmServer

_MARK = "CORSTONE_BOOT_ID"
_POLL_S = 0.001
# Without it (macOS) the boot's process group stands in for its processes.
HAS_PROC = os.path.exists("/proc/self/stat")


class LaunchFailed(Exception):
    """The operating system did not start the program. ``error`` is its reason."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Process(Protocol):
    """What is needed of a process once it was started."""

    @property
    def pid(self) -> int:
        """Process id."""

    def poll(self) -> int | None:
        """Exit status, None while it runs."""


class SimulatorProcess:
    """Context manager around one simulator. Leaving it stops whatever still runs, hard if need be.

    ``warm`` is a server that has the simulator imported: then that forks instead of the system starting ``argv``.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        deadlines: Deadlines,
        warm: WarmServer | None = None,
    ) -> None:
        self.argv = tuple(argv)
        self._warm = warm
        self.cwd = cwd
        self.deadlines = deadlines
        self.boot_id = uuid.uuid4().hex
        self._env = dict(env) | {_MARK: self.boot_id}
        self._process: Process | None = None
        self.console_fd = -1
        self._gone = False
        # Called while waiting for the end: a simulator that prints its statistics must not block on a full terminal.
        self.pump: Callable[[float], None] = time.sleep

    def __enter__(self) -> SimulatorProcess:
        master, slave = pty.openpty()
        try:
            tty.setraw(slave)  # bytes as they come: no CR LF translation, no echo
            self._process = self._start(slave)
        except OSError as error:
            os.close(master)
            raise LaunchFailed(error) from error
        finally:
            os.close(slave)
        self.console_fd = master
        return self

    def _start(self, terminal: int) -> Process:
        if self._warm is not None:
            try:
                return self._warm.start(self.argv, self.cwd, self._env, terminal)
            except ServerGone:
                pass  # nothing was started; the command does the same, only later
        return subprocess.Popen(
            self.argv,
            stdin=subprocess.DEVNULL,
            stdout=terminal,
            stderr=terminal,
            cwd=self.cwd,
            env=self._env,
            start_new_session=True,
        )

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        try:
            if kind is None:
                self.stop()
            else:
                self._signal(signal.SIGINT)
                self._wait(min(self.deadlines.interrupt, 1.0))
                self.kill()
        finally:
            if isinstance(self._process, WarmProcess):
                self._process.close()
            with contextlib.suppress(OSError):
                os.close(self.console_fd)

    @property
    def pid(self) -> int:
        """Process id, which is the session id too."""
        assert self._process is not None
        return self._process.pid

    def status(self) -> int | None:
        """Exit status, negative for a signal, None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def cpu_seconds(self) -> float:
        """CPU time that the live processes of this boot used or stood in line for: tells a busy simulator from one that
        waits, also on a machine so loaded that the busy one gets nothing. Without schedstat only what they used.
        """
        ticks = os.sysconf("SC_CLK_TCK")
        total = 0.0
        for pid in self.survivors():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / ticks
            with contextlib.suppress(OSError, IndexError, ValueError):
                for task in os.listdir(f"/proc/{pid}/task"):
                    total += int(_read(f"/proc/{pid}/task/{task}/schedstat").split()[1]) / 1e9
        return total

    def survivors(self) -> list[int]:
        """Ids of the live processes of this boot: same session, or its mark; without /proc, minus the group's id."""
        if self._gone:
            return []
        if not HAS_PROC:
            return [-self.pid] if _group_lives(self.pid) else []
        mark = f"{_MARK}={self.boot_id}".encode()
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                fields = _read(f"/proc/{name}/stat").rpartition(b")")[2].split()
                # A recycled session id cannot be ours: ours stays reserved until the zombie is reaped at the end.
                if fields[:1] not in ([], [b"Z"]) and (
                    int(fields[3]) == self.pid or mark in _read(f"/proc/{name}/environ")
                ):
                    found.append(int(name))
        return found

    def settle(self, seconds: float) -> bool:
        """Give a simulator whose target is done time to stop by itself; returns whether it and its children did."""
        return self._wait(seconds)

    def stop(self) -> str:
        """Stop in order: INT, TERM, KILL, each to every process of the boot, each with its wait.

        Returns what it took: ``by-itself``, ``int``, ``term`` or ``kill``.
        """
        if self._ended():
            return "by-itself"
        for name, number, wait in (
            ("int", signal.SIGINT, self.deadlines.interrupt),
            ("term", signal.SIGTERM, self.deadlines.terminate),
        ):
            self._signal(number)
            if self._wait(wait):
                return name
        self.kill()
        return "kill"

    def kill(self) -> None:
        """Kill every process of this boot and reap the child."""
        end = time.monotonic() + self.deadlines.kill
        while True:
            self._signal(signal.SIGKILL)
            if self._wait(0.2) or time.monotonic() > end:
                return

    def _ended(self) -> bool:
        """Whether the child and every descendant is gone; once true it stays so."""
        self._gone = self._gone or (self.status() is not None and not self.survivors())
        return self._gone

    def _signal(self, number: int) -> None:
        # By id, not by group: survivors() holds only what is ours, even after the group's number was given away.
        for pid in self.survivors():
            with contextlib.suppress(OSError):
                os.kill(pid, number)

    def _wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while True:
            if self._ended():
                return True
            if time.monotonic() >= end:
                return False
            self.pump(_POLL_S)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # on macOS: only zombies are left
        return False
    return True


def _read(path: str) -> bytes:
    """A file of /proc, empty when the process is gone or not ours; plain calls, as there are hundreds a boot."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)
