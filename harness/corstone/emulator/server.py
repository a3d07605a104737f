"""A process that has imported the emulator once and forks a child for each boot: what ``corstone-emulator`` would do.

Started by ``boards/warm.py``; how it serves is in ``forkserver``. A request has ``argv``, ``cwd``, ``env`` and the
boot's terminal. The child runs the command's own entry point, so a boot is the same as one of a new process. It forks
the TOSA reference model's process, too, which needs Python and numpy; the model itself is loaded in the child.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
from typing import Any

from corstone.forkserver.server import become, serve

# Whose ``main`` a child may run; the first where the command is a script.
_MODULES = ("corstone.emulator.cli", "corstone.reference.tosa_child")


def preload() -> None:
    """Import everything that a boot needs, and take it out of the garbage collector's sight."""
    import corstone.emulator.boot
    import corstone.emulator.cli
    import corstone.emulator.features
    import corstone.emulator.machine
    import corstone.emulator.memory
    import corstone.emulator.statistics
    import corstone.emulator.wiring
    import corstone.reference.tosa_child  # noqa: F401

    gc.collect()
    gc.freeze()


def _run(request: dict[str, Any], fds: list[int]) -> int:
    """In the child: become what a new process would be, then run the command."""
    (terminal,) = fds
    become(request, (os.open(os.devnull, os.O_RDONLY), terminal, terminal))
    argv = request["argv"]
    # What the interpreter would make of "python -m corstone.emulator.cli ...", the command where its script is missing.
    sys.argv = argv[2:] if argv[1:2] == ["-m"] else argv
    module = argv[2] if argv[1:2] == ["-m"] and argv[2] in _MODULES else _MODULES[0]
    status: int = importlib.import_module(module).main()
    return status


if __name__ == "__main__":
    serve(sys.argv[1], preload, _run)
