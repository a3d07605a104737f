"""The runner's fault switch: every injection boots, and what it does is what its name says."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.firmware.build import ROOT, build
from corstone.firmware.command import FirmwareRun, command
from corstone.firmware.protocol import FirmwareLog, read_firmware

pytest.importorskip("ziglang", reason="ziglang builds the runner")

ACOS = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
TABLE = dict(re.findall(r'\{"([a-z0-9-]+)", INJECT_\w+, "([^"]+)"\}', (ROOT / "src" / "inject.c").read_text()))


@dataclass(frozen=True)
class Boot:
    """One boot: process status, console, frames, and the output file's bytes, None when it is missing."""

    status: int
    text: str
    log: FirmwareLog
    output: bytes | None


@pytest.fixture
def inject(emulator: Callable[..., Any], tmp_path: Path) -> Callable[..., Boot]:
    """Boots the acos program with an injection; ``limit`` in seconds for those that never end."""

    def run(name: str, limit: float = 30, board: str = "corstone-300") -> Boot:
        (tmp_path / "program.pte").write_bytes(ACOS.read_bytes())
        (tmp_path / "i0.bin").write_bytes(np.linspace(-1, 1, 256, dtype=np.float32).tobytes())
        timeout = 200 if name.startswith("npu-no") else None
        line = command(
            [FirmwareRun("program.pte", ("i0.bin",))], tmp_path, canary=0xBADCAB1E, inject=name, npu_timeout_ms=timeout
        )
        pairs = [
            "ethosu.num_macs=128",
            "mps3_board.uart0.out_file=-",
            "cpu0.semihosting-enable=1",
            f"cpu0.semihosting-cwd={tmp_path}",
            f"cpu0.semihosting-cmd_line={line}",
        ]
        words = ["-q", "--board", board, "-a", str(build(board)), "--timelimit", f"{limit:g}"]
        ran = emulator([*words, *(word for pair in pairs for word in ("-C", pair))], timeout=limit + 30)
        path = tmp_path / "out-0.bin"
        output = path.read_bytes() if path.exists() else None
        return Boot(ran.status, ran.out + ran.err, read_firmware(ran.out.encode()), output)

    return run


def test_every_injection_has_a_test_here() -> None:
    assert len(TABLE) >= 60
    covered = {name.partition("@")[0] for name in (*FAULTS, *OUTPUTS, *STATUSES, *ENDLESS, *HARMLESS, *EXITS, *OTHERS)}
    assert covered == set(TABLE)


# Injection: fault, flags.
FAULTS = {
    "udf": ("UsageFault", "UNDEFINSTR"),
    "udf@boot": ("UsageFault", "UNDEFINSTR"),
    "udf@end": ("UsageFault", "UNDEFINSTR"),
    "unaligned": ("UsageFault", "UNALIGNED"),
    "bus-fault": ("BusFault", "PRECISERR"),
    "null-call": ("UsageFault", "INVSTATE"),
    "mem-manage": ("MemManage", "IACCVIOL"),
    "secure-fault": ("SecureFault", ""),
    "nmi": ("NMI", ""),
    "div-zero": ("UsageFault", "DIVBYZERO"),
    "nocp": ("UsageFault", "NOCP"),
    "stack-overflow": ("UsageFault", "STKOF"),
    "hard-fault": ("HardFault", "FORCED"),
    "interrupt": ("unexpected interrupt 90", ""),
    "svc": ("unexpected exception 11", ""),
    "jump-arm": ("UsageFault", "INVSTATE"),
}
CODES = {"HardFault": 20, "MemManage": 21, "BusFault": 22, "UsageFault": 23, "SecureFault": 24, "NMI": 25}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_decoded_and_end_the_boot(inject: Callable[..., Boot], name: str) -> None:
    fault, flag = FAULTS[name]
    boot = inject(name)
    assert boot.log.fault is not None, boot.text[-1500:]
    assert boot.log.fault.fault == fault
    assert not flag or flag in boot.log.fault.flags
    assert boot.status == boot.log.exit_code == CODES.get(fault, 26)
    assert boot.log.complete
    assert re.search(rf"^F \[executorch:faults.c:\d+ report\(\)\] {fault}", boot.text, re.MULTILINE)
    assert ("Hard fault. pc=0x" in boot.text) == (fault == "HardFault")
    if name != "stack-overflow":
        assert boot.log.fault.stacked
    if name in ("udf", "unaligned", "bus-fault", "div-zero", "nocp"):
        assert 0x10000000 < boot.log.fault.pc < 0x10020000
    if name == "bus-fault":
        assert boot.log.fault.registers["bfar"] == 0x1E000000


def good(boot: Boot) -> bool:
    """Whether the console alone says that all is well."""
    return boot.status == 0 and boot.log.complete and boot.log.runs[0].code == 0


# Injections the device does not notice; what is wrong must be seen in files and frames.
OUTPUTS = (
    "no-frames", "wrong-crc", "frame-twice", "wrong-dtype", "wrong-shape", "wrong-name", "no-output", "missing-output",
    "short-output", "long-output", "empty-output", "extra-output", "zero-output", "canary-output", "flip-bit",
    "swap-outputs", "wrong-count",
)  # fmt: skip


_RIGHT: list[bytes] = []


@pytest.mark.parametrize("name", OUTPUTS)
def test_wrong_outputs_come_with_a_clean_console(inject: Callable[..., Boot], name: str, tmp_path: Path) -> None:
    if not _RIGHT:
        _RIGHT.append(inject("error-line").output or b"")
        (tmp_path / "out-0.bin").unlink()
    right = _RIGHT[0]
    boot = inject(name)
    assert good(boot), boot.text[-1500:]
    frames = boot.log.runs[0].outputs
    changed = {
        "no-output": None,
        "missing-output": None,
        "short-output": right[:-1],
        "empty-output": b"",
        "zero-output": bytes(1024),
        "canary-output": bytes.fromhex("1eabdcba") * 256,
        "swap-outputs": right[::-1],
        "flip-bit": right[:512] + bytes([right[512] ^ 0x10]) + right[513:],
    }
    if name == "long-output":
        assert boot.output is not None
        assert boot.output[:1024] == right
        assert len(boot.output) == 1028
    else:
        assert boot.output == changed.get(name, right)
    assert (tmp_path / "out-1.bin").exists() == (name == "extra-output")
    assert len(frames) == {"no-frames": 0, "frame-twice": 2}.get(name, 1)
    if name == "wrong-crc":
        assert not frames[0].matches(right)
    elif name in ("wrong-dtype", "wrong-shape", "wrong-name"):
        assert (frames[0].dtype, frames[0].shape, frames[0].name) != ("float32", (256,), "out-0.bin")
    elif name == "canary-output":
        assert frames[0].untouched == 1024
    if name == "wrong-count":
        assert "2 outputs: " in boot.text


# Injections the runner itself reports, with the status of the run.
STATUSES = {
    "skip-execute": "canary",
    "npu-no-start": "npu-timeout",
    "npu-no-irq": "npu-timeout",
    "npu-bad-stream": "npu-fault",
    "npu-bad-base": "npu-fault",
    "npu-unaligned": "alignment",
    "npu-config": "config-mismatch",
    "npu-short-stream": "npu-fault",
    "small-pool": "allocator",
    "truncate-program": "bad-program",
    "bad-identifier": "bad-program",
    "corrupt-program": "bad-program",
}


@pytest.mark.parametrize("name", STATUSES)
def test_what_the_runner_finds_it_reports(inject: Callable[..., Boot], name: str) -> None:
    boot = inject(name)
    assert boot.log.complete, boot.text[-1500:]
    (run,) = boot.log.runs
    assert run.status == STATUSES[name], run.text
    assert run.text
    assert boot.status == run.code
    # ExecuTorch's tests and scripts look for such a line.
    assert re.search(r"^E[ :]", boot.text, re.MULTILINE)
    lines = {
        "npu-no-start": "E: NPU inference timed out. (",
        "npu-bad-stream": "E: NPU status=0x",
        "npu-bad-base": "E: NPU error(s) occured during inference. (",
        "npu-unaligned": "E: Command stream addr 0x",
        "npu-config": "E: NPU config mismatch. npu.macs_per_cc=7, optimizer.macs_per_cc=6 (",
    }
    assert lines.get(name, "") in boot.text


# These never end by themselves: the simulator's limit does it.
ENDLESS = ("loop", "loop-log", "flood", "idle", "never-exit", "fake-end")


@pytest.mark.parametrize("name", ENDLESS)
def test_what_never_ends_is_ended_by_the_limit(inject: Callable[..., Boot], name: str) -> None:
    boot = inject(name, limit=2)
    assert boot.status == 124, boot.text[-1500:]
    assert boot.log.exit_code is None
    assert (name == "never-exit") == (boot.output is not None)
    if name == "loop-log":
        assert "still working, step 0" in boot.text
    elif name == "fake-end":
        assert boot.log.spoiled == 1


# Noise that must not turn a good run red.
HARMLESS = (
    "poison",
    "error-line",
    "tag-line",
    "garbage",
    "long-line",
    "nul-bytes",
    "ansi",
    "fake-hard-fault",
    "frame-spoiled",
)


@pytest.mark.parametrize("name", HARMLESS)
def test_noise_on_the_console_changes_nothing_else(inject: Callable[..., Boot], name: str) -> None:
    boot = inject(name)
    assert boot.status == 0
    assert boot.log.exit_code == 0
    assert boot.log.runs[0].code == 0
    assert boot.output is not None
    assert boot.log.spoiled == (1 if name == "frame-spoiled" else 0)


# Ends before the end: status, and whether the last frame came.
EXITS = {
    "exit-0": (0, None),
    "exit-1": (1, None),
    "exit-42": (42, None),
    "sys-exit": (1, None),
    "half-line": (0, None),
    "no-verdict": (0, None),
    "no-console": (0, None),
    "abort": (27, 27),
}


@pytest.mark.parametrize("name", EXITS)
def test_early_exits(inject: Callable[..., Boot], name: str) -> None:
    boot = inject(name)
    assert (boot.status, boot.log.exit_code) == EXITS[name]
    assert (boot.output is not None) == (name in ("no-verdict", "no-console"))
    if name == "no-console":
        assert not boot.log.runs


OTHERS = ("lockup", "eot", "slow", "npu-elsewhere")


def test_a_lockup_is_named_by_the_simulator(inject: Callable[..., Boot]) -> None:
    boot = inject("lockup")
    assert boot.status == 4
    assert "lockup" in boot.text.lower()
    assert boot.log.exit_code is None


def test_eot_alone_does_not_stop_a_simulator_that_was_not_told(inject: Callable[..., Boot]) -> None:
    boot = inject("eot", limit=2)
    assert boot.status == 124
    assert "\x04" in boot.text


def test_an_npu_that_writes_elsewhere_in_place_of_its_input_is_seen_in_the_bits(inject: Callable[..., Boot]) -> None:
    """Where input and output share scratch no fill can tell; the loader's tests have the case where one can."""
    boot = inject("npu-elsewhere")
    assert boot.log.complete
    assert boot.output is not None
    # acos of -1 to 1 falls from pi to 0; what came back is the input's codes, which rise.
    assert np.all(np.diff(np.frombuffer(boot.output, np.float32)) >= 0)


def test_slow_is_not_stuck(inject: Callable[..., Boot]) -> None:
    boot = inject("slow", limit=60)
    assert good(boot)
    assert "step 9 of 10" in boot.text


def test_unknown_injections_are_refused_with_the_list(inject: Callable[..., Boot]) -> None:
    boot = inject("nothing-like-it")
    assert boot.status == 1
    assert "there is none of that name" in boot.text
    assert "stack-overflow" in boot.text
