"""One fork server a process: started when first asked for, replaced when of no more use, ended with the process."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from corstone.forkserver.client import SUPPORTED, ForkServer

ENVIRONMENT = "CORSTONE_WARM"
"""Set to ``0``, it turns every fork server off."""

S = TypeVar("S", bound=ForkServer)


class Kept(Generic[S]):
    """The server that ``make`` starts; a new one when ``state``, which it took over from this process, has changed."""

    def __init__(self, make: Callable[[], S], state: Callable[[], Hashable] = lambda: None) -> None:
        self._make = make
        self._state = state
        self._guard = threading.Lock()
        self._current: tuple[S, Hashable] | None = None
        atexit.register(self.shut_down)

    def get(self) -> S | None:
        """The server, started when none fits; None where it is turned off or cannot be."""
        if not _allowed():
            return None
        with self._guard:
            state = self._state()
            if (found := self._fitting(state)) is not None:
                return found
            self._end()
            try:
                made = self._make()
            except OSError:
                return None
            self._current = made, state
            return made

    def running(self) -> S | None:
        """The server when one is running that fits; none is started for little work."""
        if not _allowed():
            return None
        with self._guard:
            return self._fitting(self._state()) if self._current is not None else None

    def shut_down(self) -> None:
        """End the server now; ``get`` starts another."""
        with self._guard:
            self._end()

    def _fitting(self, state: Hashable) -> S | None:
        if self._current is None:
            return None
        server, taken_over = self._current
        return server if server.usable and taken_over == state else None

    def _end(self) -> None:
        if self._current is not None:
            with contextlib.suppress(OSError):
                self._current[0].close()
        self._current = None


def _allowed() -> bool:
    return SUPPORTED and os.environ.get(ENVIRONMENT) != "0"
