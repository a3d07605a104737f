"""The console of a running simulator: pexpect on its terminal, with three deadlines and the raw bytes on disk.

Every byte goes to ``console.log`` as it came. Waiting ends on a marker, at the end of the process, or at a deadline,
and says which. What the text means is read afterwards, by ``corstone.transcript``.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pexpect
import pexpect.fdpexpect

from corstone.boards.deadlines import Deadlines

_TAIL = 4096
_SLICE_S = 0.05


@dataclass(frozen=True)
class Marker:
    """Text by which the target says that it is done. ``pattern`` is searched in the raw bytes."""

    name: str
    pattern: re.Pattern[bytes]


EOT = Marker("eot", re.compile(rb"\x04"))
EXIT_CODE = Marker("exit-code", re.compile(rb"(?m)^Application exit code: -?\d+\.?\s*$"))
TAG = Marker("tag", re.compile(rb"(?m)^EXITTHESIM\s*$"))
COMPLETE = Marker("complete", re.compile(rb"(?m)Program complete, exiting\.\s*$"))
COMMON_MARKERS = (EOT, EXIT_CODE, TAG, COMPLETE)

# A fault handler spoke: what follows is at most its register dump, then a loop.
FAULTS = (
    re.compile(rb"(?m)^Hard fault\b[^\n]*(?:\n[^\n]*)?\bcfsr="),
    re.compile(rb"caught by function \w+_Handler"),
    re.compile(rb"(?m)^FAULT \w+ .*cfsr="),
)


@dataclass(frozen=True)
class Turns:
    """Several pieces of work one after the other: each begins where ``begin`` matches anew, and may take ``total_s``.

    The group ``turn`` of the pattern tells one beginning from the next.
    """

    begin: re.Pattern[bytes]
    total_s: float


@dataclass(frozen=True)
class Waited:
    """How waiting ended: ``marker`` or ``deadline`` (which, in ``name``), ``exit``, ``fault`` or ``flood``."""

    kind: str
    name: str = ""
    seconds: float = 0.0
    silent_s: float = 0.0


class Console:
    """Reads a terminal's master side into a log file; a context manager over the file."""

    def __init__(self, fd: int, log: Path, limit: int = 16 << 20) -> None:
        self._spawn = pexpect.fdpexpect.fdspawn(fd, timeout=None, maxread=65536)
        self._file = log.open("wb", buffering=0)  # so that it can be followed, and survives us
        self._limit = limit
        self._tail = b""
        self._last = self._began = time.monotonic()
        self.size = 0
        self.closed = False
        # When the first byte that is the target's own came; a simulator's banner does not count as a start.
        self.first_target_byte: float | None = None

    def __enter__(self) -> Console:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        self.drain()
        self._file.close()

    def read(self, timeout: float) -> bytes:
        """What came within ``timeout`` seconds; empty for nothing, and for the end (then ``closed`` is set)."""
        if self.closed:
            return b""
        try:
            data: bytes = self._spawn.read_nonblocking(size=65536, timeout=timeout)
        except pexpect.TIMEOUT:
            return b""
        except pexpect.EOF:
            self.closed = True
            return b""
        if data:
            self._last = time.monotonic()
            if self.size < self._limit:
                self._file.write(data[: self._limit - self.size])
            self.size += len(data)
            self._tail = (self._tail + data)[-_TAIL - len(data) :]
        return data

    def pump(self, timeout: float) -> None:
        """Read once; sleep the time away when the terminal is closed."""
        if self.closed:
            time.sleep(timeout)
        else:
            self.read(timeout)

    def drain(self) -> None:
        """Take what is still in the terminal, without waiting for more."""
        for _ in range(1024):
            if not self.read(0.0):
                break

    def wait(
        self,
        markers: tuple[Marker, ...],
        deadlines: Deadlines,
        status: Callable[[], int | None],
        started: Callable[[bytes], bool],
        turns: Turns | None = None,
    ) -> Waited:
        """Read until a marker, the end of the process, a deadline, or too much text.

        ``deadlines.total`` is that of everything, ``turns`` what each part of it may take. ``status`` is polled, as a
        grandchild may keep the terminal open after the simulator ended. ``started`` tells from the bytes so far (the
        last 4 KB) whether the target itself has printed.
        """
        turn, since = b"", self._began
        while True:
            ended = status() is not None
            data = self.read(0.0 if ended else _SLICE_S)
            now = time.monotonic()
            waited, silent = now - self._began, now - self._last
            if data:
                for marker in markers:
                    if marker.pattern.search(self._tail):
                        return Waited("marker", marker.name, waited, silent)
                if any(pattern.search(self._tail) for pattern in FAULTS):
                    return Waited("fault", "", waited, silent)
                if self.first_target_byte is None and started(self._tail):
                    self.first_target_byte = now
                if turns is not None and (last := _last_turn(turns, self._tail)) not in (b"", turn):
                    turn, since = last, now
                self._tail = self._tail[-_TAIL:]
                if self.size > self._limit:
                    return Waited("flood", "", waited, silent)
            elif ended or self.closed:
                return Waited("exit", "", waited, silent)
            name = self._passed(waited, silent, deadlines)
            if turns is not None and now - since >= turns.total_s:
                name = "total"
            if name:
                return Waited("deadline", name, waited, silent)

    def _passed(self, waited: float, silent: float, deadlines: Deadlines) -> str:
        if waited >= deadlines.total:
            return "total"
        if self.first_target_byte is None:
            return "start" if waited >= deadlines.start else ""
        return "progress" if silent >= deadlines.progress else ""


def _last_turn(turns: Turns, text: bytes) -> bytes:
    """What tells the last turn that begins in the text; empty when none does."""
    found = b""
    for match in turns.begin.finditer(text):
        found = match["turn"]
    return found
