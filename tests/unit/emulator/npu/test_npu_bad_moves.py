"""Bad data moves, cut streams and weights, and streams that ask for too much: named faults, bounded memory."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.emulator.npu import Limits, NpuError
from corstone.emulator.npu.assemble import Assembler
from corstone.emulator.npu.decode import decode
from corstone.emulator.npu.fuzz.store import StoredCase, load
from corstone.emulator.npu.offline import SCRATCH_BASE, run_delegate

U55, U65, U85 = "ethos-u55-128", "ethos-u65-512", "ethos-u85-256"
Make = Callable[[str], Any]
CASES = load(Path(__file__).parents[3] / "data" / "npu" / "cases.npz")


def move(b: Any, length: int = 64, source: int = 0, target: int = 0x8000, **mode: Any) -> None:
    a = b.a.set("DMA0_SRC_REGION", region=0, **mode).set("DMA0_DST_REGION", region=1)
    a.set("DMA0_SRC", source).set("DMA0_DST", target).set("DMA0_LEN", length)
    if b.u85:
        a.set("DMA0_SIZE0", 1).set("DMA0_SIZE1", 1)


def fault(b: Any, limits: Limits | None = None) -> NpuError:
    with pytest.raises(NpuError) as caught:
        b.run("DMA_START", limits=limits)
    assert caught.value.name == "DMA_START"
    assert caught.value.offset == len(b.a.stream())
    error: NpuError = caught.value
    return error


@pytest.mark.parametrize("target", [U55, U65, U85])
def test_a_move_past_the_end_of_memory(bench: Make, target: str) -> None:
    b = bench(target)
    move(b, 4096, (1 << 20) - 16)
    assert fault(b).kind == "bus"
    move(b, 4096, 0, (1 << 20) - 16)
    assert fault(b).kind == "bus"


@pytest.mark.parametrize("length", [(1 << 32) - 16, (1 << 40) - 16])
def test_a_length_beyond_32_bits_is_refused_and_nothing_is_allocated(bench: Make, length: int) -> None:
    b = bench(U85)
    move(b, length)
    tracemalloc.start()
    error = fault(b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error.kind in ("bus", "limit", "parse")
    assert peak < 1 << 24


@pytest.mark.parametrize("missing", ["DMA0_LEN", "DMA0_SRC", "DMA0_DST", "DMA0_SRC_REGION", "DMA0_DST_REGION"])
def test_a_move_without_one_of_its_registers(bench: Make, missing: str) -> None:
    b = bench(U55)
    registers: dict[str, Callable[[], object]] = {
        "DMA0_LEN": lambda: b.a.set("DMA0_LEN", 16),
        "DMA0_SRC": lambda: b.a.set("DMA0_SRC", 0),
        "DMA0_DST": lambda: b.a.set("DMA0_DST", 64),
        "DMA0_SRC_REGION": lambda: b.a.set("DMA0_SRC_REGION", region=1),
        "DMA0_DST_REGION": lambda: b.a.set("DMA0_DST_REGION", region=1),
    }
    for name, write in registers.items():
        if name != missing:
            write()
    error = fault(b)
    assert error.kind == "parse"
    assert f"{missing} was never set" in error.message


def test_a_table_past_the_end_of_the_internal_memory(bench: Make) -> None:
    b = bench(U55)
    move(b, 512)
    b.a.set("DMA0_DST_REGION", internal=1).set("DMA0_DST", b.config.internal_size - 256)
    assert "internal memory" in fault(b).message


def test_a_move_onto_part_of_itself(bench: Make) -> None:
    b = bench(U55)
    move(b, 64, 0, 16)
    assert fault(b).kind == "overlap"


def gather(b: Any, indices: list[int], last: int) -> None:
    data = np.array(indices, "<i4").view(np.uint8)
    b.data[0xC0000 : 0xC0000 + data.size] = data
    move(b, 16, 0, 0x8000, indexed=1, stride="2D")
    b.a.set("DMA0_SIZE0", len(indices)).set("DMA0_SRC_STRIDE0", 16).set("DMA0_DST_STRIDE0", 16)
    b.a.set("DMA0_IDX_REGION", 1).set("DMA0_IDX", 0xC0000).set("DMA0_IDX_MAX", last)


@pytest.mark.parametrize("wrong", [4, -1, (1 << 31) - 1, -(1 << 31)])
def test_an_index_outside_the_rows(bench: Make, wrong: int) -> None:
    b = bench(U85)
    gather(b, [0, 3, wrong, 1], 3)
    error = fault(b)
    assert error.kind == "bus"
    assert f"index {wrong} of row 2 is not in 0..3" in error.message


def test_indices_outside_memory(bench: Make) -> None:
    b = bench(U85)
    gather(b, [0, 1], 3)
    b.a.set("DMA0_IDX", (1 << 20) - 4)
    assert fault(b).kind == "bus"


def test_a_move_of_65536_rows_of_planes_is_bounded_before_it_starts(bench: Make) -> None:
    b = bench(U85)
    move(b, 1 << 20, stride="3D")
    b.a.set("DMA0_SIZE0", 0xFFFF).set("DMA0_SIZE1", 0xFFFF)
    for name in ("SRC_STRIDE0", "SRC_STRIDE1", "DST_STRIDE0", "DST_STRIDE1"):
        b.a.set(f"DMA0_{name}", 0)
    assert fault(b, Limits(work=1 << 24)).kind in ("limit", "bus")


def weighted() -> list[StoredCase]:
    """The smallest stored case with weights for each product."""
    found: dict[str, StoredCase] = {}
    for case in sorted(CASES, key=lambda case: len(case.blob.weights)):
        target = case.blob.payload.target
        assert target is not None
        names = {decode(case.blob.payload.stream, target.product).row(n).name for n in range(-40, -1)}
        if {"CONV", "DEPTHWISE"} & names and len(case.blob.weights) > 200:
            found.setdefault(target.product, case)
    return list(found.values())


@pytest.mark.parametrize("case", weighted(), ids=lambda case: case.name.split()[2])
def test_a_stream_cut_behind_any_word_never_gives_an_answer(case: StoredCase) -> None:
    stream = case.blob.payload.stream
    for end in range(0, len(stream), 4):
        payload = dataclasses.replace(case.blob.payload, stream=stream[:end])
        with pytest.raises(NpuError) as caught:
            run_delegate(dataclasses.replace(case.blob, payload=payload), case.inputs)
        assert caught.value.name
        assert 0 <= caught.value.offset <= end


@pytest.mark.parametrize("case", weighted(), ids=lambda case: case.name.split()[2])
def test_weights_overwritten_with_one_byte_stop_or_answer_in_bounds(case: StoredCase) -> None:
    kinds = set()
    for value in (0x00, 0xFF, 0x55, 0xAA, 0x0F):
        blob = dataclasses.replace(case.blob, weights=bytes([value]) * len(case.blob.weights))
        try:
            run_delegate(blob, case.inputs, limits=Limits(work=50_000_000))
            kinds.add("answer")
        except NpuError as error:
            assert error.name in ("CONV", "DEPTHWISE", "POOL", "ELEMENTWISE")
            kinds.add(error.kind)
    assert "weights" in kinds


@pytest.mark.parametrize(("shift", "stops"), [(0, False), (16, True)])
def test_a_move_beyond_its_region_is_stopped_at_the_first_byte(shift: int, stops: bool) -> None:
    (case,) = [c for c in weighted() if "u55" in c.name]
    size = case.blob.scratch_size
    a = Assembler("U55").set("DMA0_SRC_REGION", region=1).set("DMA0_DST_REGION", region=1)
    a.set("DMA0_SRC", 0).set("DMA0_DST", size - 16 + shift).set("DMA0_LEN", 16).op("DMA_START").op("STOP")
    payload = dataclasses.replace(case.blob.payload, stream=a.stream())
    blob = dataclasses.replace(case.blob, payload=payload)
    if not stops:
        run_delegate(blob, case.inputs)
        return
    with pytest.raises(NpuError, match=f"{SCRATCH_BASE + size:#x}") as caught:
        run_delegate(blob, case.inputs)
    assert caught.value.kind == "bus"


def test_a_loop_of_work_ends_at_the_limit_with_bounded_memory(bench: Make) -> None:
    b = bench(U85)
    b.place("IFM", np.ones((16, 16, 16), np.int8))
    b.output((16, 16, 16), "i1")
    start = len(b.a.stream())
    b.a.op("POOL", mode="SUM").op("BRANCH", condition="ALWAYS", target=start)
    tracemalloc.start()
    with pytest.raises(NpuError, match="more work than the limit") as caught:
        b.run("POOL", mode="SUM", limits=Limits(work=20_000_000))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (caught.value.kind, caught.value.name, caught.value.offset) == ("limit", "POOL", start)
    assert peak < 1 << 24
