"""Faults planted in the command stream of a program of nine operators: the operation and its TOSA tensor are named."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from corstone.accuracy.tables import expected_entries, tables_of
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.judge.first import First, Why, explain_bits
from corstone.judge.stages import STREAM
from corstone.looking.walk import Walk, walk
from corstone.program import Program, QParams

Array = npt.NDArray[Any]
Change = Callable[[bytes], bytes]
DATA = Path(__file__).parents[2] / "data"
GOOD = DATA / "orientation-int8-u55-128.pte"
BLOB = read_vela(read_pte(GOOD).delegates[0].data)
ASIN, ATAN = BLOB.weights[:256], BLOB.weights[256:512]
SUB = 0x350


def _inputs() -> list[Array]:
    rng = np.random.default_rng(1)
    return [rng.uniform(-1, 1, s.shape).astype(np.float32) for s in read_pte(GOOD).input_specs]


@pytest.fixture(scope="module")
def good() -> Walk:
    return walk(read_pte(GOOD), _inputs())


def _program(folder: Path, change: Change) -> Program:
    """The program with its delegate changed and the TOSA graph it was compiled from."""
    shutil.copy(DATA / "orientation-int8.tosa", folder / "delegate-0.tosa")
    shutil.copy(DATA / "orientation-int8-operators.json", folder / "operators.json")
    data = GOOD.read_bytes()
    changed = change(data)
    assert len(changed) == len(data)
    (folder / "program.pte").write_bytes(changed)
    pte = read_pte(GOOD)
    return Program(
        folder / "program.pte",
        "ethos-u55-128",
        pte.input_specs,
        pte.output_specs,
        (folder / "delegate-0.tosa",),
        input_qparams=(
            QParams(0.023165332153439522, -1, -128, 127, "int8"),
            QParams(0.0130191370844841, -2, -128, 127, "int8"),
        ),
        output_qparams=(QParams(0.012750256806612015, 0, -128, 127, "int8"),),
    )


def _explained(folder: Path, change: Change, good: Walk) -> First:
    """The explanation when the device gives what the changed stream says."""
    program = _program(folder, change)
    device = walk(read_pte(program.pte), _inputs(), feature_maps=False).outputs
    wrong = np.flatnonzero(device[0].reshape(-1) != good.outputs[0].reshape(-1))
    assert wrong.size, "the planted fault changes no output"
    return explain_bits(program, _inputs(), device, 0, int(wrong[0]))


def _weights(old: bytes, new: bytes) -> Change:
    def change(data: bytes) -> bytes:
        assert data.count(BLOB.weights) == 1
        return data.replace(BLOB.weights, BLOB.weights.replace(old, new, 1))

    return change


def _stream(edit: Callable[[bytearray], None]) -> Change:
    stream = bytearray(BLOB.payload.stream)
    edit(stream)

    def change(data: bytes) -> bytes:
        assert data.count(BLOB.payload.stream) == 1
        return data.replace(BLOB.payload.stream, bytes(stream))

    return change


def _elementwise(offset: int, mode: int) -> Change:
    """``mode`` of the elementwise operation: 0 MUL, 1 ADD, 2 SUB."""

    def edit(stream: bytearray) -> None:
        code, _old = struct.unpack_from("<HH", stream, offset)
        assert code == 6
        struct.pack_into("<HH", stream, offset, code, mode)

    return _stream(edit)


def test_the_stored_program_is_its_graph(tmp_path: Path, good: Walk) -> None:
    found = explain_bits(_program(tmp_path, lambda data: data), _inputs(), good.outputs, 0, 0)
    assert found.why is Why.UNKNOWN
    assert "gives what its TOSA graph gives" in found.detail


def test_a_wrong_table_entry_is_named_with_its_operator_and_tensor(tmp_path: Path, good: Walk) -> None:
    codes = good.commands[0][1].ofm
    assert codes is not None
    met = int(codes.reshape(-1)[5]) + 128
    bad = bytearray(ASIN)
    bad[met] ^= 0x80
    found = _explained(tmp_path, _weights(ASIN, bytes(bad)), good)
    assert (found.stage, found.why) == (STREAM, Why.WRONG_ENTRY)
    assert "tensor tosa_table_default of TABLE" in found.detail
    assert f"entry {met} of asin (asin)" in found.detail
    assert "NPU operation 4 (POOL.AVERAGE, stream offset 0x210)" in found.detail


def test_the_table_of_another_operator_is_named(tmp_path: Path, good: Walk) -> None:
    use = next(u for u in tables_of(_program(tmp_path, lambda data: data)) if u.operator == "atan")
    other = expected_entries(replace(use, operator="sin")).astype(np.int8).tobytes()
    found = _explained(tmp_path, _weights(ATAN, other), good)
    assert (found.stage, found.why) == (STREAM, Why.WRONG_OPERATOR)
    assert "tensor tosa_table_default_1 of TABLE" in found.detail
    assert "the table of atan holds sin" in found.detail


def test_a_table_at_another_scale_is_named(tmp_path: Path, good: Walk) -> None:
    half = np.rint(np.frombuffer(ATAN, np.int8) * 0.5).astype(np.int8).tobytes()
    found = _explained(tmp_path, _weights(ATAN, half), good)
    assert found.why is Why.WRONG_SCALE
    assert "the entries are those of atan (atan) times 0.5" in found.detail


def test_a_wrong_operator_inside_the_delegate_is_named(tmp_path: Path, good: Walk) -> None:
    found = _explained(tmp_path, _elementwise(SUB, 1), good)
    assert (found.stage, found.why) == (STREAM, Why.WRONG_OPERATOR)
    assert f"NPU operation 8 (ELEMENTWISE.ADD, stream offset {SUB:#x})" in found.detail
    assert "tosa_rescale_default_5 of SUB" in found.detail


def test_the_last_operator_is_named_though_the_one_before_it_has_an_equal_tensor(tmp_path: Path, good: Walk) -> None:
    found = _explained(tmp_path, _elementwise(0x3E0, 0), good)
    assert (found.stage, found.why) == (STREAM, Why.WRONG_OPERATOR)
    assert "NPU operation 10 (ELEMENTWISE.MUL" in found.detail
    assert found.detail.endswith("the next one is tosa_rescale_default_9 of ADD")


def test_a_wrong_scale_inside_the_delegate_is_named(tmp_path: Path, good: Walk) -> None:
    def edit(stream: bytearray) -> None:
        at = stream.rfind(struct.pack("<I", 1134590903), 0, SUB)
        assert at > 0
        struct.pack_into("<I", stream, at, 2 * 1134590903)

    found = _explained(tmp_path, _stream(edit), good)
    assert (found.stage, found.why) == (STREAM, Why.WRONG_SCALE)
    assert "tosa_rescale_default_5 of SUB times 2" in found.detail


def test_a_device_fault_is_told_apart(tmp_path: Path, good: Walk) -> None:
    device = good.outputs[0].copy()
    device[3, 1] += 0.25
    device[9, 0] += 0.25
    found = explain_bits(_program(tmp_path, lambda data: data), _inputs(), [device], 0, 7)
    assert (found.stage, found.why, found.index) == ("device", Why.DEVICE, (3, 1))
    assert "2 elements differ from the device" in found.detail
    assert "they are those of the TOSA graph" in found.detail


def test_a_wrong_stream_comes_before_a_device_that_gives_other_bits_again(tmp_path: Path, good: Walk) -> None:
    """As with Vela 5.2.0, whose stream for int16 reads memory that it has not written: each run gives other bits."""
    found = explain_bits(_program(tmp_path, _elementwise(SUB, 1)), _inputs(), good.outputs, 0, 7)
    assert (found.stage, found.why) == (STREAM, Why.WRONG_OPERATOR)
    assert found.detail.startswith("NPU operation 8")
    assert "elements differ from the device" in found.detail
    assert "or the device is at fault, too" in found.detail


def test_a_stream_that_does_not_run_here_is_no_device_fault(tmp_path: Path, good: Walk) -> None:
    def edit(stream: bytearray) -> None:
        stream[SUB : SUB + 4] = b"\xff\x03\x00\x00"

    found = explain_bits(_program(tmp_path, _stream(edit)), _inputs(), good.outputs, 0, 7)
    assert found.why is Why.UNKNOWN
    assert "does not run on the NPU model here" in found.detail
    assert "what to do" not in found.detail
