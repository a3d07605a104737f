"""Endings that come from the host: Ctrl-C, a full disk, a folder or command line that the system refuses."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.fakes.fakes import dummy_runner, install_fake, small_program

from corstone.boards.console import Waited
from corstone.boards.deadlines import Deadlines, default_deadlines
from corstone.boards.endings import classify
from corstone.boards.facts import Asked, BootFacts
from corstone.boards.process import SimulatorProcess
from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.transcript import read_transcript

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
from pathlib import Path
from corstone.boards import BootRequest, boot
from corstone.program import Program
folder = Path(sys.argv[1])
request = BootRequest(
    Program.load(folder / "program" / "program.json"), (bytes(16),), folder / "capture", provider="fvp",
    fvp_dir=folder / "fvp", runner_elf=folder / "runner.elf",
    preflight=False,
)
capture = boot(request)
print(capture.ending.outcome, capture.ending.cause)
"""


def prepare(folder: Path, steps: list[list[object]]) -> list[str]:
    install_fake(folder / "fvp", {"steps": steps})
    dummy_runner(folder, "semihosting")
    program = small_program(folder / "program")
    program.save(folder / "program" / "program.json")
    return [sys.executable, "-c", SCRIPT, str(folder)]


def wait_for(condition: object, what: str, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, f"{what} did not happen in {seconds} s"
        time.sleep(0.02)


@pytest.mark.parametrize("ignores", [[], ["SIGINT", "SIGTERM"]], ids=["obedient", "stubborn"])
def test_ctrl_c_stops_the_simulator_and_keeps_the_capture(tmp_path: Path, ignores: list[str]) -> None:
    command = prepare(
        tmp_path, [["ignore", ignores], ["fork", {"ignore": ignores}], ["print", "running\n"], ["hang", None]]
    )
    log = tmp_path / "capture" / "console.log"
    environment = {**os.environ, "TMPDIR": str(tmp_path), "CORSTONE_TEST_MARK": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE) as harness:
        wait_for(lambda: log.exists() and b"running" in log.read_bytes(), "the simulator's first line")
        harness.send_signal(signal.SIGINT)
        _, text = harness.communicate(timeout=30)
    assert b"KeyboardInterrupt" in text
    assert marked(tmp_path) == []
    capture = Capture.load(tmp_path / "capture")
    assert (capture.ending.outcome, capture.ending.cause) == (Outcome.ERROR, Cause.INTERRUPTED)
    assert log.read_bytes().startswith(b"running\n")
    assert not list(tmp_path.glob("cst-*"))


def marked(folder: Path) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"CORSTONE_TEST_MARK={folder}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def mounts_allowed() -> bool:
    if shutil.which("unshare") is None:
        return False
    try:
        done = subprocess.run(
            ["unshare", "--user", "--map-root-user", "--mount", "true"], capture_output=True, timeout=10, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


@pytest.mark.skipif(not mounts_allowed(), reason="no user namespaces with mounts here: cannot make a small disk")
@pytest.mark.parametrize("which", ["temporary", "capture"])
def test_a_full_disk(tmp_path: Path, which: str) -> None:
    command = prepare(tmp_path, [["print", "x" * 200_000 + "\n"], ["exit", 0]])
    small = tmp_path / ("tmp" if which == "temporary" else "capture")
    (tmp_path / "tmp").mkdir()
    small.mkdir(exist_ok=True)
    if which == "temporary":
        (tmp_path / "program" / "program.pte").write_bytes(bytes(300_000))
    mount = f'mount -t tmpfs -o size=64k none "{small}" && exec "$0" "$@"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, *command],
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "disk" in done.stdout + done.stderr, done
    assert "disk-full" in done.stdout or "No space left" in done.stderr


def facts(**more: object) -> BootFacts:
    return BootFacts(Asked(), read_transcript(b""), Waited("exit"), stopped="not-started", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("number", "rule", "cause"),
    [
        (errno.ENOSPC, "disk-full", Cause.DISK_FULL),
        (errno.EDQUOT, "disk-full", Cause.DISK_FULL),
        (errno.EACCES, "host-error", Cause.NOT_WRITABLE),
        (errno.EROFS, "host-error", Cause.NOT_WRITABLE),
    ],
)
def test_errors_of_files(number: int, rule: str, cause: Cause) -> None:
    ending, _ = classify(facts(host_error=os.strerror(number), host_errno=number))
    assert (ending.outcome, ending.cause, ending.evidence["ending"]) == (Outcome.ERROR, cause, rule)


@pytest.mark.parametrize(
    ("number", "rule"),
    [(errno.E2BIG, "launch-argument-list"), (errno.EMFILE, "launch-error"), (errno.EAGAIN, "launch-error")],
)
def test_errors_of_starting(number: int, rule: str) -> None:
    ending, _ = classify(facts(launch_error=os.strerror(number), launch_errno=number))
    assert (ending.outcome, ending.cause, ending.evidence["ending"]) == (Outcome.ERROR, Cause.LAUNCH, rule)


def test_many_boots_leave_no_file_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with SimulatorProcess(["/bin/true"], tmp_path, dict(os.environ), Deadlines()) as process:
            wait_for(lambda process=process: process.status() is not None, "the end of true")
    assert len(os.listdir("/proc/self/fd")) == before
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > before


def test_deadlines_grow_with_provider_and_size() -> None:
    small, large = default_deadlines("emulator", 3_000), default_deadlines("emulator", 30 << 20)
    assert small.total < large.total
    assert default_deadlines("fvp", 3_000).total > small.total
    assert small.simulator_limit_s > small.total


@pytest.mark.parametrize("ignores", [[], ["SIGINT", "SIGTERM"]], ids=["obedient", "stubborn"])
def test_a_system_without_proc_stops_the_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignores: list[str]
) -> None:
    monkeypatch.setattr("corstone.boards.process.HAS_PROC", False)
    monkeypatch.setenv("CORSTONE_TEST_MARK", str(tmp_path))
    script = install_fake(tmp_path, {"steps": [["ignore", ignores], ["fork", {"ignore": ignores}], ["hang", None]]})
    deadlines = Deadlines(interrupt=0.5, terminate=0.5)
    with SimulatorProcess([str(script)], tmp_path, dict(os.environ), deadlines) as process:
        wait_for(lambda: len(marked(tmp_path)) >= 2, "the fake's start")
        time.sleep(0.2)  # for the child to set its handlers
        # Where nobody reaps orphans a zombie keeps the group's number, so that more than INT is tried.
        assert process.stop() in ({"kill"} if ignores else {"int", "term", "kill"})
    assert marked(tmp_path) == []
