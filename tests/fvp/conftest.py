"""Boards for the emulator's own tests: a probe image with many endings, built once, and a way to run the command."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from corstone.firmware.build import zig_environment

_HERE = Path(__file__).parent / "probe"
_BOARDS = {
    "corstone-300": ("0x59303000u", "0x58102000u", "56", "0x10000000"),
    "corstone-320": ("0x58203000u", "0x50004000u", "16", "0x11000000"),
}


@dataclasses.dataclass(frozen=True)
class Ran:
    """One run of the command."""

    status: int
    out: str
    err: str
    folder: Path


def build_probe(board: str, folder: Path) -> Path:
    """Compile the probe for a board."""
    uart, npu, irq, vectors = _BOARDS[board]
    script = folder / f"{board}.ld"
    script.write_text((_HERE / "probe.ld").read_text().replace("VECTORS", vectors))
    elf = folder / f"{board}.elf"
    command = [
        sys.executable, "-m", "ziglang", "cc", "-target", "thumb-freestanding-eabihf",
        "-mcpu=cortex_m55+fp_armv8d16sp+mve_fp", "-O1", "-g0", "-ffreestanding", "-nostdlib", "-fno-sanitize=all",
        f"-DUART={uart}", f"-DNPU={npu}", f"-DIRQ={irq}", f"-Wl,-T,{script}", "-Wl,--entry=Reset", "-o", str(elf),
        str(_HERE / "probe.c"),
    ]  # fmt: skip
    environment = zig_environment(folder)
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return elf


@pytest.fixture(scope="session")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The probe image of a board."""
    pytest.importorskip("ziglang", reason="ziglang builds the probe image")
    folder = tmp_path_factory.mktemp("probe")
    built: dict[str, Path] = {}

    def get(board: str) -> Path:
        if board not in built:
            built[board] = build_probe(board, folder)
        return built[board]

    return get


@pytest.fixture
def emulator(tmp_path: Path) -> Callable[..., Ran]:
    """Runs ``corstone-emulator`` in a fresh folder."""
    if shutil.which("qemu-system-arm") is None:
        pytest.skip("qemu-system-arm is not installed")

    def run(arguments: Sequence[str], program: str = "", env: dict[str, str] | None = None, timeout: float = 60) -> Ran:
        command = [program] if program else [sys.executable, "-m", "corstone.emulator.cli"]
        done = subprocess.run(
            [*command, *arguments],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return Ran(
            done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), tmp_path
        )

    return run


@pytest.fixture
def scenario(
    probe: Callable[[str], Path], emulator: Callable[..., Ran], tmp_path: Path
) -> Callable[..., Ran]:  # fmt: skip
    """Boots a scenario of the probe with the usual parameters."""

    def run(number: int, *arguments: str, board: str = "corstone-300", **kwargs: object) -> Ran:
        (tmp_path / "scenario.bin").write_bytes(number.to_bytes(4, "little"))
        prefix = "mps3_board." if board == "corstone-300" else "mps4_board."
        return emulator(
            [
                "-a", str(probe(board)), "--data", "scenario.bin@0x60000000", "--timelimit", "20",
                "-C", f"{prefix}uart0.out_file=-", "-C", f"{prefix}uart0.shutdown_on_eot=1",
                "-C", f"{prefix}telnetterminal0.start_telnet=0", *arguments,
            ],
            **kwargs,
        )  # fmt: skip

    return run
