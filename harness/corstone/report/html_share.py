"""The details of a large page, drawn and packed by as many processes as there are processors.

Drawing is the only part of a page that grows with what the cases hold; done in one process it would be the serial part
of a large run. A helper is a new process (never a fork: the caller may have threads) that reads its share, writes its
lines and leaves. What a helper did not do, the caller does. Small pages have none.

    python -m corstone.report.html_share SHARE LINES        what the caller starts
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from corstone.report.html_pack import pack

Maker = Callable[[], dict[str, Any]]
LEAST = 150
"""Cases of a share: fewer are drawn in less time than a helper takes to start."""
_START_S, _CASE_S = 60.0, 1.0


def lines(makers: Sequence[Maker], processes: int | None = None) -> Generator[str, None, None]:
    """A packed line for each, in their order.

    Parameters
    ----------
    makers: called here or in a helper, so they should be functions that pickle knows (``functools.partial`` of one in
        a module); others are called here.
    processes: at most so many at once; None: the processors this process may use.
    """
    count = min(len(os.sched_getaffinity(0)) if processes is None else processes, len(makers) // LEAST)
    if count < 2:
        yield from map(_line, makers)
        return
    ends = [len(makers) * n // count for n in range(count + 1)]
    shares = [makers[a:b] for a, b in itertools.pairwise(ends)]
    with contextlib.ExitStack() as started:
        folder = Path(started.enter_context(tempfile.TemporaryDirectory(prefix="corstone-page-")))
        helpers = [started.enter_context(_Helper(folder / str(n), share)) for n, share in enumerate(shares[1:])]
        yield from map(_line, shares[0])
        for helper in helpers:
            yield from helper.lines()


def _line(maker: Maker) -> str:
    return pack(maker())


class _Helper:
    """A process that draws a share; closing kills it."""

    def __init__(self, place: Path, share: Sequence[Maker]) -> None:
        self._share, self._out = share, place.with_suffix(".lines")
        self._process: subprocess.Popen[bytes] | None = None
        try:
            place.write_bytes(pickle.dumps(list(share)))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(place), str(self._out)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, pickle.PicklingError, AttributeError, TypeError):
            pass  # no room, no process, or a maker of somebody else's: ``lines`` draws them

    def lines(self) -> Iterator[str]:
        """Its lines, or ours where it has not given all of them in time."""
        done: list[str] = []
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired, OSError):
                if self._process.wait(_START_S + _CASE_S * len(self._share)) == 0:
                    done = self._out.read_text(encoding="ascii").splitlines()
        yield from done if len(done) == len(self._share) else map(_line, self._share)

    def __enter__(self) -> _Helper:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def main(share: Path, out: Path) -> None:
    """Draw a share; ends when the process that wants it has gone."""
    caller = os.getppid()
    with out.open("w", encoding="ascii") as stream:
        for maker in pickle.loads(share.read_bytes()):
            if os.getppid() != caller:
                raise SystemExit("nobody waits for these lines any more")
            stream.write(_line(maker) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
