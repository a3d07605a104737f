"""The harness's side of the warm emulator: one server a process, which forks a child for each boot.

A boot then saves the half second that Python, numpy and the NPU model take to start. What runs in the child is
``corstone-emulator``'s own entry point with the same arguments, folder, environment and terminal; the TOSA reference
model, which needs Python and numpy, too, is forked by it where it is running. ``CORSTONE_WARM=0``
turns it off; where a server cannot be had, a boot starts the command as usual. The server ends with this process,
however that ends. Leaves out the server itself (``emulator/server.py``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from corstone.forkserver.client import Forked, ForkServer, ServerGone
from corstone.forkserver.kept import ENVIRONMENT, Kept

__all__ = ["ENVIRONMENT", "ServerGone", "WarmProcess", "WarmServer", "running", "server", "shut_down"]

_START_S = 30.0
# A child inherits what its server has; after so many boots a new server bounds whatever may pile up.
_BOOTS = 1000

WarmProcess = Forked


class WarmServer(ForkServer):
    """A running server; ``start`` may be called from several threads."""

    def __init__(self) -> None:
        super().__init__("corstone.emulator.server", _BOOTS, start_s=_START_S)

    def start(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], terminal: int) -> WarmProcess:
        """Begin a boot on a terminal, or another command that the server knows, on any file.

        Raises
        ------
        ServerGone: it died or does not answer.
        """
        return self.fork({"argv": list(argv), "cwd": str(cwd), "env": dict(env)}, [terminal])


# A server finds modules where it was started to look for them.
_kept = Kept(WarmServer, lambda: os.environ.get("PYTHONPATH"))
server, running, shut_down = _kept.get, _kept.running, _kept.shut_down
