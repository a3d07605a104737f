"""The emulator's command line: what it answers, what it refuses, and that it says why."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corstone.firmware.build import zig_environment

Ran = Callable[..., Any]


def elf(folder: Path, address: int, data: bytes, machine: int = 40, name: str = "made.elf") -> Path:
    """An ELF of one segment."""
    header = struct.pack(
        "<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, machine, 1, address | 1, 52, 0, 0, 52, 32, 1, 0, 0, 0
    )
    program = struct.pack("<8I", 1, 84, address, address, len(data), len(data), 5, 4)
    path = folder / name
    path.write_bytes(header + program + data)
    return path


def test_version_names_itself(emulator: Ran) -> None:
    ran = emulator(["--version"])
    assert ran.status == 0
    assert ran.out.startswith("corstone-emulator ")
    assert "Not an Arm product" in ran.out
    assert "QEMU " in ran.out
    assert "Fast Models" not in ran.out


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(emulator: Ran, option: str) -> None:
    ran = emulator([option])
    assert ran.status == 0
    for word in ("--application", "--data", "--dump", "--timelimit", "--trace", "not an Arm product"):
        assert word in ran.out


def test_list_params_is_a_config_file(emulator: Ran, tmp_path: Path) -> None:
    ran = emulator(["--list-params", "-C", "ethosu.num_macs=256"])
    assert ran.status == 0
    lines = [line for line in ran.out.splitlines() if not line.startswith("#")]
    assert "ethosu.num_macs=256                                   # (int   , init-time) default = '0x80'" in ran.out
    assert all("=" in line and line.rindex("# (") >= 54 for line in lines)
    (tmp_path / "all.txt").write_text(ran.out)
    again = emulator(["-f", "all.txt", "--list-params"])
    assert (again.status, again.out) == (0, ran.out)
    assert "mps4_board.subsystem.cpu0" in emulator(["--board", "corstone-320", "-l"]).out


def test_list_instances(emulator: Ran) -> None:
    ran = emulator(["--list-instances"])
    assert ran.status == 0
    assert "cpu0" in ran.out
    assert "Ethos-U55" in ran.out


def test_called_by_an_fvp_name(emulator: Ran, tmp_path: Path) -> None:
    command = shutil.which("corstone-emulator", path=os.path.dirname(sys.executable))
    if command is None:
        pytest.skip("the console script is not installed beside this Python")
    link = tmp_path / "FVP_Corstone_SSE-320"
    link.symlink_to(command)
    ran = emulator(["--list-instances"], program=str(link))
    assert "Ethos-U85" in ran.out


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["-a", "missing.elf"], 2, ["cannot open application file", "missing.elf", "No such file"]),
        ([], 2, ["no application", "-a ELF"]),
        (["--nonsense"], 2, ["unknown option '--nonsense'"]),
        (["-a"], 2, ["-a wants a value"]),
        (["-C", "ethosu.num_mac=128", "-a", "x"], 2, ["unknown parameter", "did you mean", "ethosu.num_macs"]),
        (["-C", "ethosu.num_macs=100", "-a", "x"], 2, ["100 MACs", "32, 64, 128, 256, 512"]),
        (["-C", "ethosu.num_macs=many", "-a", "x"], 2, ["bad value", "integer"]),
        (["-C", "cpu0.semihosting-enable=2", "-a", "x"], 2, ["bad value", "bool"]),
        (["-C", "novalue", "-a", "x"], 2, ["INSTANCE.PARAMETER=VALUE"]),
        (["--timelimit", "soon"], 2, ["--timelimit", "seconds"]),
        (["--timelimit", "-1"], 2, ["--timelimit", "seconds"]),
        (["--data", "file"], 2, ["FILE@ADDRESS"]),
        (["--data", "file@here"], 2, ["--data", "number"]),
        (["--dump", "file@0x60000000"], 2, ["FILE@ADDRESS,SIZE"]),
        (["--board", "corstone-999"], 2, ["corstone-999", "corstone-300, corstone-320"]),
        (["--fvp", "FVP_Nothing"], 2, ["FVP_Nothing", "FVP_Corstone_SSE-320"]),
        (["--board", "corstone-320", "--fvp", "FVP_Corstone_SSE-300_Ethos-U55"], 2, ["contradicts"]),
        (["-f", "missing.txt"], 2, ["cannot open config file"]),
        (["-I"], 2, ["Iris"]),
        (["-a", "text.elf"], 2, ["not an ELF"]),
        (["-a", "x86.elf"], 2, ["not an Arm ELF", "machine 62"]),
        (["-a", "bram.elf"], 2, ["there is no memory at 0x12000000"]),
        (["-a", "other.elf"], 2, ["no vector table at 0x10000000", "built for another board"]),
        (["-a", "cut.elf"], 2, ["past the end of the file"]),
        (["-a", "good.elf", "--data", "text.elf@0x10000004"], 2, ["overlaps", "0x10000004"]),
        (["-a", "good.elf", "--data", "text.elf@0x00000004"], 2, ["overlaps"]),
        (["-a", "good.elf", "--data", "text.elf@0x5fffffff"], 2, ["there is no memory at 0x5fffffff", "text.elf"]),
        (["-a", "good.elf", "--data", "nothing.bin@0x60000000"], 2, ["cannot open data file"]),
        (["-a", "good.elf", "--dump", "out.bin@0x50000000,4"], 2, ["--dump", "no memory"]),
        (["-a", "good.elf", "--dump", "no/where.bin@0x60000000,4"], 2, ["cannot open output file"]),
        (["-a", "good.elf", "--trace", "no/where.txt"], 2, ["cannot open output file"]),
        (["-a", "good.elf", "-C", "mps3_board.uart0.out_file=no/where.txt"], 2, ["cannot open output file"]),
        (["-a", "good.elf", "-C", "mps3_board.uart0.in_file=none.txt"], 2, ["cannot open UART input file"]),
        (["-a", "good.elf", "-C", "cpu0.semihosting-cwd=/no/such"], 2, ["semihosting folder"]),
    ],
)
def test_refusals(emulator: Ran, tmp_path: Path, arguments: list[str], status: int, words: list[str]) -> None:
    vectors = struct.pack("<2I", 0x30001000, 0x10000009) + b"\xfe\xe7" * 8
    (tmp_path / "text.elf").write_text("not an ELF")
    elf(tmp_path, 0x10000000, vectors, 62, "x86.elf")
    elf(tmp_path, 0x12000000, vectors, name="bram.elf")
    elf(tmp_path, 0x11000000, vectors, name="other.elf")
    good = elf(tmp_path, 0x10000000, vectors, name="good.elf")
    (tmp_path / "cut.elf").write_bytes(good.read_bytes()[:90])
    ran = emulator(arguments)
    assert ran.status == status, ran.err
    assert ran.err.startswith("corstone-emulator: ")
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.err


def test_corstone_320_lacks_its_bram(emulator: Ran, tmp_path: Path) -> None:
    elf(tmp_path, 0x12000000, b"\0" * 16)
    ran = emulator(["--board", "corstone-320", "-a", "made.elf"])
    assert ran.status == 2
    assert "there is no memory at 0x12000000" in ran.err
    assert "FVP" in ran.err


def test_pointer_authentication_is_refused_by_name(emulator: Ran, tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="ziglang assembles the image")
    (tmp_path / "pac.s").write_text(
        ".syntax unified\n.thumb\n.cpu cortex-m85\n.eabi_attribute 50, 2\n"
        ".section .text\n.global _start\n.type _start, %function\n_start:\n"
        ".word 0x30001000\n.word 0x10000009\nnop\npacg r0, r1, r2\nb .\n"
    )
    (tmp_path / "pac.ld").write_text("SECTIONS { . = 0x10000000; .text : { *(.text) } }")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m85"]
    command += ["-nostdlib", "-Wl,-T,pac.ld", "-o", "pac.elf", "pac.s"]
    environment = zig_environment(tmp_path)
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=180, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    ran = emulator(["-a", "pac.elf"])
    assert ran.status == 2, ran.out + ran.err
    assert "pointer authentication: PACG at 0x1000000a" in ran.err


def test_no_qemu(emulator: Ran, tmp_path: Path) -> None:
    elf(tmp_path, 0x10000000, struct.pack("<2I", 0x30001000, 0x10000009) + b"\xfe\xe7" * 8)
    ran = emulator(["-a", "made.elf"], env={"PATH": "/nowhere", "CORSTONE_QEMU": ""})
    assert ran.status == 3
    assert "qemu-system-arm was not found" in ran.err
    assert "apt-get install qemu-system-arm" in ran.err


def test_qemu_that_is_none(emulator: Ran, tmp_path: Path) -> None:
    elf(tmp_path, 0x10000000, struct.pack("<2I", 0x30001000, 0x10000009) + b"\xfe\xe7" * 8)
    ran = emulator(["-a", "made.elf"], env={"CORSTONE_QEMU": "/bin/false"})
    assert ran.status == 3
    assert "QEMU did not come up" in ran.err


def test_qemu_without_a_sandbox(scenario: Ran, tmp_path: Path) -> None:
    """A build without seccomp refuses the option; the boot goes on without it and says so."""
    wrapper = tmp_path / "qemu-without"
    wrapper.write_text(
        "#!/bin/sh\n"
        'case "$*" in *-sandbox*) echo "qemu-system-arm: -sandbox on: sandboxing is not supported" >&2; exit 1;; esac\n'
        'exec qemu-system-arm "$@"\n'
    )
    wrapper.chmod(0o755)
    ran = scenario(0, "-q", env={"CORSTONE_QEMU": str(wrapper)})
    assert ran.status == 0
    assert "hello" in ran.out
    assert "this QEMU has no sandbox" in ran.err


def test_spellings(scenario: Ran, tmp_path: Path) -> None:
    """Quotes, glued options, a bare ELF and config files, as public scripts have them."""
    (tmp_path / "config.txt").write_text(
        "# a comment\n\nmps3_board.visualisation.disable-visualisation=1  # trailing\nethosu.num_macs=64\n"
        'mps3_board.uart0.out_file="-"\n'
    )
    ran = scenario(
        21, "-q", "-f", "config.txt", "-Cethosu.extra_args='--fast'", "-C", "core_clk.mul=0x2000000", "--quantum", "10",
        "-C", "cpu0.CFGITCMSZ=15", "--stat",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert "config=00001006" in ran.out
    wins = scenario(21, "-q", "-C", "ethosu.num_macs=32", "-f", "config.txt")
    assert "config=00001005" in wins.out
