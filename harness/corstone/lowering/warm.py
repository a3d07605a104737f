"""The harness's side of the compile server: one a process, which forks a child for each folder of requests.

The five seconds that torch and ExecuTorch take to import are then spent once a process and not once a compilation. The
child is what the command would be: folder, environment, umask, log and standard input are the request's own. A server
is not asked again when the environment, the limits of the process or our own code have changed since it was started,
as the libraries may have been imported otherwise. ``CORSTONE_WARM=0`` turns it off. Leaves out the server itself
(``server``).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import resource
import threading
from dataclasses import dataclass
from pathlib import Path

from corstone.forkserver.client import SUPPORTED, Forked, ForkServer, ServerGone

__all__ = ["CompileServer", "ServerGone", "running", "server", "shut_down"]

ENVIRONMENT = "CORSTONE_WARM"
START_S = 180.0
_PACKAGE = Path(__file__).parent.parent
# A child inherits what its server has; after so many children a new server bounds whatever may pile up.
_CHILDREN = 500
# Of no meaning to a library that is being imported: ours, pytest's running test, the terminal's.
_HARMLESS = re.compile(r"CORSTONE_\w*|PYTEST_\w*|PWD|OLDPWD|SHLVL|COLUMNS|LINES|_")


@dataclass(frozen=True)
class _State:
    """What a server has taken over from this process when it was started."""

    environment: frozenset[tuple[str, str]]
    limits: tuple[tuple[int, int], ...]
    code: tuple[tuple[str, int], ...]

    @staticmethod
    def now() -> _State:
        kept = frozenset((name, value) for name, value in os.environ.items() if not _HARMLESS.fullmatch(name))
        limits = tuple(
            resource.getrlimit(getattr(resource, name)) for name in sorted(dir(resource)) if name.startswith("RLIMIT_")
        )
        code = (path for folder in ("quantize", "lowering") for path in (_PACKAGE / folder).glob("*.py"))
        return _State(kept, limits, tuple(sorted((str(path), path.stat().st_mtime_ns) for path in code)))


class CompileServer(ForkServer):
    """A running server; ``start`` may be called from several threads."""

    def __init__(self, state: _State) -> None:
        super().__init__("corstone.lowering.server", _CHILDREN, start_s=START_S, options=("-X", "faulthandler"))
        self.state = state

    def start(self, folder: Path, closing: int, log: int) -> Forked:
        """Begin a child on a folder of requests.

        Parameters
        ----------
        closing: read end of a pipe whose other end closes when this process dies; the child's standard input.
        log: the child's output.

        Raises
        ------
        ServerGone: it died or does not answer.
        """
        request = {"folder": str(folder), "cwd": os.getcwd(), "env": dict(os.environ), "umask": _umask()}
        return self.fork(request, [closing, log])


_current: CompileServer | None = None
_guard = threading.Lock()


def server() -> CompileServer | None:
    """The server of this process, started when none fits; None where it is turned off or cannot be."""
    global _current
    if os.environ.get(ENVIRONMENT) == "0" or not SUPPORTED:
        return None
    with _guard:
        state = _State.now()
        if _current is None or not _current.usable or _current.state != state:
            _end()
            try:
                _current = CompileServer(state)
            except OSError:
                return None
        return _current


def running() -> CompileServer | None:
    """The server when one is running that fits; none is started for little work."""
    with _guard:
        fits = _current is not None and _current.usable and _current.state == _State.now()
        return _current if fits and os.environ.get(ENVIRONMENT) != "0" else None


@atexit.register
def shut_down() -> None:
    """End the server now; the next compilation starts another."""
    with _guard:
        _end()


def _end() -> None:
    global _current
    if _current is not None:
        with contextlib.suppress(OSError):
            _current.close()
    _current = None


def _umask() -> int:
    """Of this process; asking by ``os.umask`` would change it for other threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022
