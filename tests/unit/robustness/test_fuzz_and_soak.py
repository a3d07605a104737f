"""Short runs of `scripts/fuzz` and `scripts/soak`: no finding, and findings would be seen."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[3]


def run(script: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOP / "scripts" / script), *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=240, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_seeded_run_without_a_board_finds_nothing(tmp_path: Path) -> None:
    names = "loader,streams,consoles,command-lines"
    done = run("fuzz", "--seconds", "2000", "--seed", "5", "--count", "60", "--only", names, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "240 executions, 0 findings" in done.stdout
    again = run("fuzz", "--seconds", "2000", "--seed", "5", "--count", "60", "--only", "loader", cwd=tmp_path)
    counted = [line for line in done.stdout.splitlines() if "loader " in line]
    assert counted == [line for line in again.stdout.splitlines() if "loader " in line]
    assert counted


def test_a_finding_is_kept_and_red(tmp_path: Path) -> None:
    script = (
        "import sys, runpy; top = sys.argv[1]; sys.path.insert(0, top + '/lib'); import fuzzing\n"
        "def broken(raw): raise IndexError('gone')\n"
        "fuzzing.read_transcript = broken\n"
        "sys.argv = ['fuzz', '--only', 'consoles', '--count', '2', '--seconds', '90', '--seed', '1', '--out', 'kept']\n"
        "runpy.run_path(top + '/fuzz', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(TOP / "scripts")],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "2 executions, 2 findings" in done.stdout
    assert sorted(path.suffix for path in (tmp_path / "kept").iterdir()) == [".bin", ".bin", ".txt", ".txt"]


@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")
def test_mutated_programs_on_the_board_and_the_same_boot_again(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="ziglang builds the runner")
    done = run("fuzz", "--seconds", "2000", "--seed", "5", "--count", "3", "--only", "boots", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 executions, 0 findings" in done.stdout
    soak = run("soak", "--boots", "3", "--parallel", "2", "--workers", "2", "--runner", "corstone-300", cwd=tmp_path)
    assert soak.returncode == 0, soak.stdout + soak.stderr
    assert "3 boots in a row and 2 with 2 at once: 0 findings" in soak.stdout
