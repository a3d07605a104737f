"""Progress of a run of cases: one line a case, and on a terminal a line that says what is being done now."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TextIO

from corstone.causes import Outcome
from corstone.pipeline import CheckRequest
from corstone.report.terminal import safe

_DONE = frozenset(map(str, Outcome))
_DOING = {
    "lower": "compiling, or taking from the cache",
    "boot": "on the board",
    "judge": "comparing with the references",
}


class Lines:
    """A context manager; ``progress`` is what the pipeline calls. ``finished`` holds the ids of finished cases."""

    def __init__(self, requests: Sequence[CheckRequest], stream: TextIO, *, quiet: bool = False) -> None:
        self.stream, self.quiet = stream, quiet
        self.terminal = stream.isatty() and not quiet
        self.total = len(requests)
        self.finished: list[str] = []
        self._began = time.monotonic()
        self._shown = self._lowering = False

    def __enter__(self) -> Self:
        if not self.quiet:
            self._line(f"{self.total} case{'s' if self.total != 1 else ''}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def progress(self, case: str, doing: str) -> None:
        """One step of one case: ``lower``, ``boot``, ``judge``, or its outcome."""
        if doing in _DONE:
            self.finished.append(case)
            seconds, self._began = time.monotonic() - self._began, time.monotonic()
            if not self.quiet:
                self._line(f"[{len(self.finished)}/{self.total}] {doing:<9} {safe(case)}  {seconds:.2f} s")
        elif self.terminal:
            self._show(f"[{len(self.finished) + 1}/{self.total}] {safe(case)}: {_DOING.get(doing, doing)}")

        elif not self.quiet and doing == "lower" and not self._lowering:
            # A log has no line that changes: say once what the first minute of a cold run is spent on.
            self._lowering = True
            self._line(_DOING["lower"])

    def _line(self, text: str) -> None:
        self._clear()
        self.stream.write(text + "\n")
        self.stream.flush()

    def _show(self, text: str) -> None:
        columns = shutil.get_terminal_size().columns
        self.stream.write("\r\x1b[K" + text[: columns - 1])
        self.stream.flush()
        self._shown = True

    def _clear(self) -> None:
        if self._shown:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
            self._shown = False
