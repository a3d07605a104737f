"""The PTE and Vela readers on a real program, on every cut of it, and on flipped bytes."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.firmware.pte_maker import PteMaker

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import DelegateCall, KernelCall, Value, read_pte
from corstone.formats.vela import program_target, read_vela
from corstone.program import TensorSpec

PTE = Path(__file__).parents[2] / "data" / "acos-int8-u55-128.pte"
DATA = PTE.read_bytes()


def read_everything(data: bytes) -> None:
    """All that a reader may touch; raises ConfigError or returns."""
    pte = read_pte(data)
    _ = pte.input_specs, pte.output_specs, pte.kernels
    program_target(pte)


def test_reads_inputs_outputs_plan_and_delegate() -> None:
    pte = read_pte(PTE)
    assert pte.input_specs == (TensorSpec("in0", "float32", (256,), (0,)),)
    assert pte.output_specs == (TensorSpec("out0", "float32", (256,), (0,)),)
    assert [type(i) for i in pte.instructions] == [KernelCall, DelegateCall, KernelCall]
    assert pte.kernels == (
        "quantized_decomposed::quantize_per_tensor.out",
        "quantized_decomposed::dequantize_per_tensor.out",
    )
    assert program_target(pte).name == "ethos-u55-128"


def test_reads_the_vela_blocks() -> None:
    blob = read_vela(read_pte(PTE).ethos_u[0].data)
    assert blob.payload.config == 0x1807
    assert blob.payload.offset == 32
    assert blob.payload.stream[-4:] == b"\x00\x00\xff\xff"
    assert len(blob.weights) == 256
    assert [t.size_bytes for t in blob.inputs + blob.outputs] == [256, 256]
    assert {t.region for t in blob.inputs + blob.outputs} == {1}


@pytest.mark.parametrize("size", range(0, len(DATA), 64))
def test_a_cut_program_is_named_as_the_callers_bad_program(size: int) -> None:
    with pytest.raises(ConfigError) as caught:
        read_everything(DATA[:size])
    assert caught.value.cause in {Cause.BAD_PROGRAM, Cause.NO_DELEGATE, Cause.WRONG_TARGET}


@pytest.mark.parametrize(
    ("identifier", "words"),
    [(b"ET11", "ET12"), (b"BP08", "bundled"), (b"\0\0\0\0", "bytes 4-7"), (b"TFL3", "bytes 4-7")],
)
def test_a_wrong_identifier_is_shown(identifier: bytes, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_pte(DATA[:4] + identifier + DATA[8:])


def test_a_missing_file_is_a_bad_input(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read_pte(tmp_path / "none.pte")
    assert caught.value.cause is Cause.BAD_INPUT


def test_a_delegate_of_another_backend_is_no_ethos_u() -> None:
    with pytest.raises(ConfigError) as caught:
        program_target(read_pte(DATA.replace(b"EthosUBackend", b"OtherUBackend")))
    assert caught.value.cause is Cause.NO_DELEGATE
    assert "OtherUBackend" in str(caught.value)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(8, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_flipped_bytes_are_read_or_refused_but_never_crash(changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for at, value in changes:
        data[at] = value
    with contextlib.suppress(ConfigError):
        read_everything(bytes(data))


def test_an_argument_that_was_none_takes_a_place_of_eight_bytes() -> None:
    pte = read_pte(PTE)
    with_none = replace(pte, values=(*pte.values, Value("null", None)), inputs=(*pte.inputs, len(pte.values)))
    assert [spec.size_bytes for spec in with_none.input_specs] == [pte.input_specs[0].size_bytes, 8]


def with_list(*items: int) -> bytes:
    """A program that copies its input and has a list: its items name values, 0 (the input) to 3 (the list)."""
    m = PteMaker()
    x, _ = m.tensor("int8", (2,)), m.integer(7)
    out = m.tensor("int8", (2,))
    m.index_list(items)
    m.kernel("aten::clone", "out", [x, x, out, out])
    m.inputs, m.outputs = [x], [out]
    return m.build()


def test_the_items_of_a_list_of_integers_are_values() -> None:
    pte = read_pte(with_list(1, 1))
    assert pte.values[3] == Value("int_list", (1, 1))
    assert pte.values[1].value == 7


@pytest.mark.parametrize(("items", "words"), [((1, 4), "item of a list 4"), ((-1,), "list -1"), ((3,), "holds a list")])
def test_a_list_whose_items_are_no_values_is_refused(items: tuple[int, ...], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        read_pte(with_list(*items))
    assert error.value.cause is Cause.BAD_PROGRAM
