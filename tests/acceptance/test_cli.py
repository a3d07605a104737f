"""The ``corstone`` command from outside: what each kind of bad input ends in, and that nothing stays behind.

Boots are of a stored program, so nothing here compiles.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.unit.report import conftest as captures

from corstone.cli import main

PTE = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
needs_qemu = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing")


@pytest.fixture
def codes(tmp_path: Path) -> Path:
    """Input of the stored program: every int8 code as a float32."""
    path = tmp_path / "in.bin"
    (np.arange(-128, 128) / 128).astype(np.float32).tofile(path)
    return path


def corstone(*args: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "corstone.cli", *map(str, args)],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run_in_process(*args: str | Path) -> int:
    return main([str(a) for a in args])


def living(mark: str) -> list[str]:
    """Command lines of other processes whose environment holds the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z" and mark.encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


def gone(mark: str, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while living(mark):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys; from corstone.cli import main\n"
        "for words in (['--help'], ['--version'], ['nonsense'], []):\n    main(words)\n"
        "heavy = {'numpy', 'torch', 'pexpect', 'corstone.pipeline', 'importlib.metadata'}\n"
        "print('heavy', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip().endswith("heavy []")
    for name in ("check", "run", "judge", "doctor", "setup"):
        assert f"    {name} " in done.stdout


@pytest.mark.parametrize("words", [[], ["nonsense"], ["check"], ["run"], ["check", "acos", "--bits", "x"], ["--frob"]])
def test_a_command_line_that_cannot_be_is_status_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err


@needs_qemu
def test_run_leaves_outputs_and_json(codes: Path, tmp_path: Path) -> None:
    done = corstone(
        "run", PTE, "-i", codes, "-o", tmp_path / "o", "--provider", "emulator", "--json", tmp_path / "r.json"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    assert (data["verdict"], data["provider"], data["judged"]) == ("PASSED", "emulator", False)
    [output] = data["outputs"]
    assert Path(output["file"]) == (tmp_path / "o" / "out-0.bin").resolve()
    values = np.fromfile(output["file"], np.float32)
    assert values[0] == pytest.approx(np.pi, abs=0.02)
    assert values[-1] == pytest.approx(0.123, abs=0.001)
    assert "emulator, not an Arm product" in done.stdout


Bad = tuple[str, Sequence[str], str]
BAD: dict[str, Bad] = {
    "no program": ("bad-input|bad-program", ["run", "{tmp}/none.pte", "-i", "{codes}"], "none.pte"),
    "no input": ("bad-input", ["run", "{pte}"], "takes 1 inputs, 0 files"),
    "input missing": ("bad-input", ["run", "{pte}", "-i", "{tmp}/none.bin"], "none.bin"),
    "input too short": ("bad-input", ["run", "{pte}", "-i", "{tmp}/short.bin"], "too short"),
    "input too long": ("bad-input", ["run", "{pte}", "-i", "{tmp}/long.bin"], "too long"),
    "input of another dtype": ("bad-input", ["run", "{pte}", "-i", "{tmp}/int8.bin"], "float32"),
    "two inputs": ("bad-input", ["run", "{pte}", "-i", "{codes}", "{codes}"], "takes 1 inputs, 2 files"),
    "another target": ("wrong-target", ["run", "{pte}", "-i", "{codes}", "--target", "ethos-u85-256"], "ethos-u55-128"),
    "no such target": ("configuration", ["run", "{pte}", "-i", "{codes}", "--target", "ethos-u99"], "ethos-u85-2048"),
    "no such board": ("configuration", ["run", "{pte}", "-i", "{codes}", "--board", "x"], "corstone-300"),
    "check: no such target": ("configuration", ["check", "acos", "--target", "ethos-u99"], "ethos-u55-32"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_the_callers_error(
    name: str, codes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    causes, words, text = BAD[name]
    raw = codes.read_bytes()
    (tmp_path / "short.bin").write_bytes(raw[:-1])
    (tmp_path / "long.bin").write_bytes(raw + b"\0")
    (tmp_path / "int8.bin").write_bytes(bytes(256))
    filled = [w.format(tmp=tmp_path, pte=PTE, codes=codes) for w in words]
    out = "--out"
    status = run_in_process(*filled, out, tmp_path / "o", "--json", tmp_path / "r.json")
    printed = capsys.readouterr()
    assert status == 2, printed
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["verdict"] == "ERROR"
    assert data["cause"] in causes.split("|")
    assert data["outputs"] == []
    assert text in printed.err
    assert not (tmp_path / "o" / "out-0.bin").exists()


def test_a_program_cut_anywhere_is_refused_before_a_boot(codes: Path, tmp_path: Path) -> None:
    whole = PTE.read_bytes()
    for size in range(0, len(whole), 64):
        cut = tmp_path / "cut.pte"
        cut.write_bytes(whole[:size])
        assert run_in_process("run", cut, "-i", codes, "-o", tmp_path / "o", "--json", tmp_path / "r.json") == 2, size
        assert json.loads((tmp_path / "r.json").read_text())["cause"] == "bad-program", size


@pytest.mark.parametrize(
    ("find", "put", "cause"),
    [
        (b"ET12", b"XT12", "bad-program"),
        (b"ET12", b"BP08", "bad-program"),
        (b"EthosUBackend", b"OtherBackend_", "no-delegate"),
    ],
)
def test_a_program_that_is_another_is_named(
    codes: Path, tmp_path: Path, find: bytes, put: bytes, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = tmp_path / "changed.pte"
    changed.write_bytes(PTE.read_bytes().replace(find, put))
    assert run_in_process("run", changed, "-i", codes, "-o", tmp_path / "o", "--json", tmp_path / "r.json") == 2
    assert json.loads((tmp_path / "r.json").read_text())["cause"] == cause
    assert "what to do" in capsys.readouterr().err


def test_an_output_folder_that_cannot_be_is_said_before_any_work(
    codes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    for words in (["run", PTE, "-i", codes], ["check", "acos"]):
        assert run_in_process(*words, "--out", tmp_path / "file" / "o") == 2
        assert "cannot write to" in capsys.readouterr().err
    assert run_in_process("run", PTE, "-i", codes, "-o", tmp_path / "o", "--json", tmp_path / "file" / "r.json") == 2


def test_without_qemu_it_is_a_tool_that_is_missing(
    codes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CORSTONE_QEMU", str(tmp_path / "no-qemu"))
    status = run_in_process("run", PTE, "-i", codes, "-o", tmp_path / "o", "--provider", "emulator")
    assert status == 3
    assert "apt install qemu-system-arm" in capsys.readouterr().err


def test_without_an_fvp_asking_for_one_is_status_3(
    codes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CORSTONE_FVP_DIR", raising=False)
    status = run_in_process("run", PTE, "-i", codes, "-o", tmp_path / "o", "--provider", "fvp")
    assert status == 3
    assert "there is no FVP_Corstone_SSE-300_Ethos-U55" in capsys.readouterr().err


@needs_qemu
def test_without_image_cache_and_network_it_says_how_to_get_the_image(codes: Path, tmp_path: Path) -> None:
    # An index that refuses every connection at once stands for a machine without a network.
    env = {"CORSTONE_CACHE": str(tmp_path / "cache"), "PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "0"}
    done = corstone("run", PTE, "-i", codes, "-o", tmp_path / "o", "--provider", "emulator", env=env)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "cannot be had" in done.stderr
    assert str(tmp_path / "cache") in done.stderr


@needs_qemu
def test_a_simulator_that_never_answers_ends_in_its_deadline_and_leaves_nothing(codes: Path, tmp_path: Path) -> None:
    sleeper = tmp_path / "qemu"
    sleeper.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) echo QEMU emulator version 7.2.0; exit;; esac\nsleep 600\n'
    )
    sleeper.chmod(0o755)
    mark = f"CLI_TEST={tmp_path}"
    env = {"CORSTONE_QEMU": str(sleeper), "CLI_TEST": str(tmp_path)}
    began = time.monotonic()
    done = corstone(
        "run", PTE, "-i", codes, "-o", tmp_path / "o", "--provider", "emulator", "--timeout", "4", "--json",
        tmp_path / "r.json", env=env,
    )  # fmt: skip
    assert done.returncode in (3, 4), done.stdout + done.stderr
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] in ("TIMED_OUT", "ERROR", "NO_OUTPUT")
    assert time.monotonic() - began < 60
    assert gone(mark)


def emulating(qemu: Path) -> bool:
    """Whether this QEMU runs as a board (it is asked for its version before)."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(qemu) in words and b"-machine" in words:
            return True
    return False


@needs_qemu
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_ends_at_once_and_leaves_no_process(
    codes: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    sleeper = tmp_path / "qemu"
    sleeper.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) echo QEMU emulator version 7.2.0; exit;; esac\nsleep 600\n'
    )
    sleeper.chmod(0o755)
    env = {**os.environ, "CORSTONE_QEMU": str(sleeper), "CLI_TEST": str(tmp_path)}
    command = [
        sys.executable,
        "-m",
        "corstone.cli",
        "run",
        PTE,
        "-i",
        codes,
        "-o",
        tmp_path / "o",
        "--provider",
        "emulator",
    ]
    started = subprocess.Popen(
        list(map(str, command)), env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        end = time.monotonic() + 60
        while not emulating(sleeper):
            assert started.poll() is None, started.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        started.send_signal(number)
        _, err = started.communicate(timeout=60)
    finally:
        started.kill()
        started.wait()
    assert started.returncode == status, err
    assert "Traceback" not in err
    assert gone(f"CLI_TEST={tmp_path}")


def test_a_reader_that_goes_away_is_no_error() -> None:
    line = f"{sys.executable} -m corstone.cli --help | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


def test_judge_needs_a_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_in_process("judge", tmp_path) == 2
    assert "capture.json" in capsys.readouterr().err


def test_judge_again_gives_the_verdict_and_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = captures.judged(tmp_path, "acos")
    bad = captures.judged(tmp_path, "zeros", change=np.zeros_like)
    assert run_in_process("judge", good.capture) == 0
    assert run_in_process("judge", good.capture, bad.capture, "--json", tmp_path / "r.json") == 1
    assert "all zeros" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["verdict"] == "FAILED"
