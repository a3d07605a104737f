"""Progress of a run: counts by verdict, what is on the boards now, and the time left.

``Progress`` counts, ``ProgressLine`` shows: on a terminal one line below pytest's own output, drawn again after each
event; elsewhere a plain line at most every ``every_s`` seconds. Leaves out where events come from: pytest's hooks,
or the ledgers of a run in another process (``corstone report watch``).
"""

from __future__ import annotations

import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_ORDER = (
    "failed",
    "error",
    "crashed",
    "timed-out",
    "no-output",
    "aborted",
    "flaky",
    "xpassed",
    "xfailed",
    "skipped",
    "passed",
)


@dataclass
class Progress:
    """Counts of one run; times in seconds on the monotonic clock."""

    expected_s: dict[str, float] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    running: dict[str, float] = field(default_factory=dict)
    begun: float = field(default_factory=time.monotonic)
    _ids: dict[str, None] = field(default_factory=dict)
    _ended: dict[str, str] = field(default_factory=dict)

    def collected(self, ids: Sequence[str]) -> None:
        """These tests will run."""
        self._ids.update(dict.fromkeys(ids))

    def started(self, test_id: str) -> None:
        """A test is on a board now."""
        self._ids.setdefault(test_id)
        self.running[test_id] = time.monotonic()

    def finished(self, test_id: str, word: str) -> None:
        """A test ended; a later attempt replaces the word of an earlier one."""
        self.running.pop(test_id, None)
        if (before := self._ended.get(test_id)) is not None:
            self.counts[before] -= 1
        self._ended[test_id] = word
        self.counts[word] += 1

    def reported(self, test_id: str, phase: str, outcome: str) -> None:
        """One of pytest's reports: setup, call, teardown, or that of a crashed worker."""
        if phase == "???":
            self.finished(test_id, "aborted")
        elif outcome == "rerun":
            self.running.setdefault(test_id, time.monotonic())
        elif phase == "call" or outcome != "passed":
            word = "error" if outcome == "failed" and phase != "call" else outcome
            if self._ended.get(test_id) not in {"failed", "error"}:
                self.finished(test_id, word)
        else:
            if phase == "teardown":
                self.running.pop(test_id, None)

    @property
    def total(self) -> int:
        """Tests collected."""
        return len(self._ids)

    @property
    def done(self) -> int:
        """Tests ended."""
        return len(self._ended)

    def seconds_left(self) -> float | None:
        """Estimate: by the recorded durations of what is left where all are known, else by the pace so far."""
        left = [i for i in self._ids if i not in self._ended]
        elapsed = time.monotonic() - self.begun
        if not left:
            return 0.0
        if self.expected_s and all(i in self.expected_s for i in left):
            lanes = max(1, len(self.running))
            return sum(self.expected_s[i] for i in left) / lanes
        if self.done == 0:
            return None
        return elapsed / self.done * len(left)

    def text(self, width: int = 200) -> str:
        """The line, at most ``width`` characters, with nothing in it that could move a cursor."""
        words = [w for w in _ORDER if self.counts[w]] + sorted(
            w for w in self.counts if w not in _ORDER and self.counts[w]
        )
        parts = [f"corstone {self.done}/{self.total}", *(f"{self.counts[w]} {w}" for w in words)]
        left = self.seconds_left()
        if left is not None and self.done < self.total:
            parts.append(f"about {duration(left)} left")
        if self.running:
            names = ", ".join(short(i) for i in list(self.running)[:8])
            parts.append("on the boards: " + names)
        line = _CONTROL.sub("?", " | ".join(parts))
        return line if len(line) <= width else line[: width - 3] + "..."


def short(test_id: str) -> str:
    """The test without its file; its parameters may hold any separator."""
    head, bracket, rest = test_id.partition("[")
    return head.rsplit("::", 1)[-1] + bracket + rest


def duration(seconds: float) -> str:
    """``42 s``, ``3 min 20 s`` or ``2 h 05 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


class ProgressLine:
    """Shows a ``Progress`` through ``write``, which gets raw text on a terminal and a whole line elsewhere.

    On a terminal the line lies below the cursor. Room is made by an index (ESC D, which scrolls at the foot and keeps
    the column, as a line feed through a tty does not) and going back up, so pytest's half-written line goes on.
    """

    def __init__(
        self,
        progress: Progress,
        write: Callable[[str], object],
        *,
        terminal: bool,
        every_s: float = 30.0,
    ) -> None:
        self.progress, self._write = progress, write
        self._terminal, self._every_s = terminal, every_s
        self._shown, self._last, self._last_done = False, time.monotonic(), -1

    def clear(self) -> None:
        """Take the line away before somebody else writes."""
        if self._terminal and self._shown:
            self._write("\x1b[J")
            self._shown = False

    def draw(self, force: bool = False) -> None:
        """Show the line again; off a terminal if something has changed, and its time has come or ``force``."""
        now = time.monotonic()
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._write(f"\x1bD\x1b[A\x1b7\x1b[B\r\x1b[2K{self.progress.text(width)}\x1b8")
            self._shown = True
        elif self.progress.done != self._last_done and (force or now - self._last >= self._every_s):
            self._write(self.progress.text())
            self._last, self._last_done = now, self.progress.done

    def finish(self) -> None:
        """The run is over."""
        self.clear()
        if not self._terminal:
            self.draw(force=True)
