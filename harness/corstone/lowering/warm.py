"""The harness's side of the compile server: one a process, which forks a child for each folder of requests.

The five seconds that torch and ExecuTorch take to import are then spent once a process and not once a compilation. The
child is what the command would be: folder, environment, umask, log and standard input are the request's own. A server
is not asked again when the environment, the limits of the process or our own code have changed since it was started,
as the libraries may have been imported otherwise. ``CORSTONE_WARM=0`` turns it off. Leaves out the server itself
(``server``).
"""

from __future__ import annotations

import os
import re
import resource
from dataclasses import dataclass
from pathlib import Path

from corstone.forkserver.client import Forked, ForkServer, ServerGone
from corstone.forkserver.kept import Kept

__all__ = ["CompileServer", "ServerGone", "running", "server", "shut_down"]

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

    def __init__(self) -> None:
        super().__init__("corstone.lowering.server", _CHILDREN, start_s=START_S, options=("-X", "faulthandler"))

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


_kept = Kept(CompileServer, _State.now)
server, running, shut_down = _kept.get, _kept.running, _kept.shut_down


def _umask() -> int:
    """Of this process; asking by ``os.umask`` would change it for other threads."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("Umask:"):
            return int(line.split()[1], 8)
    return 0o022
