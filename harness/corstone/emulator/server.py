"""A process that has imported the emulator once and forks a child for each boot: what ``corstone-emulator`` would do.

Started by ``boards/warm.py``; how it serves is in ``forkserver``. A request has ``argv``, ``cwd``, ``env`` and the
boot's terminal. The child runs the command's own entry point, so a boot is the same as one of a new process.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import Any

from corstone.forkserver.server import become, serve


def preload() -> None:
    """Import everything that a boot needs, and take it out of the garbage collector's sight."""
    import corstone.emulator.boot
    import corstone.emulator.cli
    import corstone.emulator.features
    import corstone.emulator.machine
    import corstone.emulator.memory
    import corstone.emulator.statistics
    import corstone.emulator.wiring  # noqa: F401

    gc.collect()
    gc.freeze()


def _run(request: dict[str, Any], fds: list[int]) -> int:
    """In the child: become what a new process would be, then run the command."""
    (terminal,) = fds
    become(request, (os.open(os.devnull, os.O_RDONLY), terminal, terminal))
    argv = request["argv"]
    # What the interpreter would make of "python -m corstone.emulator.cli ...", the command where its script is missing.
    sys.argv = argv[2:] if argv[1:2] == ["-m"] else argv
    from corstone.emulator.cli import main

    return main()


if __name__ == "__main__":
    serve(sys.argv[1], preload, _run)
