"""A run in progress, read from its ledgers: what is done, what is on the boards, what waits.

The ledgers are merged again at each look, but never for more than a fifth of the time. A test that started and did
not finish is *running* while its process lives on this host (or the ledger of another host is still fresh), and
aborted after that.
"""

from __future__ import annotations

import os
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any

from corstone.dashboard.text import visible
from corstone.ledger.merge import merge
from corstone.ledger.model import Merged, MergedCase, Source, State
from corstone.ledger.writer import boot_id

_FRESH_S = 600.0
_LISTED = 200


class LiveRun:
    """Looks at one folder of ledgers; by default at the newest run in it."""

    def __init__(self, folder: Path, run: str = "") -> None:
        self.folder, self.run = folder, run
        self._next, self._state = 0.0, {"empty": True}

    def state(self) -> dict[str, Any]:
        """Plain data for the page. All text is made visible here; the page still treats it as text."""
        now = time.monotonic()
        if now >= self._next:
            self._state = self._look()
            took = time.monotonic() - now
            self._next = now + max(0.5, 5 * took)
        return self._state

    def _look(self) -> dict[str, Any]:
        if not self.folder.exists():
            return {"empty": True}
        merged = merge([self.folder])
        runs = {s.head["run"]: float(s.head.get("wall", 0)) for s in merged.sources}
        if not runs:
            return {"empty": True}
        run = self.run or max(runs, key=lambda r: runs[r])
        return summary(merged, run)


def summary(merged: Merged, run: str) -> dict[str, Any]:
    """One run as the live page shows it; times in seconds."""
    cases = [c for c in merged.cases if c.run == run]
    sources = [s for s in merged.sources if s.head["run"] == run]
    live = {id(s): alive(s) for s in sources}
    running, words = [], Counter[str]()
    for case in cases:
        word = _word(case, live)
        words[word] += 1
        if word == "running":
            running.append(case)
    done = [c for c in cases if c.state not in {State.NOT_RUN, State.ABORTED}]
    notable = sorted((c for c in done if c.state is not State.PASSED), key=_ended, reverse=True)
    recent = sorted(done, key=_ended, reverse=True)
    begun = min(float(s.head.get("wall", 0)) for s in sources)
    now = time.time()
    busy = any(live.values())
    pace = (now - begun) / len(done) if done else 0.0
    return {
        "run": visible(run),
        "busy": busy,
        "total": len(cases),
        "done": len(done),
        "words": dict(words),
        "elapsed_s": round(now - begun) if busy else None,
        "left_s": round(pace * words["waiting"]) if busy and done else None,
        "running": [_case(c) for c in running[:_LISTED]],
        "notable": [_case(c) for c in notable[:_LISTED]],
        "recent": [_case(c) for c in recent[:20]],
        "properties": {visible(k): visible(v) for k, v in merged.properties.items()},
    }


def alive(source: Source) -> bool:
    """Whether the process that writes a ledger still runs; from another host, whether the file is still fresh."""
    if source.closed:
        return False
    head = source.head
    if head.get("host") == socket.gethostname() and head.get("boot") == boot_id():
        try:
            os.kill(int(head["pid"]), 0)
        except (ProcessLookupError, ValueError, KeyError):
            return False
        except PermissionError:
            return True
        return True
    return time.time() - source.path.stat().st_mtime < _FRESH_S


def _word(case: MergedCase, live: dict[int, bool]) -> str:
    last = case.last
    if last is not None and not last.finished and not case.lost and live.get(id(last.source)):
        return "running"
    if case.state is State.NOT_RUN and any(live.values()):
        return "waiting"
    return case.state.value


def _ended(case: MergedCase) -> float:
    return case.attempts[-1].wall + case.attempts[-1].seconds if case.attempts else 0.0


def _case(case: MergedCase) -> dict[str, Any]:
    return {
        "id": visible(case.test_id),
        "cell": visible(case.cell),
        "state": case.state.value,
        "reason": visible(case.reason),
        "seconds": round(case.seconds, 2),
        "worker": visible(str(case.attempts[-1].source.head.get("worker", ""))) if case.attempts else "",
    }
