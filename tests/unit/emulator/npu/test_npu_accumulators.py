"""Sums that stay in the accumulators between operations, and streams that ask for sums that are not there."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from corstone.emulator.npu.assemble import Assembler
from corstone.emulator.npu.decode import decode
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.fuzz.store import StoredCase, load
from corstone.emulator.npu.offline import run_delegate

CASES = load(Path(__file__).parents[3] / "data" / "npu" / "cases.npz")
(CONV,) = (case for case in CASES if case.name == "strided conv ethos-u85-256")


def with_register(case: StoredCase, name: str, number: int, value: int = 0, **fields: int | str) -> StoredCase:
    """The case with the ``number``-th write of a one-word register replaced."""
    stream = case.blob.payload.stream
    commands = decode(stream, "U85")
    writes = [i for i in range(commands.offsets.size) if commands.row(i).name == name]
    at = int(commands.offsets[writes[number]])
    word = Assembler("U85").set(name, value, **fields).stream()
    payload = replace(case.blob.payload, stream=stream[:at] + word + stream[at + 4 :])
    return replace(case, blob=replace(case.blob, payload=payload))


def accumulators(case: StoredCase) -> list[tuple[object, object]]:
    commands = decode(case.blob.payload.stream, "U85")
    rows = [(commands.row(i).name, commands.operands(i)) for i in range(commands.offsets.size)]
    return [(fields["input"], fields["output_off"]) for name, fields in rows if name == "ACC_FORMAT"]


def test_the_case_adds_up_over_several_operations() -> None:
    assert accumulators(CONV) == [("RESET", 1), ("KEEP", 1), ("KEEP", 0)]
    run = run_delegate(CONV.blob, CONV.inputs)
    assert run.outputs == CONV.outputs
    assert run.stats.operations["CONV"] > 2


def test_sums_that_no_operation_left_are_refused() -> None:
    broken = with_register(CONV, "ACC_FORMAT", 0, input="KEEP", output_off=1, microblock="1x4")
    with pytest.raises(NpuError, match="the operation before left none") as caught:
        run_delegate(broken.blob, broken.inputs)
    assert caught.value.kind == "parse"
    assert caught.value.offset is not None


def test_sums_of_another_shape_are_refused() -> None:
    commands = decode(CONV.blob.payload.stream, "U85")
    names = [commands.row(i).name for i in range(commands.offsets.size)]
    second = [i for i, name in enumerate(names) if name == "CONV"][1]
    at = int(commands.offsets[second])
    low = Assembler("U85").set("OFM_HEIGHT_M1", 2).stream()
    stream = CONV.blob.payload.stream
    payload = replace(CONV.blob.payload, stream=stream[:at] + low + stream[at:])
    with pytest.raises(NpuError, match=r"accumulators of shape .* are kept for an OFM of shape \(3, "):
        run_delegate(replace(CONV.blob, payload=payload), CONV.inputs)


def test_an_ofm_larger_than_the_block_cannot_stay_in_the_accumulators() -> None:
    broken = with_register(CONV, "OFM_BLK_WIDTH_M1", 0, 0)
    with pytest.raises(NpuError, match=r"micro-blocks|the block holds"):
        run_delegate(broken.blob, broken.inputs)


def test_output_off_with_an_ofm_in_memory_is_refused_by_name() -> None:
    broken = with_register(CONV, "ACC_FORMAT", 2, input="KEEP", output_off=1, microblock="1x4")
    with pytest.raises(NpuError, match="accumulator output off with an OFM in memory") as caught:
        run_delegate(broken.blob, broken.inputs)
    assert caught.value.kind == "unsupported"


def test_sums_do_not_outlive_an_operation_that_stored_its_own() -> None:
    """The last operation stores; what keeps sums behind it finds none."""
    commands = decode(CONV.blob.payload.stream, "U85")
    last = max(i for i in range(commands.offsets.size) if commands.row(i).name == "CONV")
    at = int(commands.offsets[last])
    stream = CONV.blob.payload.stream
    again = stream[: at + 4] + struct.pack("<I", struct.unpack_from("<I", stream, at)[0]) + stream[at + 4 :]
    with pytest.raises(NpuError, match="the operation before left none"):
        run_delegate(replace(CONV.blob, payload=replace(CONV.blob.payload, stream=again)), CONV.inputs)
