"""Builds the runner: one ELF per board, cached by what went in, the same bytes wherever it is built.

Compilers: ``zig`` (the ``ziglang`` wheel, pinned; needs no system package), ``gcc`` (``arm-none-eabi-gcc`` from PATH).
Vectorising is off: vector float operations of Armv8.1-M flush denormals to zero whatever FPSCR says (DDI0553, MVE and
the standard FPSCR value), and results must be torch's bits. Contraction is off for the same reason.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from corstone.causes import Cause
from corstone.errors import ConfigError, StageError, ToolError
from corstone.paths import cache_dir

ROOT = Path(__file__).parent
ZIG_VERSION = "0.17.1"
TIMEOUT_S = 300


@dataclass(frozen=True)
class BoardBuild:
    """What differs between the ELFs: a macro for board.h and a linker script."""

    name: str
    macro: str
    script: str


BOARDS = {
    row.name: row
    for row in (
        BoardBuild("corstone-300", "BOARD_CORSTONE_300", "ld/corstone-300.ld"),
        BoardBuild("corstone-320", "BOARD_CORSTONE_320", "ld/corstone-320.ld"),
    )
}

# Macros that make another runner of the same sources. ExecuTorch's tests have one ELF without any portable operator and
# one with; some tests expect the first to refuse (executorch backends/arm/test/setup_testing.sh).
ONLY_QUANTIZED = "RUNNER_ONLY_QUANTIZED"

_COMMON = (
    "-std=c11",
    "-O2",
    "-g0",
    "-ffreestanding",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-math-errno",  # __builtin_fmaf is one instruction
    "-Iinclude",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
    "-nostdlib",
    "-Wl,--entry=Reset",
)
# cortex_m55 in zig leaves the FPU out unless it is named. strict_align is what -mno-unaligned-access means elsewhere.
_ZIG = (
    "-target",
    "thumb-freestanding-eabihf",
    "-mcpu=cortex_m55+fp_armv8d16+mve_fp+strict_align",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unwind-tables",
)
_GCC = (
    "-mcpu=cortex-m55",
    "-mthumb",
    "-mfloat-abi=hard",
    "-mno-unaligned-access",
    "-fno-tree-vectorize",
    "-fno-tree-loop-distribute-patterns",
)


def sources(root: Path = ROOT) -> tuple[Path, ...]:
    """The C files of the runner, sorted, so that the link order is the same everywhere."""
    return tuple(sorted((root / "src").glob("*.c")))


def build(
    board: str,
    *,
    compiler: str = "zig",
    cache: Path | None = None,
    root: Path = ROOT,
    defines: tuple[str, ...] = (),
) -> Path:
    """Path of the runner's ELF for a board, built when the cache does not hold it; ``defines`` are macros to set.

    Raises
    ------
    ConfigError: there is no such board or compiler.
    ToolError: the compiler is missing, or is not the pinned one.
    StageError: it does not compile, or takes longer than five minutes.
    """
    if board not in BOARDS:
        raise ConfigError(f"there is no runner for the board {board!r}", hint="use one of " + ", ".join(BOARDS))
    row = BOARDS[board]
    command, version = _compiler(compiler)
    folder = (cache or cache_dir()) / "firmware"
    command = (*command, *(f"-D{name}" for name in defines))
    target = folder / _key(row, (*command, *_COMMON), version, root) / f"{board}.elf"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / f"{board}.lock", timeout=2 * TIMEOUT_S):
            if not target.exists():
                _compile(row, command, target, folder, root)
    return target


def _compiler(name: str) -> tuple[tuple[str, ...], str]:
    if name == "zig":
        if importlib.util.find_spec("ziglang") is None:
            raise ToolError(
                "the ziglang wheel is not installed; it compiles the runner",
                cause=Cause.MISSING_TOOL,
                hint="pip install 'corstone-harness[firmware]'",
            )
        command = (sys.executable, "-m", "ziglang", "cc", *_ZIG)
        version = _output([sys.executable, "-m", "ziglang", "version"])
        if version != ZIG_VERSION:
            raise ToolError(
                f"ziglang is {version}, the runner needs {ZIG_VERSION} so that its bytes are the same everywhere",
                cause=Cause.MISSING_TOOL,
                hint=f"pip install ziglang=={ZIG_VERSION}",
            )
        return command, version
    if name == "gcc":
        path = shutil.which("arm-none-eabi-gcc")
        if path is None:
            raise ToolError(
                "arm-none-eabi-gcc is not on PATH",
                cause=Cause.MISSING_TOOL,
                hint="apt install gcc-arm-none-eabi, or build with the compiler zig",
            )
        return (path, *_GCC), _output([path, "-dumpfullversion"])
    raise ConfigError(f"there is no compiler {name!r} for the runner", hint="use zig or gcc")


def _output(argv: list[str]) -> str:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"{' '.join(argv)} failed: {error}", cause=Cause.MISSING_TOOL) from error


def zig_environment(folder: Path) -> dict[str, str]:
    """The environment for ``zig``, its caches below ``folder``: the home, where they are else, may be read-only."""
    cache = str(folder / "zig")
    return os.environ | {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}


def _key(row: BoardBuild, flags: tuple[str, ...], version: str, root: Path) -> str:
    # The path of the compiler is left out: it is not what makes the bytes.
    digest = hashlib.sha256(repr((row, flags[1:], version)).encode())
    for path in (*sources(root), *sorted((root / "include").glob("*.h")), root / row.script):
        digest.update(f"{path.relative_to(root).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()[:24]


def _compile(row: BoardBuild, command: tuple[str, ...], target: Path, folder: Path, root: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder, prefix="build-") as work:
        made = Path(work) / target.name
        names = [path.relative_to(root).as_posix() for path in sources(root)]
        argv = [*command, *_COMMON, f"-D{row.macro}", "-T", row.script, *names, "-o", str(made)]
        if "ziglang" not in command:
            argv.append("-lgcc")
        status, text = _run(argv, root, zig_environment(folder))
        if status != 0 or not made.exists():
            raise StageError(
                f"the runner for {row.name} does not compile (status {status})",
                cause=Cause.COMPILE,
                evidence={"command": " ".join(argv), "compiler says": text[-4000:]},
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        made.replace(target)


def _run(argv: list[str], cwd: Path, environment: dict[str, str]) -> tuple[int, str]:
    process = subprocess.Popen(
        argv,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        text, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise StageError(
            f"the compiler of the runner took more than {TIMEOUT_S} s",
            cause=Cause.COMPILE_TIMEOUT,
            evidence={"command": " ".join(argv)},
        ) from None
    return process.returncode, text


def main(argv: list[str] | None = None) -> int:
    """``python -m corstone.firmware.build``: build and say where the ELFs are."""
    parser = argparse.ArgumentParser(prog="corstone.firmware.build", description="Build the runner's ELFs.")
    parser.add_argument("boards", nargs="*", metavar="BOARD", help="corstone-300, corstone-320 (default: both)")
    parser.add_argument("--compiler", choices=("zig", "gcc"), default="zig")
    parser.add_argument("--output", type=Path, help="copy the ELFs into this folder")
    options = parser.parse_args(argv)
    for board in options.boards or BOARDS:
        path = build(board, compiler=options.compiler)
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            path = Path(shutil.copy(path, options.output))
        data = path.read_bytes()
        print(f"{board} {path} {len(data)} bytes sha256 {hashlib.sha256(data).hexdigest()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
