"""Finds our emulator: beside the running Python, else as a module of it. It needs QEMU, which is looked for too."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from corstone import __version__
from corstone.boards.providers.simulator import Simulator, Tried
from corstone.causes import Cause
from corstone.errors import ToolError
from corstone.paths import user_path

QEMU = "qemu-system-arm"


def find_emulator() -> Simulator:
    """The emulator of this installation.

    Raises
    ------
    ToolError: QEMU is missing.
    """
    script = Path(sys.executable).parent / "corstone-emulator"
    argv = (str(script),) if os.access(script, os.X_OK) else (sys.executable, "-m", "corstone.emulator.cli")
    qemu = find_qemu()
    version = f"{__version__} (QEMU {qemu_version(qemu)})"
    tried = (Tried(" ".join(argv), version),)
    return Simulator("emulator", argv, "corstone-emulator", version, tried=tried, forks=True)


def find_qemu() -> str:
    """Path of QEMU: ``CORSTONE_QEMU``, else from PATH.

    Raises
    ------
    ToolError: it is not there.
    """
    given = os.environ.get("CORSTONE_QEMU")
    found = shutil.which(str(user_path(given)) if given else QEMU)
    if found is None:
        raise ToolError(
            f"{given or QEMU} was not found; the emulator hosts the board's CPU in it",
            cause=Cause.MISSING_TOOL,
            hint="install it (Debian and Ubuntu: apt install qemu-system-arm; Fedora: qemu-system-arm-core) "
            "or name it in CORSTONE_QEMU",
        )
    return found


def qemu_version(path: str) -> str:
    """Version of a QEMU, asked once per process and file."""
    return _qemu_version(path, Path(path).stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _qemu_version(path: str, _mtime_ns: int) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{path} --version did not answer: {error}", cause=Cause.LAUNCH) from error
    found = re.search(r"version (\d[\w.+~-]*)", done.stdout)
    if found is None:
        raise ToolError(
            f"{path} --version gave status {done.returncode} and no version: {(done.stdout + done.stderr)[:200]!r}",
            cause=Cause.LAUNCH,
        )
    return found[1]
