"""Reading the runner's frames, whole and broken, and writing what it is asked to do."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.errors import ConfigError
from corstone.firmware.build import ROOT
from corstone.firmware.command import LINE_LIMIT, FirmwareRun, command, list_text
from corstone.firmware.protocol import OutputFrame, read_firmware, status_name


def frame(text: str, *, spoil: bool = False) -> str:
    return f"@corstone {text} #{zlib.crc32(text.encode()) ^ int(spoil):08x}\n"


BOOT = frame('{"n":0,"e":"boot","board":"corstone-300","protocol":1,"semihosting":true,"transport":"files"}')
BEGIN = frame('{"n":1,"e":"begin","run":0,"program":"program.pte"}')
OUTPUT = frame(
    '{"n":2,"e":"output","run":0,"index":0,"name":"out-0.bin","dtype":"int8","shape":[2,3],"bytes":6,'
    f'"crc":"{zlib.crc32(b"abcdef"):08x}","untouched":0}}'
)
END = frame('{"n":3,"e":"end","run":0,"code":0,"status":"ok","outputs":1,"pool":832,"text":""}')
EXIT = frame('{"n":4,"e":"exit","code":0,"status":"ok","runs":1,"ok":1,"lost":0}')
ALL = BOOT + "I [executorch:x.c:1 f()] text\n" + BEGIN + OUTPUT + END + EXIT


def test_a_whole_log() -> None:
    log = read_firmware(ALL.encode() + b"\x04")
    assert log.complete
    assert (log.board, log.transport, log.exit_code) == ("corstone-300", "files", 0)
    (run,) = log.runs
    assert (run.program, run.code, run.output_count, run.pool_bytes) == ("program.pte", 0, 1, 832)
    crc = zlib.crc32(b"abcdef")
    assert run.outputs == (OutputFrame(0, "out-0.bin", "int8", (2, 3), 6, crc, 0),)
    assert run.outputs[0].matches(b"abcdef")
    assert not run.outputs[0].matches(b"abcdeF")
    assert not run.outputs[0].matches(b"abcde")


def test_broken_frames_are_counted_and_missing_ones_listed() -> None:
    log = read_firmware((BOOT + BEGIN + frame(OUTPUT[10:-11], spoil=True) + END + EXIT).encode())
    assert not log.complete
    assert (log.spoiled, log.missing) == (1, (2,))
    assert log.runs[0].outputs == ()
    cut = read_firmware((BOOT + BEGIN + OUTPUT + END[:30]).encode())
    assert cut.spoiled == 1
    assert cut.exit_code is None
    assert cut.runs[0].code is None


def test_a_fault_with_its_registers() -> None:
    text = '{"n":1,"e":"fault","fault":"BusFault","flags":"PRECISERR BFARVALID","pc":4096,"bfar":16,"stacked":true}'
    fault = read_firmware((BOOT + frame(text)).encode()).fault
    assert fault is not None
    assert (fault.fault, fault.flags, fault.pc, fault.registers["bfar"]) == (
        "BusFault", ("PRECISERR", "BFARVALID"), 4096, 16,
    )  # fmt: skip


@given(st.binary(max_size=200), st.integers(0, len(ALL)))
def test_any_bytes_are_read(noise: bytes, at: int) -> None:
    raw = ALL.encode()
    log = read_firmware(raw[:at] + noise + raw[at:])
    assert len(log.runs) <= 1 or noise


@given(st.integers(0, len(ALL) - 1), st.integers(1, 255))
def test_a_changed_byte_is_never_taken_for_data(at: int, flip: int) -> None:
    raw = bytearray(ALL.encode())
    raw[at] ^= flip
    log = read_firmware(bytes(raw))
    for run in log.runs:
        for output in run.outputs:
            assert output.matches(b"abcdef")


def test_status_names_are_those_of_the_firmware() -> None:
    header = (ROOT / "include" / "base.h").read_text()
    source = (ROOT / "src" / "base.c").read_text()
    codes = {name: int(value) for name, value in re.findall(r"(STATUS_\w+) = (\d+)", header)}
    names = dict(re.findall(r'case (STATUS_\w+): return "([^"]+)"', source))
    assert len(codes) == len(names) > 20
    assert {status_name(code) for code in codes.values()} == set(names.values())
    for name, code in codes.items():
        assert status_name(code) == names[name]


def test_a_short_command_needs_no_file(tmp_path: Path) -> None:
    line = command([FirmwareRun("program.pte", ("i0.bin", "i1.bin"))], tmp_path, canary=0x12AB)
    assert line == "executor_runner --canary 0x12ab -m program.pte -i i0.bin -i i1.bin -o out"
    assert not list(tmp_path.iterdir())


def test_what_is_longer_goes_into_a_file(tmp_path: Path) -> None:
    run = FirmwareRun("program.pte", tuple(f"i{n}.bin" for n in range(40)))
    line = command([run], tmp_path)
    assert line == "executor_runner @runs.txt"
    assert (tmp_path / "runs.txt").read_text() == list_text([run])
    many = command([FirmwareRun("a b.pte"), FirmwareRun("c.pte", (), "o c")], tmp_path, quiet=True)
    assert len(many) <= LINE_LIMIT
    assert (tmp_path / "runs.txt").read_text() == '-m "a b.pte" -o out\n-m c.pte -o "o c"\n'


@pytest.mark.parametrize("name", ["", 'a"b', "a\nb", "x" * 300])
def test_names_the_runner_cannot_read_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError):
        command([FirmwareRun(name)], tmp_path)
