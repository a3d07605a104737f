"""Lays out a folder in which other people's scripts find the emulator as if it were Arm's FVPs.

``bin/`` has a shim under each FVP's name; ``arm_test/`` has our runner where ExecuTorch's tests look for theirs (its
``backends/arm/test/runner_utils.py``, ``_elf_path_candidates``: ``$EXECUTORCH_ROOT/arm_test/
arm_semihosting_executor_runner_[portable-ops_]<board>/arm_executor_runner``). Nothing that somebody else put there is
overwritten.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from corstone.boards.registry import boards
from corstone.causes import Cause
from corstone.errors import ConfigError, ToolError
from corstone.firmware.build import ONLY_QUANTIZED
from corstone.runners import protocol_of

RUNNER = "arm_executor_runner"
MARK = "# corstone-harness shim"
ANSWER_S = 60
# ExecuTorch's name of a board with its NPU, and our runner for it.
RUNNERS: tuple[tuple[str, str], ...] = (
    ("corstone-300", "corstone-300"),
    ("corstone-300-u65", "corstone-300"),
    ("corstone-320", "corstone-320"),
)
# ExecuTorch's two runners, by the words in their folders' names: the first knows only how to quantize and dequantize,
# and there are tests which expect it to refuse other operators.
KINDS: dict[str, tuple[str, ...]] = {"": (ONLY_QUANTIZED,), "portable-ops_": ()}
# -E: the caller's PYTHONHOME and PYTHONPATH may be another Python's, as the FVPs bring one. -P: nor the current folder.
_SHIM = """#!/bin/sh
{mark}: not an Arm product, no FVP. Starts corstone-emulator under this name.
exec {python} -E -P -m corstone.boards.shims {name} "$@"
"""


@dataclass(frozen=True)
class Installed:
    """What a folder got: the shims, and the runners by the name ExecuTorch has for the board."""

    folder: Path
    shims: tuple[Path, ...]
    runners: tuple[Path, ...]

    def exports(self) -> dict[str, str]:
        """What the shims' users set: ``PATH`` (to be put in front) and ``EXECUTORCH_ROOT``."""
        return {"PATH": str(self.folder / "bin"), "EXECUTORCH_ROOT": str(self.folder)}


def environment(installed: Installed, base: dict[str, str]) -> dict[str, str]:
    """``base`` with the shims in front of PATH and the runners found."""
    exports = installed.exports()
    path = exports["PATH"] + (os.pathsep + base["PATH"] if base.get("PATH") else "")
    return base | exports | {"PATH": path}


def install(folder: Path, *, runners: bool = True) -> Installed:
    """Write the shims, and the runners if wanted; calling it again renews both.

    Raises
    ------
    ConfigError: the folder cannot be one, or something of the same name there is not ours.
    ToolError: a shim does not answer (QEMU or the package is not found), or the runners' compiler is missing.
    StageError: a runner does not compile.
    """
    folder = Path(os.path.abspath(folder))
    if os.pathsep in str(folder):
        raise ConfigError(f"{folder} has a {os.pathsep!r} in its name, which no PATH can hold", cause=Cause.BAD_INPUT)
    names = [file for board in boards().values() for file in board.simulators.values()]
    targets = [folder / "bin" / name for name in names]
    places = [
        (folder / "arm_test" / f"arm_semihosting_executor_runner_{kind}{theirs}" / RUNNER, (ours, kind))
        for theirs, ours in RUNNERS
        for kind in KINDS
    ]
    _check_free(targets, places if runners else [])
    try:
        shims = tuple(_write_shim(path) for path in targets)
        elfs = tuple(_write_runner(path, *what) for path, what in places) if runners else ()
    except OSError as error:
        raise ConfigError(
            f"cannot write the shims: {error}", cause=Cause.NOT_WRITABLE, hint="give another folder"
        ) from error
    _check_answer(shims[0])
    return Installed(folder, shims, elfs)


def _check_free(shims: list[Path], runners: list[tuple[Path, tuple[str, str]]]) -> None:
    foreign = [path for path in shims if os.path.lexists(path) and not _is_shim(path)]
    foreign += [path for path, _ in runners if path.is_file() and protocol_of(path) != "corstone"]
    if foreign:
        raise ConfigError(
            f"{foreign[0]} is there and is not ours; it stays as it is",
            cause=Cause.BAD_INPUT,
            hint="give a folder of its own",
        )


def _is_shim(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return MARK.encode() in stream.read(512)
    except OSError:
        return False


def _write_shim(path: Path) -> Path:
    text = _SHIM.format(mark=MARK, python=shlex.quote(sys.executable), name=path.name)
    return _replace(path, text.encode(), 0o755)


def _write_runner(path: Path, board: str, kind: str) -> Path:
    from corstone.firmware.build import build

    return _replace(path, build(board, defines=KINDS[kind]).read_bytes(), 0o644)


def _replace(path: Path, content: bytes, mode: int) -> Path:
    # Renamed into place: a boot that runs now keeps the old file.
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_name(f".{path.name}.{os.getpid()}")
    made.write_bytes(content)
    made.chmod(mode)
    made.replace(path)
    return path


def _check_answer(shim: Path) -> None:
    """A shim that cannot start is said now, not in somebody's test as a missing FVP."""
    try:
        done = subprocess.run(
            [shim, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"the shim {shim} does not start: {error}", cause=Cause.MISSING_TOOL) from error
    if done.returncode != 0 or not done.stdout.startswith("corstone-emulator "):
        raise ToolError(
            f"the shim {shim.name} answered --version with status {done.returncode}",
            cause=Cause.MISSING_TOOL,
            hint="install the package into this Python (not by PYTHONPATH) and QEMU; `corstone doctor` lists both",
            evidence={"it says": (done.stdout + done.stderr)[-1000:]},
        )
