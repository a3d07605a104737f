"""The warm emulator: the same boot as the command's, one child a boot, and nothing left of it however things end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes.processes import alive, gone

from corstone.boards.deadlines import Deadlines
from corstone.boards.process import SimulatorProcess
from corstone.boards.providers.emulator import find_emulator
from corstone.boards.warm import ServerGone, WarmProcess, WarmServer, server

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the server needs Linux")

Probe = Callable[[str], Path]


@pytest.fixture
def warm() -> Iterator[WarmServer]:
    running = WarmServer()
    yield running
    running.close()
    assert not running.usable


def command(probe: Probe, folder: Path, *more: str) -> list[str]:
    return [*find_emulator().argv, "-a", str(probe("corstone-300")), "--timelimit", "30", *more]


def boot(argv: list[str], folder: Path, warm: WarmServer | None, **env: str) -> tuple[int | None, bytes]:
    """Status and console of a boot that ends by itself."""
    console = b""

    def pump(seconds: float) -> None:
        nonlocal console
        time.sleep(seconds)
        console += read(process.console_fd)

    with SimulatorProcess(argv, folder, {**os.environ, **env}, Deadlines(), warm) as process:
        os.set_blocking(process.console_fd, False)
        process.pump = pump
        assert process.settle(60)
        pump(0)
        return process.status(), console


def read(fd: int) -> bytes:
    """All that the terminal holds; one read gives 4 KiB of it at most."""
    data = b""
    try:
        while more := os.read(fd, 1 << 16):
            data += more
    except OSError:
        pass
    return data


@pytest.mark.parametrize("arguments", [["--version"], ["--list-params"], ["--no-such-option"], ["-a", "missing.elf"]])
def test_a_warm_run_says_and_returns_what_the_command_does(
    tmp_path: Path, warm: WarmServer, arguments: list[str]
) -> None:
    argv = [*find_emulator().argv, *arguments]
    assert boot(argv, tmp_path, warm) == boot(argv, tmp_path, None)


def test_without_the_script_the_module_is_the_command(tmp_path: Path, warm: WarmServer) -> None:
    status, console = boot([sys.executable, "-m", "corstone.emulator.cli", "--version"], tmp_path, warm)
    assert (status, b"corstone-emulator" in console) == (0, True)


def test_a_warm_boot_says_and_returns_what_the_command_does(
    tmp_path: Path, warm: WarmServer, probe: Probe
) -> None:  # fmt: skip
    (tmp_path / "scenario.bin").write_bytes(bytes(4))
    settings = ["-C", "mps3_board.uart0.out_file=-", "-C", "mps3_board.uart0.shutdown_on_eot=1"]
    argv = command(probe, tmp_path, "--data", "scenario.bin@0x60000000", *settings)
    first = boot(argv, tmp_path, warm)
    assert first == boot(argv, tmp_path, None) == boot(argv, tmp_path, warm)
    assert first[1]


def test_environment_and_folder_are_those_of_the_boot(tmp_path: Path, warm: WarmServer) -> None:
    argv = [*find_emulator().argv, "-a", "here.elf"]
    (tmp_path / "here.elf").write_bytes(b"not an ELF")
    assert boot(argv, tmp_path, warm) == boot(argv, tmp_path, None)
    argv = [*find_emulator().argv, "--version"]
    status, console = boot(argv, tmp_path, warm, CORSTONE_QEMU="/nowhere/qemu")
    assert status == 3
    assert b"/nowhere/qemu" in console
    assert boot(argv, tmp_path, warm)[0] == 0


def start_hanging(warm: WarmServer, folder: Path) -> tuple[WarmProcess, int]:
    """A boot that waits for its UART: --data from a pipe nobody writes to holds it before QEMU starts."""
    os.mkfifo(folder / "never")
    terminal, ours = os.openpty()
    argv = [*find_emulator().argv, "-a", "never"]
    process = warm.start(argv, folder, dict(os.environ), ours)
    os.close(ours)
    return process, terminal


def test_a_killed_server_takes_its_boots_along_and_a_boot_says_so(tmp_path: Path, warm: WarmServer) -> None:
    process, terminal = start_hanging(warm, tmp_path)
    assert process.poll() is None
    os.kill(warm.pid, signal.SIGKILL)
    assert gone(process.pid)
    assert process.poll() == -signal.SIGKILL
    os.close(terminal)
    with pytest.raises(ServerGone):
        warm.start(["corstone-emulator"], tmp_path, {}, 0)


def test_a_boot_given_up_is_killed_and_the_server_goes_on(tmp_path: Path, warm: WarmServer) -> None:
    process, terminal = start_hanging(warm, tmp_path)
    process.close()
    assert gone(process.pid)
    os.close(terminal)
    assert boot([*find_emulator().argv, "--version"], tmp_path, warm)[0] == 0


def test_a_child_that_crashes_is_that_boot_alone(tmp_path: Path, warm: WarmServer) -> None:
    process, terminal = start_hanging(warm, tmp_path)
    os.kill(process.pid, signal.SIGSEGV)
    assert gone(process.pid)
    end = time.monotonic() + 10
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    assert process.poll() == -signal.SIGSEGV
    os.close(terminal)
    assert boot([*find_emulator().argv, "--version"], tmp_path, warm)[0] == 0


def test_nothing_is_left_of_a_killed_harness(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    script = (
        "import os, sys, time\nfrom pathlib import Path\nfrom corstone.boards.warm import WarmServer\n"
        "w = WarmServer()\n_, t = os.openpty()\n"
        "p = w.start(['corstone-emulator', '-a', 'never'], Path(sys.argv[1]), dict(os.environ), t)\n"
        "print(w.pid, p.pid, flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as harness:
        assert harness.stdout is not None
        pids = [int(word) for word in harness.stdout.readline().split()]
        assert all(map(alive, pids))
        harness.kill()
    assert len(pids) == 2
    assert all(map(gone, pids))


def test_a_dead_server_is_replaced_and_zero_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    first = server()
    assert first is not None
    assert server() is first
    os.kill(first.pid, signal.SIGKILL)
    assert gone(first.pid)
    second = server()
    assert second is not None
    assert second is not first
    monkeypatch.setenv("CORSTONE_WARM", "0")
    assert server() is None
