"""Every way a run of the emulator ends, played by the probe image: text, exit status, and nothing left running."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corstone.emulator import landlock

Ran = Callable[..., Any]
STOPPED = "Info: /OSCI/SystemC: Simulation stopped by user.\n"
SEMIHOSTING = ("-C", "cpu0.semihosting-enable=1")
BOARDS = ["corstone-300", "corstone-320"]


def live_qemus() -> set[int]:
    """Process ids of QEMUs that run a machine."""
    found = set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if b"qemu-system-arm" in line and b"corstone-" not in line.split(b"\0")[0]:
                found.add(int(name))
    return found


def children_with(mark: str) -> set[int]:
    """QEMUs whose environment carries a mark: other tests run theirs at the same time."""
    found = set()
    for pid in live_qemus():
        try:
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.add(pid)
        except OSError:
            continue
    return found


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    mark = f"EMULATOR_TEST={tmp_path}"
    monkeypatch.setenv("EMULATOR_TEST", str(tmp_path))
    yield
    deadline = time.monotonic() + 5
    while (left := children_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left


@pytest.mark.parametrize("board", BOARDS)
def test_eot(scenario: Ran, board: str) -> None:
    ran = scenario(0, board=board)
    assert ran.status == 0, ran.err
    banner, _, rest = ran.out.partition("\n\n")
    assert banner.startswith("corstone-emulator: version ")
    assert "not an Arm product" in banner
    assert rest == "hello\n\x04\n" + STOPPED
    assert "telnetterminal" not in ran.out
    assert ran.err == ""


def test_tag(scenario: Ran) -> None:
    ran = scenario(1, "-q", "-C", "mps3_board.uart0.shutdown_tag=EXITTHESIM")
    assert (ran.status, ran.out) == (0, "done\nEXITTHESIM\n" + STOPPED)


@pytest.mark.parametrize("board", BOARDS)
def test_semihosting_exit_status(scenario: Ran, board: str) -> None:
    prefix = "" if board == "corstone-300" else "mps4_board.subsystem."
    ran = scenario(2, "-q", "-C", f"{prefix}cpu0.semihosting-enable=1", board=board)
    assert (ran.status, ran.out, ran.err) == (7, STOPPED, "")


def test_semihosting_exit_plain(scenario: Ran) -> None:
    assert scenario(3, *SEMIHOSTING).status == 0
    assert scenario(4, *SEMIHOSTING).status == 1


def test_time_limit(scenario: Ran) -> None:
    began = time.monotonic()
    ran = scenario(25, "-q", "--timelimit", "1.5")
    assert ran.status == 124
    assert ran.out.endswith(
        "\nInfo: Simulation is stopping. Reason: CPU time has been exceeded.\n\n" + STOPPED
    ), ran.out  # fmt: skip
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--simlimit", "0.3", "Simulated time has been exceeded."),
        ("--cyclelimit", "5000000", "Cycle limit has been exceeded."),
        ("--cpulimit", "1.5", "CPU time has been exceeded."),
    ],
)
def test_other_limits(scenario: Ran, option: str, value: str, reason: str) -> None:
    ran = scenario(5, "-q", option, value)
    assert ran.status == 124
    assert ran.out == f"looping\n\nInfo: Simulation is stopping. Reason: {reason}\n\n{STOPPED}"


def test_idle_guest_still_meets_its_limit(scenario: Ran) -> None:
    ran = scenario(22, "-q", "--timelimit", "2")
    assert ran.status == 124
    assert ran.out.startswith("sleeping\n")


@pytest.mark.parametrize("board", BOARDS)
def test_bus_fault_is_decoded(scenario: Ran, board: str) -> None:
    ran = scenario(6, "-q", board=board)
    assert ran.status == 4
    assert ran.out == "about to fault\n" + STOPPED
    assert "CPU fault: HardFault: precise bus error on a data access, address 0x11f00000" in ran.err
    assert re.search(r"at Reset\+0x[0-9a-f]+\n", ran.err)
    assert "cfsr=0x00008200 hfsr=0x40000000" in ran.err
    assert "loops for ever" in ran.err


def test_handler_that_speaks_goes_on(scenario: Ran) -> None:
    ran = scenario(7, "-q")
    assert (ran.status, ran.out) == (0, "usage fault handler spoke\n\x04\n" + STOPPED)
    assert "CPU fault: UsageFault: undefined instruction" in ran.err


def test_lockup(scenario: Ran) -> None:
    ran = scenario(8, "-q")
    assert ran.status == 4
    assert "about to lock up\n" in ran.out
    assert "Lockup: can't escalate 3 to HardFault" in ran.err
    assert re.search(r"corstone-emulator: CPU lockup at Reset\+0x\w+ \(pc=0x1000\w{4}\)", ran.err)


def test_jump_to_null(scenario: Ran) -> None:
    ran = scenario(20, "-q")
    assert ran.status == 4
    assert "jump to a non-Thumb address" in ran.err
    assert "called from Reset+" in ran.err


def test_unhandled_interrupt(scenario: Ran) -> None:
    ran = scenario(18, "-q")
    assert ran.status == 4
    assert "interrupt 5 went to the handler at Loop" in ran.err


def test_semihosting_call_while_off(scenario: Ran) -> None:
    ran = scenario(10, "-q")
    assert ran.status == 4
    assert "semihosting call while semihosting is off" in ran.err
    assert "semihosting-enable=1" in ran.err


def test_refused_instruction(scenario: Ran) -> None:
    ran = scenario(15, "-q")
    assert ran.status == 4
    assert re.search(r"0x1000\w{4} that touched a device is `vldr s0, \[r\d\]`, which is not modelled", ran.err)


def test_host_program_is_denied(scenario: Ran) -> None:
    ran = scenario(19, "-q", *SEMIHOSTING)
    assert not (ran.folder / "harmed").exists()
    # glibc up to 2.37 forks for system(), which QEMU's sandbox answers by ending QEMU. A newer one (Debian 13) spawns:
    # there the sandbox ends the child, and the guest gets the status of a command that could not be run, 127.
    ended = ran.status == 4 and "SYS_SYSTEM" in ran.err
    told = ran.status == 0 and "system=00007f00" in ran.out
    assert ended or told, ran


def test_files_outside_the_semihosting_folder_stay_as_they_are(scenario: Ran, tmp_path: Path) -> None:
    if not landlock.version():
        pytest.skip("this kernel has no Landlock")
    outside = tmp_path / "outside"
    folder = outside / "folder"
    (folder / "sub").mkdir(parents=True)
    (outside / "victim").write_text("as before")
    (folder / "own").write_text("own")
    (folder / "link").symlink_to(outside)
    (folder / "victim-link").symlink_to(outside / "victim")
    (tmp_path / "absolute.bin").write_bytes(bytes(outside / "made-absolute") + b"\0")
    (tmp_path / "made").write_text("as before")
    ran = scenario(28, "-q", *SEMIHOSTING, "-C", f"cpu0.semihosting-cwd={folder}", "--data", "absolute.bin@0x60000100")
    assert ran.status == 0, ran.err
    answers = re.findall("(open|append|remove|rename)=(........)\n", ran.out)
    assert len(answers) == 15
    assert {answer for _, answer in answers} == {"ffffffff"}
    assert {p.name for p in outside.iterdir()} == {"victim", "folder"}
    assert (outside / "victim").read_text() == (tmp_path / "made").read_text() == "as before"
    assert {p.name for p in folder.iterdir()} == {"sub", "own", "link", "victim-link"}
    # Below its folder the guest may write as ever.
    assert "not-written=00000000\n" in ran.out
    assert (folder / "sub" / "made").read_bytes() == b"payload"


def test_semihosting_files_and_line(scenario: Ran, tmp_path: Path) -> None:
    folder = tmp_path / "semi hosting"
    folder.mkdir()
    (folder / "given.txt").write_text("given text\n")
    line = "executor_runner -m a,b.pte  -o 'x y' " + "z" * 300
    ran = scenario(
        10, "-q", *SEMIHOSTING, "-C", f"cpu0.semihosting-cwd={folder}", "-C", f"cpu0.semihosting-cmd_line={line}"
    )
    assert ran.status == 0, ran.err
    found = re.search("args=(.*)\n", ran.out)
    # The guest's own buffer takes 200 characters; the line is cut at 256 before that.
    assert found is None or found[1] == line[:256]
    assert "not-written=00000000\n" in ran.out
    assert "given text\n" in ran.out
    assert "said to tt\n" in ran.out
    assert "said by write0\n" in ran.out
    assert (folder / "made.bin").read_bytes() == b"payload"
    short = scenario(
        10, "-q", *SEMIHOSTING, "-C", f"cpu0.semihosting-cwd={folder}", "-C", "cpu0.semihosting-cmd_line=a b,c"
    )
    assert "args=a b,c\n" in short.out


@pytest.mark.parametrize("board", BOARDS)
def test_uart_input(scenario: Ran, tmp_path: Path, board: str) -> None:
    (tmp_path / "typed, text.txt").write_bytes(b"typed\n")
    prefix = "mps3_board" if board == "corstone-300" else "mps4_board"
    ran = scenario(16, "-q", "-C", f"{prefix}.uart0.in_file=typed, text.txt", board=board)
    assert (ran.status, ran.out) == (0, "typed\n\x04\n" + STOPPED)


def test_much_uart_text_arrives_whole(scenario: Ran) -> None:
    ran = scenario(17, "-q")
    assert ran.status == 0
    assert ran.out == "".join(f"{i:08x}\n" for i in range(3000)) + "\x04\n" + STOPPED


def test_uart_to_a_file(scenario: Ran, tmp_path: Path) -> None:
    ran = scenario(0, "-q", "-C", "mps3_board.uart0.out_file='uart.txt'")
    assert ran.out == STOPPED
    assert (tmp_path / "uart.txt").read_bytes() == b"hello\n\x04"


def test_dumps_of_ddr_and_sram(scenario: Ran, tmp_path: Path) -> None:
    ran = scenario(24, "-q", "--dump", "ddr.bin@0x60002000,4", "--dump", "sram.bin@0x21000000,8")
    assert ran.status == 0, ran.err
    assert (tmp_path / "ddr.bin").read_bytes() == (0x600D).to_bytes(4, "little")
    assert (tmp_path / "sram.bin").read_bytes() == (0xF00D).to_bytes(8, "little")


def test_statistics(scenario: Ran) -> None:
    ran = scenario(0, "--stat")
    block = ran.out.partition(STOPPED)[2]
    assert re.match(r"\n--- FVP_MPS3_Corstone_SSE_300 statistics: -+\nSimulated time {26}: \d+\.\d{6}s\n", block)
    assert block.endswith("-" * 79 + "\n")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_stop_in_order(
    probe: Callable[[str], Path], tmp_path: Path, number: int, status: int
) -> None:  # fmt: skip
    process = _looping(probe, tmp_path)
    process.send_signal(number)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == status
    assert out.decode().endswith("\nStopping simulation...\n\n" + STOPPED)
    assert (tmp_path / "out.bin").read_bytes() == (5).to_bytes(4, "little")


def test_kill_takes_qemu_along(probe: Callable[[str], Path], tmp_path: Path) -> None:
    process = _looping(probe, tmp_path)
    assert children_with(f"EMULATOR_TEST={tmp_path}")
    process.kill()
    process.communicate(timeout=20)


def _looping(probe: Callable[[str], Path], folder: Path) -> subprocess.Popen[bytes]:
    """The emulator with a guest that prints a line and loops."""
    (folder / "scenario.bin").write_bytes((5).to_bytes(4, "little"))
    command = [
        sys.executable, "-m", "corstone.emulator.cli", "-q", "-a", str(probe("corstone-300")), "--timelimit", "30",
        "--data", "scenario.bin@0x60000000", "-C", "mps3_board.uart0.out_file=-", "--dump", "out.bin@0x60000000,4",
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    assert process.stdout.readline() == b"looping\n"
    return process


def test_killed_qemu_is_reported(probe: Callable[[str], Path], tmp_path: Path) -> None:
    process = _looping(probe, tmp_path)
    (pid,) = children_with(f"EMULATOR_TEST={tmp_path}")
    os.kill(pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 3
    assert b"QEMU died under the machine (ended by signal 9)" in out


def test_reader_that_goes_away(probe: Callable[[str], Path], tmp_path: Path) -> None:
    process = _looping(probe, tmp_path)
    assert process.stdout is not None
    process.stdout.close()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) in (141, 143)
