"""The folder of shims: what is in it, what it leaves alone, and what a shell does with what is printed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from corstone.boards.providers.fvp import probe
from corstone.boards.shims import __main__ as shim
from corstone.boards.shims.install import MARK, RUNNERS, environment, install
from corstone.errors import ConfigError, ToolError

NAMES = ("FVP_Corstone_SSE-300_Ethos-U55", "FVP_Corstone_SSE-300_Ethos-U65", "FVP_Corstone_SSE-320")

needs_qemu = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")


@needs_qemu
@pytest.mark.parametrize("name", ["shims", "a folder with 'quotes' and $blanks"])
def test_every_shim_answers_from_anywhere(tmp_path: Path, name: str) -> None:
    installed = install(tmp_path / name, runners=False)
    assert sorted(path.name for path in installed.shims) == sorted(NAMES)
    found = environment(installed, dict(os.environ))
    # What an FVP's user may have set for the FVP's own Python must not reach ours.
    found |= {"PYTHONHOME": "/nowhere", "PYTHONPATH": str(tmp_path)}
    (tmp_path / "corstone").mkdir()
    (tmp_path / "corstone" / "__init__.py").write_text("raise ImportError('the wrong one')")
    done = subprocess.run(
        [NAMES[2], "--version"], env=found, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("corstone-emulator ")


@needs_qemu
def test_no_shim_is_taken_for_an_fvp(tmp_path: Path) -> None:
    for path in install(tmp_path, runners=False).shims:
        assert probe(path).kind == "ours"


@needs_qemu
def test_a_second_time_renews(tmp_path: Path) -> None:
    first = install(tmp_path, runners=False)
    first.shims[0].write_text(f"{MARK} of an older version\n")
    assert install(tmp_path, runners=False) == first
    assert sys.executable in first.shims[0].read_text()
    assert sorted(path.name for path in (tmp_path / "bin").iterdir()) == sorted(NAMES)


def test_a_real_fvp_stays(tmp_path: Path) -> None:
    real = tmp_path / "bin" / NAMES[0]
    real.parent.mkdir()
    real.write_bytes(b"\x7fELF of Arm")
    with pytest.raises(ConfigError, match="is not ours"):
        install(tmp_path, runners=False)
    assert [path.name for path in real.parent.iterdir()] == [NAMES[0]]
    assert real.read_bytes() == b"\x7fELF of Arm"


def test_a_link_to_a_real_fvp_stays(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / NAMES[1]).symlink_to(tmp_path / "not mounted")
    with pytest.raises(ConfigError, match="is not ours"):
        install(tmp_path, runners=False)


def test_somebodys_own_runner_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "arm_test" / "arm_semihosting_executor_runner_corstone-320" / "arm_executor_runner"
    theirs.parent.mkdir(parents=True)
    theirs.write_bytes(b"\x7fELF Writing output to file: ")
    with pytest.raises(ConfigError, match="is not ours"):
        install(tmp_path)
    assert not (tmp_path / "bin").exists()


@pytest.mark.parametrize("name", ["file", "a:b"])
def test_a_folder_that_cannot_be_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError):
        install(tmp_path / name, runners=False)


def test_a_shim_that_cannot_start_is_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no such python"))
    with pytest.raises(ToolError, match="answered --version with status 127"):
        install(tmp_path / "shims", runners=False)


def test_runners_lie_where_executorch_looks(tmp_path: Path) -> None:
    """The names are read from ExecuTorch's own source, not from ours."""
    import importlib.util

    spec = importlib.util.find_spec("executorch")
    folder = Path(next(iter(spec.submodule_search_locations or ()), "")) if spec else Path()
    source = folder / "backends" / "arm" / "test" / "runner_utils.py"
    if not source.is_file():
        pytest.skip("the installed ExecuTorch has no Arm tests")
    text = source.read_text()
    for words in ('"arm_test"', "arm_semihosting_executor_runner_", '"portable-ops_"', '"arm_executor_runner"'):
        assert words in text
    for board, _ in RUNNERS:
        assert f'"{board}"' in text
    for name in NAMES:
        assert f'"{name}"' in text


def test_log_lines_of_boots_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "test_it.py::test[1] (call)")
    for status in (0, 4):
        shim.write_line(str(tmp_path / "log"), NAMES[0], status, 0.1234)
    lines = (tmp_path / "log").read_text().splitlines()
    assert [('"exit": 0' in line, '"exit": 4' in line) for line in lines] == [(True, False), (False, True)]
    assert all('"test": "test_it.py::test[1] (call)"' in line for line in lines)


def test_a_log_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shim.write_line(str(tmp_path), NAMES[0], 0, 0.1)
    assert "CORSTONE_BOOT_LOG cannot be written" in capsys.readouterr().err


@needs_qemu
def test_the_shell_takes_what_the_command_prints(tmp_path: Path) -> None:
    script = (
        'eval "$("$1" -m corstone.cli emulator-shims --no-runners "$2")" && command -v "$3" && echo "$EXECUTORCH_ROOT"'
    )
    folder = tmp_path / "it's here"
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, str(folder), NAMES[0]],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stdout.splitlines() == [str(folder / "bin" / NAMES[0]), str(folder)]
    assert done.stderr.count("shim    ") == len(NAMES)
    assert not (folder / "arm_test").exists()
