"""The loader: the corpus, contradictions made by hand, and mutations. Undefined behaviour would end the process."""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.firmware.corpus_sample import unpack_sample
from tests.unit.firmware.pte_maker import PteMaker, vela_blob

from corstone.firmware.host_loader import HostLoader
from corstone.firmware.protocol import status_name

PROGRAM, UNSUPPORTED, INPUT, POOL, CANARY, LIMIT = 3, 4, 5, 6, 10, 12
# Operators whose programs have kernels, layouts or values that few others have.
RARE = ("where", "addmm", "mm", "celu", "gt", "lt", "full", "eye", "index_put", "embedding", "masked_fill", "clone")


def _files(case: dict[str, object], role: str) -> list[str]:
    tosa = case["tosa"]
    assert isinstance(tosa, dict)
    rows = [row for row in tosa["files"] if row["role"] == role]
    return [row["file"] for row in sorted(rows, key=lambda row: (row.get("delegate_call", 0), row["index"]))]


@pytest.mark.shared
def test_corpus_programs_match_the_reference_around_the_delegate(loader: HostLoader, tmp_path: Path) -> None:
    """Delegate inputs and program outputs are bytes of the reference, when the delegate answers with its own."""
    done = 0
    for folder in unpack_sample(tmp_path, every=6, always=RARE):
        case = json.loads((folder / "case.json").read_text())
        outputs = _files(case, "program_output")
        if not outputs:
            continue

        def read(name: str, folder: Path = folder) -> bytes:
            return (folder / name).read_bytes()

        inputs = [read(item["file"]) for item in case["inputs"]]
        canned = [read(name) for name in _files(case, "delegate_output")]
        result = loader.run(read("program.pte"), inputs, canned)
        assert result.code == 0, f"{folder.name}: {result.text}"
        assert list(result.delegate_inputs) == [read(name) for name in _files(case, "delegate_input")], folder.name
        assert [output.data for output in result.outputs] == [read(name) for name in outputs], folder.name
        done += 1
    assert done > 150


def adder(**changes: object) -> tuple[bytes, list[bytes]]:
    """int8 in, a delegate that the test answers for, int8 out."""
    m = PteMaker(in_segments=bool(changes.get("in_segments")))
    a, out = m.tensor("int8", (16,)), m.tensor("int8", (16,))
    m.delegate(vela_blob([(16, 1, 0)], [(16, 1, 16)], 32), [a, out])
    m.inputs, m.outputs = [a], [out]
    return m.build(), [bytes(range(16))]


@pytest.mark.parametrize("in_segments", [False, True])
def test_a_delegate_gets_inputs_and_gives_outputs(loader: HostLoader, in_segments: bool) -> None:
    program, inputs = adder(in_segments=in_segments)
    result = loader.run(program, inputs, [bytes(reversed(range(16)))])
    assert result.code == 0, result.text
    assert result.delegate_inputs == tuple(inputs)
    assert result.outputs[0].data == bytes(reversed(range(16)))


@pytest.mark.parametrize("in_segments", [False, True])
def test_constants_come_from_the_file(loader: HostLoader, in_segments: bool) -> None:
    m = PteMaker(in_segments=in_segments)
    first, second = np.arange(6, dtype=np.float32), -np.arange(6, dtype=np.float32)
    a = m.tensor("float32", (2, 3), constant=first.tobytes())
    b = m.tensor("float32", (2, 3), constant=second.tobytes())
    condition, out = m.tensor("bool", (2, 3)), m.tensor("float32", (2, 3))
    m.kernel("aten::where", "self_out", [condition, a, b, out, out])
    m.inputs, m.outputs = [condition], [out]
    mask = np.array([1, 0, 1, 0, 0, 1], bool)
    result = loader.run(m.build(), [mask.tobytes()])
    assert result.code == 0, result.text
    assert result.outputs[0].data == np.where(mask, first, second).tobytes()


def test_moves_and_jumps(loader: HostLoader) -> None:
    m = PteMaker()
    a, b = m.tensor("int32", (2,)), m.tensor("int32", (2,))
    flag, result = m.tensor("bool", (2,)), m.tensor("int32", (2,))
    m.jump_false(flag, 3)
    m.move(a, result)
    m.jump_false(m.boolean(False), 4)
    m.move(b, result)
    m.free(flag)
    m.inputs, m.outputs = [a, b, flag], [result]
    program = m.build()
    left, right = struct.pack("<2i", 1, 2), struct.pack("<2i", 3, 4)
    for flags, expected in ((b"\1\1", left), (b"\1\0", right)):
        outcome = loader.run(program, [left, right, flags])
        assert outcome.code == 0, outcome.text
        assert outcome.outputs[0].data == expected


def test_an_endless_loop_reaches_its_bound(loader: HostLoader) -> None:
    m = PteMaker()
    m.jump_false(m.boolean(False), 0)
    result = loader.run(m.build(), step_limit=1000)
    assert (result.code, status_name(result.code)) == (LIMIT, "limit")


def test_an_output_nobody_writes_is_found(loader: HostLoader) -> None:
    """A fill before the run would not do: planners put outputs where inputs were."""
    m = PteMaker()
    a = m.tensor("float32", (16,))
    out = m.tensor("float32", (16,), offset=0)  # the input's own memory
    m.jump_false(m.boolean(False), 2)
    m.kernel("dim_order_ops::_to_dim_order_copy", "out", [a, m.boolean(False), m.int_list([0]), out, out])
    m.inputs, m.outputs = [a], [out]
    # The step is jumped over, so the output holds the input, which looks like data.
    assert loader.run(m.build(), [bytes(64)]).text == "output 0 was not written: the step that makes it did not run"


def test_an_npu_that_writes_elsewhere_is_found(loader: HostLoader) -> None:
    program, inputs = adder()
    # No canned output: the stand-in for the NPU leaves scratch as it was.
    result = loader.run(program, inputs, [])
    assert result.text == "the NPU wrote none of the 16 bytes of delegate output 0 (scratch + 16)"


def test_scalar_inputs_are_given_or_left_out(loader: HostLoader) -> None:
    m = PteMaker()
    a, number, none = m.tensor("int8", (4,)), m.integer(2), m.null()
    ratio = m.double(0.25)
    m.inputs, m.outputs = [a, number, none, ratio], [a]
    program, data = m.build(), b"abcd"
    full = [data, struct.pack("<q", 2), b"anything", struct.pack("<d", 0.25)]
    assert loader.run(program, [data]).outputs[0].data == data
    assert loader.run(program, full).outputs[0].data == data
    wrong = loader.run(program, [data, struct.pack("<q", 3), b"", full[3]])
    assert wrong.code == INPUT
    assert "input 1 (Int)" in wrong.text
    assert loader.run(program, [data, data]).code == INPUT
    assert loader.run(program, [b"abc"]).code == INPUT


def _unknown_operator(m: PteMaker) -> None:
    m.kernel("aten::add", "out", [0, 0, 0])


def _unknown_dtype(m: PteMaker) -> None:
    m.tensor("int8", (4,), dtype_number=23)


def _two_writers_of_a_constant(m: PteMaker) -> None:
    a = m.tensor("int8", (4,), constant=b"1234")
    m.kernel("dim_order_ops::_to_dim_order_copy", "out", [0, m.boolean(False), m.int_list([0]), a, a])


def _short_constant(m: PteMaker) -> None:
    m.tensor("float32", (4,), constant=b"1234")


def _outside_planned_memory(m: PteMaker) -> None:
    m.tensor("float32", (4,), offset=m.planned - 8)


def _far_outside(m: PteMaker) -> None:
    m.tensor("int8", (4,), offset=2**32)


def _unknown_memory(m: PteMaker) -> None:
    m.tensor("int8", (4,), memory=9)


def _memory_zero(m: PteMaker) -> None:
    m.tensor("int8", (4,), offset=0, memory=0)


def _misplaced_float(m: PteMaker) -> None:
    m.tensor("float32", (1,), offset=2)


def _negative_size(m: PteMaker) -> None:
    m.tensor("int8", (-1,), offset=0)


def _huge(m: PteMaker) -> None:
    m.tensor("int32", (65536, 65536), offset=0)


def _order_names_a_dimension_twice(m: PteMaker) -> None:
    m.tensor("int8", (2, 2), order=(0, 0))


def _rank_17(m: PteMaker) -> None:
    m.tensor("int8", (1,) * 17, offset=0)


def _argument_out_of_range(m: PteMaker) -> None:
    m.kernel("aten::mm", "out", [0, 0, 99, 99])


def _wrong_argument_count(m: PteMaker) -> None:
    m.kernel("aten::mm", "out", [0, 0])


def _wrong_argument_kind(m: PteMaker) -> None:
    number = m.integer(1)
    m.kernel("aten::mm", "out", [number, number, number, number])


def _move_out_of_range(m: PteMaker) -> None:
    m.move(0, 77)


def _delegate_argument_count(m: PteMaker) -> None:
    m.delegate(vela_blob([(16, 1, 0)], [(16, 1, 16)], 32), [0])


def _delegate_element_count(m: PteMaker) -> None:
    m.delegate(vela_blob([(15, 1, 0)], [(16, 1, 16)], 32), [0, 0])


def _delegate_element_size(m: PteMaker) -> None:
    m.delegate(vela_blob([(16, 2, 0)], [(16, 1, 0)], 32), [0, 0])


def _delegate_outside_scratch(m: PteMaker) -> None:
    m.delegate(vela_blob([(16, 1, 0)], [(16, 1, 17)], 32), [0, 0])


def _delegate_without_payload(m: PteMaker) -> None:
    m.delegate(vela_blob([], [], 32, payload=b"COP2" + bytes(12)), [])


def _delegate_stream_too_long(m: PteMaker) -> None:
    payload = struct.pack("<6I", 0x31504F43, 0x100001, 1, 2, 100 << 16 | 2, 0)
    m.delegate(vela_blob([], [], 32, payload=payload), [])


def _delegate_of_another_backend(m: PteMaker) -> None:
    m.backend = "XnnpackBackend"
    m.delegate(b"", [])


def _delegate_garbage(m: PteMaker) -> None:
    m.delegate(b"\xff" * 200, [])


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (_unknown_operator, UNSUPPORTED),
        (_unknown_dtype, UNSUPPORTED),
        (_two_writers_of_a_constant, PROGRAM),
        (_short_constant, PROGRAM),
        (_outside_planned_memory, PROGRAM),
        (_far_outside, PROGRAM),
        (_unknown_memory, PROGRAM),
        (_memory_zero, PROGRAM),
        (_misplaced_float, PROGRAM),
        (_negative_size, PROGRAM),
        (_huge, PROGRAM),
        (_order_names_a_dimension_twice, PROGRAM),
        (_rank_17, PROGRAM),
        (_argument_out_of_range, PROGRAM),
        (_wrong_argument_count, PROGRAM),
        (_wrong_argument_kind, PROGRAM),
        (_move_out_of_range, PROGRAM),
        (_delegate_argument_count, PROGRAM),
        (_delegate_element_count, PROGRAM),
        (_delegate_element_size, PROGRAM),
        (_delegate_outside_scratch, PROGRAM),
        (_delegate_without_payload, PROGRAM),
        (_delegate_stream_too_long, PROGRAM),
        (_delegate_of_another_backend, UNSUPPORTED),
        (_delegate_garbage, PROGRAM),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_contradictions_are_refused(loader: HostLoader, spoil: Callable[[PteMaker], None], code: int) -> None:
    m = PteMaker()
    a = m.tensor("int8", (16,))
    m.inputs, m.outputs = [a], [a]
    spoil(m)
    result = loader.run(m.build(), [bytes(16)])
    assert (result.code, status_name(result.code)) == (code, status_name(code)), result.text
    assert result.text


def test_other_files_are_named(loader: HostLoader) -> None:
    assert "expected ET12" in loader.run(b"\0\0\0\0TFL3" + bytes(60)).text
    assert "bundled" in loader.run(b"\0\0\0\0BP08" + bytes(60)).text
    assert loader.run(b"").code == PROGRAM


def test_too_small_a_pool_says_what_is_needed(loader: HostLoader) -> None:
    m = PteMaker()
    a = m.tensor("int8", (100_000,))
    m.inputs, m.outputs = [a], [a]
    result = loader.run(m.build(), [bytes(100_000)], pool_bytes=4096)
    assert result.code == POOL
    assert result.text.startswith("Memory allocation failed: 100000 bytes for planned memory")


def test_every_truncation_ends_well(loader: HostLoader) -> None:
    """The file cut at every eighth byte, with and without its header."""
    seen: Counter[int] = Counter()
    for in_segments in (False, True):
        program, inputs = adder(in_segments=in_segments)
        for size in range(0, len(program), 8):
            seen[loader.run(program[:size], inputs, pool_bytes=1 << 20).code] += 1
    assert seen[PROGRAM] > 100
    assert set(seen) <= {0, PROGRAM, UNSUPPORTED, INPUT, POOL, CANARY}


def _seeds() -> list[tuple[bytes, list[bytes]]]:
    m = PteMaker()
    a, b = m.tensor("float32", (4, 4)), m.tensor("float32", (4, 4), constant=np.eye(4, dtype=np.float32).tobytes())
    mask, out = m.tensor("bool", (4, 4)), m.tensor("float32", (4, 4))
    product, codes = m.tensor("float32", (4, 4)), m.tensor("int16", (4, 4))
    m.kernel("aten::mm", "out", [a, b, product, product])
    m.kernel("aten::gt", "Tensor_out", [a, product, mask, mask])
    m.kernel("aten::where", "self_out", [mask, a, product, out, out])
    numbers = [m.double(0.1), m.integer(0), m.integer(-100), m.integer(100), m.integer(2)]
    m.kernel("quantized_decomposed::quantize_per_tensor", "out", [out, *numbers, codes, codes])
    m.kernel("dim_order_ops::_to_dim_order_copy", "out", [codes, m.boolean(False), m.int_list([0, 1]), out, out])
    m.inputs, m.outputs = [a], [out]
    return [(m.build(), [bytes(64)]), adder(), adder(in_segments=True)]


def test_thousands_of_mutations_end_well(loader: HostLoader) -> None:
    """Seeded bit flips, byte changes and copied stretches: never undefined behaviour, never a hang."""
    rng = random.Random(20261202)
    seen: Counter[int] = Counter()
    for program, inputs in _seeds():
        for _ in range(1500):
            data = bytearray(program)
            for _ in range(rng.choice((1, 1, 2, 4))):
                at = rng.randrange(len(data))
                match rng.randrange(4):
                    case 0:
                        data[at] ^= 1 << rng.randrange(8)
                    case 1:
                        data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
                    case 2:
                        size = rng.choice((2, 4, 8, 16))
                        source = rng.randrange(len(data))
                        piece = bytes(data[source : source + size])
                        data[at : at + len(piece)] = piece
                    case 3:
                        data[at : at + 4] = struct.pack(
                            "<I", rng.choice((0, 2**31, 2**32 - 1, len(data), len(data) - 4))
                        )
            seen[loader.run(bytes(data), inputs, pool_bytes=1 << 20, step_limit=500).code] += 1
    assert seen[0] > 100
    assert seen[PROGRAM] > 100
    assert set(seen) <= {0, PROGRAM, UNSUPPORTED, INPUT, POOL, CANARY, LIMIT}


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_mutations_found_by_hypothesis_end_well(loader: HostLoader, data: st.DataObject) -> None:
    program, inputs = _SEEDS[data.draw(st.integers(0, 2))]
    changed = bytearray(program)
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, len(program) - 1), st.integers(0, 255)), max_size=6)):
        changed[at] = value
    assert loader.run(bytes(changed), inputs, pool_bytes=1 << 20, step_limit=500).code in (0, 3, 4, 5, 6, 10, 12)


_SEEDS = _seeds()
