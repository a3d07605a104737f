"""Transports: what they lay out, and what they make of what came back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.fakes.fakes import dummy_runner

from corstone.boards.transports.base import Parcel, State, against_canary
from corstone.boards.transports.firmware import Firmware
from corstone.boards.transports.memory import GUARD, Memory
from corstone.boards.transports.semihosting import MAX_LINE, Semihosting
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.runners import Runner, Window, runner

WINDOW = Window(0x90000000, 1024, 0x92000000, 64, 0x93000000, 256)


def parcel(*outputs: int, inputs: tuple[bytes, ...] = (b"abcd",)) -> Parcel:
    return Parcel(b"program", inputs, outputs)


def dump_of(work: Path) -> bytearray:
    return bytearray((work / "canary.bin").read_bytes())


def test_memory_names_short_files_and_adds_a_guard(tmp_path: Path) -> None:
    arguments, facts = Memory(WINDOW).send(tmp_path, parcel(10, 20, inputs=(b"ab", b"cde")))
    assert arguments == [
        *("--data", "program.pte@0x90000000"),
        *("--data", "inputs.bin@0x92000000"),
        *("--data", "canary.bin@0x93000000"),
        *("--dump", f"outputs.bin@0x93000000,{30 + GUARD}"),
    ]
    assert facts == {}
    assert (tmp_path / "inputs.bin").read_bytes() == b"abcde"


def test_memory_sends_no_empty_input_file(tmp_path: Path) -> None:
    arguments, _ = Memory(WINDOW).send(tmp_path, parcel(4, inputs=()))
    assert not any("inputs.bin" in word for word in arguments)


def test_the_canary_differs_from_boot_to_boot(tmp_path: Path) -> None:
    seen = set()
    for index in range(4):
        folder = tmp_path / str(index)
        folder.mkdir()
        Memory(WINDOW).send(folder, parcel(16))
        seen.add(bytes(dump_of(folder)))
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("program", "inputs", "output"), [(2000, 4, 4), (4, 65, 4), (4, 4, 193)], ids=["program", "inputs", "outputs"]
)
def test_memory_refuses_what_does_not_fit(tmp_path: Path, program: int, inputs: int, output: int) -> None:
    with pytest.raises(ConfigError, match="room for") as refused:
        Memory(WINDOW).send(tmp_path, Parcel(bytes(program), (bytes(inputs),), (output,)))
    assert refused.value.cause is Cause.UNSUPPORTED


def test_memory_outputs_in_order_each_with_its_state(tmp_path: Path) -> None:
    memory, sent = Memory(WINDOW), parcel(16, 16, 16)
    memory.send(tmp_path, sent)
    dump = dump_of(tmp_path)
    dump[0:16] = bytes(b ^ 0xFF for b in dump[0:16])
    dump[32:40] = bytes(b ^ 0xFF for b in dump[32:40])
    (tmp_path / "outputs.bin").write_bytes(dump)
    first, second, third = memory.collect(tmp_path, sent)
    assert (first.state, second.state, third.state) == (State.COMPLETE, State.UNTOUCHED, State.PARTIAL)
    assert first.data == dump[0:16]
    assert third.written == 8


def test_memory_sees_bytes_written_beyond_the_end(tmp_path: Path) -> None:
    memory, sent = Memory(WINDOW), parcel(16)
    memory.send(tmp_path, sent)
    dump = bytearray(b ^ 0xFF for b in dump_of(tmp_path))
    (tmp_path / "outputs.bin").write_bytes(dump)
    assert memory.collect(tmp_path, sent)[0].state is State.LONG


def test_a_gap_in_the_middle_is_seen() -> None:
    canary = os.urandom(256)
    data = bytearray(b ^ 0xFF for b in canary)
    data[64:128] = canary[64:128]
    state = against_canary("out-0.bin", bytes(data), canary)
    assert state.state is State.PARTIAL
    assert "bytes 64 to" in state.detail


@pytest.mark.parametrize("size", range(1, 8))
def test_an_output_too_short_for_the_canary_is_in_doubt(size: int) -> None:
    canary = os.urandom(size)
    assert against_canary("o", canary, canary).state is State.DOUBTFUL
    other = bytes(b ^ 1 for b in canary)
    assert against_canary("o", other, canary).state is State.COMPLETE


def test_an_output_of_no_bytes_is_complete() -> None:
    assert against_canary("o", b"", b"").state is State.COMPLETE


def test_zeros_are_an_output_like_any_other() -> None:
    canary = os.urandom(64)
    assert against_canary("o", bytes(64), canary).state is State.COMPLETE


def ours() -> Runner:
    return runner("corstone-300")


@pytest.fixture
def foreign(tmp_path: Path) -> Semihosting:
    (tmp_path / "elf").mkdir()
    return Semihosting(dummy_runner(tmp_path / "elf", "semihosting"))


@pytest.mark.parametrize("length", [255, MAX_LINE, 257])
def test_a_line_of_256_characters_is_the_longest(foreign: Semihosting, length: int) -> None:
    words = ["x" * (length - len("executor_runner "))]
    if length <= MAX_LINE:
        assert foreign.command_line(words) == f"executor_runner {words[0]}"
        return
    with pytest.raises(ConfigError, match="257 characters") as refused:
        foreign.command_line(words)
    assert "use our runner" in refused.value.hint


@pytest.mark.parametrize("count", [0, 1, 20, 40, 64])
def test_our_runner_takes_any_number_of_inputs(tmp_path: Path, count: int) -> None:
    inputs = tuple(bytes([i]) for i in range(count))
    _, facts = Firmware(ours()).send(tmp_path, parcel(4, inputs=inputs))
    line = str(facts["line"])
    assert len(line) <= MAX_LINE
    words = line.split()
    if words[-1].startswith("@"):
        words = (tmp_path / words[-1][1:]).read_text().split()
    names = [words[i + 1] for i, word in enumerate(words) if word == "-i"]
    assert names == [f"i{i}.bin" for i in range(count)]
    assert [(tmp_path / name).read_bytes() for name in names] == list(inputs)


def test_our_runners_canary_is_new_for_each_boot_and_looked_for(tmp_path: Path) -> None:
    lines = set()
    for number in range(3):
        work = tmp_path / str(number)
        work.mkdir()
        firmware, sent = Firmware(ours()), parcel(32, 32, 32)
        _, facts = firmware.send(work, sent)
        words = str(facts["line"]).split()
        canary = int(words[words.index("--canary") + 1], 16).to_bytes(4, "little")
        lines.add(canary)
        (work / "out-0.bin").write_bytes(canary * 8)
        (work / "out-1.bin").write_bytes(bytes(16) + canary * 4)
        (work / "out-2.bin").write_bytes(bytes(32))
        states = [output.state for output in firmware.collect(work, sent)]
        assert states == [State.UNTOUCHED, State.PARTIAL, State.COMPLETE]
    assert len(lines) == 3


def test_semihosting_takes_only_new_regular_files_of_the_right_size(tmp_path: Path, foreign: Semihosting) -> None:
    semihosting, sent = foreign, parcel(16, 16, 16, 16, 16)
    semihosting.send(tmp_path, sent)
    (tmp_path / "out-0.bin").write_bytes(bytes(range(16)))
    (tmp_path / "out-1.bin").write_bytes(bytes(15))
    (tmp_path / "out-2.bin").symlink_to(tmp_path / "out-0.bin")
    (tmp_path / "out-3.bin").mkdir()
    (tmp_path / "out-4.bin").write_bytes(b"\xa5" * 16)
    (tmp_path / "out-5.bin").write_bytes(bytes(3))
    states = [output.state for output in semihosting.collect(tmp_path, sent)]
    assert states == [State.COMPLETE, State.SHORT, State.MISSING, State.MISSING, State.UNTOUCHED, State.LONG]


def test_semihosting_knows_an_old_file(tmp_path: Path, foreign: Semihosting) -> None:
    semihosting, sent = foreign, parcel(16)
    semihosting.send(tmp_path, sent)
    (tmp_path / "out-0.bin").write_bytes(bytes(16))
    os.utime(tmp_path / "out-0.bin", (1, 1))
    assert semihosting.collect(tmp_path, sent)[0].state is State.STALE
