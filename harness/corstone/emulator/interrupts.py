"""SIGINT, SIGTERM and the alarm of ``--timelimit``, as events of the loop and as an exception inside a long NPU run."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType, TracebackType

_CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """The NPU model was stopped in the middle; the loop says by what."""


class Signals:
    """Context manager. ``received`` is the number of the first signal, 0 for none; ``fd`` is readable then."""

    def __init__(self) -> None:
        self.received = 0
        self.fd = -1
        self._write = -1
        self._breakable = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        self.fd, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        for number in (*_CAUGHT, signal.SIGALRM):
            self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        os.close(self.fd)
        os.close(self._write)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            self.received = self.received or number
            with contextlib.suppress(BlockingIOError):
                os.write(self._write, b"!")
        if self._breakable:
            self._breakable = False
            raise Interrupted

    @contextlib.contextmanager
    def breakable(self, seconds: float | None) -> Iterator[None]:
        """Inside, a signal or the passing of ``seconds`` raises ``Interrupted``."""
        self._breakable = True
        try:
            if self.received:
                raise Interrupted
            if seconds is not None:
                signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
            yield
        finally:
            self._breakable = False
            if seconds is not None:
                signal.setitimer(signal.ITIMER_REAL, 0)
