"""Streams that are wrong: a fault with name, offset and operands, in bounded time and memory, never an answer."""

from __future__ import annotations

import dataclasses
import struct
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.emulator.npu import ArrayMemory, Limits, NpuConfig, NpuError, execute
from corstone.emulator.npu.assemble import Assembler
from corstone.emulator.npu.fuzz.store import StoredCase, load
from corstone.emulator.npu.offline import run_delegate

U55, U85 = "ethos-u55-128", "ethos-u85-256"
Make = Callable[[str], Any]
CASES = load(Path(__file__).parents[3] / "data" / "npu" / "cases.npz")


def pool(b: Any, shape: tuple[int, int, int] = (2, 4, 8)) -> None:
    b.place("IFM", np.zeros(shape, np.int8))
    b.output(shape, "i1")


def fault(b: Any, name: str = "POOL", **operands: Any) -> NpuError:
    with pytest.raises(NpuError) as caught:
        b.run(name, **(operands or {"mode": "AVERAGE"}))
    error: NpuError = caught.value
    assert error.name == name
    assert error.offset == len(b.a.stream())
    assert f"{error.offset:#x}" in str(error)
    return error


def run(stream: bytes, target: str = U55, limits: Limits | None = None) -> None:
    execute(stream, [0, 0], ArrayMemory(), NpuConfig.for_target(target), limits=limits)


def test_a_stream_without_stop() -> None:
    with pytest.raises(NpuError, match="ends without STOP") as caught:
        run(Assembler("U55").set("IFM_REGION", 1).stream())
    assert (caught.value.kind, caught.value.offset) == ("parse", 4)


def test_an_empty_stream() -> None:
    with pytest.raises(NpuError, match="ends without STOP"):
        run(b"")


def test_words_behind_stop_are_never_looked_at() -> None:
    run(Assembler("U55").op("STOP").words(0xFFFF_FFFF).stream())


@pytest.mark.parametrize(
    "missing",
    ["IFM_REGION", "IFM_PRECISION", "IFM_STRIDE_Y", "IFM_STRIDE_X", "IFM_BASE0", "IFM_HEIGHT0_M1", "OFM_DEPTH_M1",
     "OFM_ZERO_POINT", "KERNEL_WIDTH_M1", "KERNEL_STRIDE", "IFM_PAD_TOP", "IFM_UPSCALE", "OFM_SCALE", "ACTIVATION",
     "ACTIVATION_MIN"],
)  # fmt: skip
def test_a_register_that_was_never_set_is_named(bench: Make, missing: str) -> None:
    b = bench(U55)
    pool(b)
    stream = b.a.stream() + Assembler("U55").op("POOL", mode="AVERAGE").op("STOP").stream()
    # Every write of the register becomes a write of one that the operation does not use.
    code = struct.pack("<H", Assembler("U55").set(missing).words(0)._words[0] & 0xFFFF)
    other = struct.pack("<H", 0x12F if len(Assembler("U55").set(missing).stream()) == 4 else 0x4032)
    words = [stream[n : n + 4] for n in range(0, len(stream), 4)]
    blocks, n = [], 0
    while n < len(words):
        count = 2 if words[n][1] >> 6 == 1 else 1
        block = b"".join(words[n : n + count])
        blocks.append((other + (b"\0\0" if count == 1 else block[2:4]) + block[4:]) if block[:2] == code else block)
        n += count
    with pytest.raises(NpuError, match=f"{missing} was never set") as caught:
        execute(b"".join(blocks), b.bases, b.memory, b.config)
    assert (caught.value.kind, caught.value.name) == ("parse", "POOL")


def test_a_map_outside_memory_is_a_bus_fault(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    b.a.set("OFM_BASE0", (1 << 20) - 4)
    assert fault(b).kind == "bus"


def test_a_region_without_a_base_is_a_bus_fault(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    b.a.set("IFM_REGION", 7)
    error = fault(b)
    assert error.kind == "bus"
    assert "region 7 has no base address" in error.message


def test_a_map_below_address_zero_is_a_bus_fault(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    b.bases = [0, 0]
    b.a.set("IFM_BASE0", 0).set("IFM_STRIDE_Y", -64)
    assert fault(b).kind == "bus"


def test_sizes_that_overflow_32_bits_are_refused_before_anything_is_allocated(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    for name in ("OFM_HEIGHT_M1", "OFM_WIDTH_M1", "OFM_DEPTH_M1", "IFM_DEPTH_M1"):
        b.a.set(name, 0xFFFF)
    for name in ("IFM_STRIDE_Y", "IFM_STRIDE_X", "OFM_STRIDE_Y", "OFM_STRIDE_X"):
        b.a.set(name, 0)
    error = fault(b)
    assert error.kind == "limit"
    assert "65536" in error.message


def test_strides_of_40_bits_reach_a_bus_fault_and_no_overflow(bench: Make) -> None:
    b = bench(U85)
    pool(b, (300, 4, 8))
    b.a.set("IFM_STRIDE_Y", (1 << 39) - 1)
    assert fault(b, mode="SUM").kind == "bus"


def test_a_kernel_and_padding_that_leave_nothing(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    b.a.set("IFM_PAD_TOP", 100).set("IFM_PAD_BOTTOM", 100)
    assert fault(b).kind == "parse"


def test_a_kernel_that_its_dilation_does_not_fit(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    b.kernel(2, 1, dilation_y=1)
    assert "not a multiple of its dilation" in fault(b).message


@pytest.mark.parametrize("shift", [1, 8, 63])
def test_maps_that_overlap_in_part(bench: Make, shift: int) -> None:
    b = bench(U55)
    pool(b)
    b.a.set("OFM_BASE0", shift)
    error = fault(b)
    assert error.kind == "overlap"
    assert "overlaps IFM" in error.message


def test_maps_that_interleave_without_a_common_byte_are_fine(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    for name in ("IFM", "OFM"):
        b.a.set(f"{name}_STRIDE_X", 16).set(f"{name}_STRIDE_Y", 64)
    b.a.set("OFM_BASE0", 8)
    b.run("POOL", mode="AVERAGE")


def test_a_map_may_lie_exactly_on_its_input_but_not_permuted(bench: Make) -> None:
    b = bench(U85)
    pool(b, (8, 8, 8))
    b.a.set("OFM_BASE0", 0)
    b.run("POOL", mode="SUM")
    b.a.set("OFM_PRECISION", signed=1, scale="GLOBAL", transpose="WHC")
    assert fault(b, mode="SUM").kind == "overlap"


def test_a_window_may_not_lie_on_its_input(bench: Make) -> None:
    b = bench(U55)
    pool(b, (2, 4, 8))
    b.kernel(3, 3)
    for side in ("TOP", "LEFT", "RIGHT", "BOTTOM"):
        b.a.set(f"IFM_PAD_{side}", 1)
    b.a.set("OFM_BASE0", 0)
    assert fault(b, mode="MAX").kind == "overlap"


def test_misaligned_maps(bench: Make) -> None:
    b = bench(U55)
    b.place("IFM", np.zeros((2, 4, 8), np.int16))
    b.output((2, 4, 8), "i2")
    b.a.set("IFM_BASE0", 1)
    assert "not aligned to 2 bytes" in fault(b).message
    b.a.set("IFM_BASE0", 8).set("IFM_PRECISION", signed=1, bits="16", format="NHCWB16")
    assert "not aligned to 16 bytes" in fault(b).message


def test_limits_the_wrong_way_round(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    b.a.set("ACTIVATION_MIN", 5).set("ACTIVATION_MAX", 4)
    assert "ACTIVATION_MIN 5 lies above ACTIVATION_MAX 4" in fault(b).message


def conv(b: Any, stream: bytes = b"\xff" * 64) -> None:
    b.place("IFM", np.zeros((2, 2, 8), np.int8))
    b.output((2, 2, 8), "i1", scale="PER_CHANNEL")
    b.data[0xC0000 : 0xC0000 + len(stream)] = np.frombuffer(stream, np.uint8)
    b.a.set("WEIGHT_REGION", 1).set("WEIGHT_BASE", 0xC0000).set("WEIGHT_LENGTH", len(stream))
    b.a.set("SCALE_REGION", 1).set("SCALE_BASE", 0xD0000).set("SCALE_LENGTH", 160)
    if b.u85:
        b.a.set("WEIGHT_FORMAT", format="SWD")


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        (b"\xff" * 64, "holds 0 weights"),
        (b"", "holds 0 weights"),
        (bytes(64), "no palette"),
        (b"\x05" + bytes(63), "zero-run divisor 5"),
        # No zero runs, 32,768 weights in one slice, uncompressed, a palette of none with 8 bits a weight.
        ((6 | 0x7FFF << 3 | 7 << 18 | 1 << 22 | 6 << 33).to_bytes(64, "little"), "room for"),
    ],
)
def test_corrupt_weights(bench: Make, stream: bytes, reason: str) -> None:
    b = bench(U55)
    conv(b, stream)
    here = len(b.a.stream())
    with pytest.raises(NpuError, match=reason) as caught:
        b.run("CONV")
    assert (caught.value.kind, caught.value.name, caught.value.offset) == ("weights", "CONV", here)


@pytest.mark.parametrize(
    ("target", "block", "reason"),
    [
        (U55, {"DEPTH": 3}, "not made of micro-blocks"),
        (U55, {"WIDTH": 2}, "not made of micro-blocks"),
        (U55, {"DEPTH": 127, "WIDTH": 63, "HEIGHT": 31}, "holds 0 weights"),
        (U85, {"DEPTH": 7}, "not made of micro-blocks"),
        (U85, {"HEIGHT": 127, "WIDTH": 127, "DEPTH": 1023}, "holds 0 weights"),
    ],
)
def test_wrong_block_sizes(bench: Make, target: str, block: dict[str, int], reason: str) -> None:
    b = bench(target)
    conv(b)
    for axis, value in block.items():
        b.a.set(f"OFM_BLK_{axis}_M1", value)
    here = len(b.a.stream())
    with pytest.raises(NpuError, match=reason) as caught:
        b.run("CONV")
    assert (caught.value.name, caught.value.offset) == ("CONV", here)


def test_a_micro_block_that_the_target_lacks(bench: Make) -> None:
    b = bench(U85)
    conv(b)
    b.a.set("ACC_FORMAT", microblock="4x4")
    with pytest.raises(NpuError, match="no micro-block of 4x4"):
        b.run("CONV")


def test_weights_outside_memory_and_misaligned(bench: Make) -> None:
    b = bench(U55)
    conv(b)
    b.a.set("WEIGHT_BASE", 0xFFFF0).set("WEIGHT_LENGTH", 32)
    assert fault_of(b, "CONV").kind == "bus"
    b.a.set("WEIGHT_BASE", 0xC0008)
    assert "not aligned" in fault_of(b, "CONV").message


def fault_of(b: Any, name: str) -> NpuError:
    with pytest.raises(NpuError) as caught:
        b.run(name)
    error: NpuError = caught.value
    return error


def loop(jump: int) -> bytes:
    a = Assembler("U85").set("IFM_REGION", 0)
    return a.op("BRANCH", condition="ALWAYS", target=jump).op("STOP").stream()


def test_a_stream_that_jumps_for_ever_ends() -> None:
    with pytest.raises(NpuError, match="jumped more than 1000 times") as caught:
        run(loop(0), U85, Limits(branches=1000))
    assert (caught.value.kind, caught.value.name, caught.value.offset) == ("limit", "BRANCH", 4)


@pytest.mark.parametrize("target", [2, 8, 1 << 31])
def test_a_jump_to_where_no_command_starts(target: int) -> None:
    with pytest.raises(NpuError, match="not the start of a command"):
        run(loop(target), U85)


def test_a_conditional_jump_before_any_operation_falls_through() -> None:
    run(Assembler("U85").op("BRANCH", condition="RF_TRUE", target=0).op("STOP").stream(), U85)


def test_work_is_bounded_over_many_operations(bench: Make) -> None:
    b = bench(U55)
    pool(b)
    for _ in range(100):
        b.a.op("POOL", mode="AVERAGE")
    with pytest.raises(NpuError, match="more work than the limit"):
        b.run("POOL", mode="AVERAGE", limits=Limits(work=50_000))


def test_an_accumulator_beyond_its_width(bench: Make) -> None:
    from ethosu import mlw_codec

    b = bench("ethos-u85-256")
    count = 64 * 64
    b.place("IFM", np.full((1, 1, 64), 127, np.int8))
    b.place("IFM2", np.full((1, 16, 64), 127, np.int8))
    b.output((1, 1, 16), "i1")
    b.a.set("ACC_FORMAT", format="I32", microblock="1x2").set("OFM_BLK_DEPTH_M1", 15)
    assert b.run("CONV", weights_ifm2=1).max() == 127
    assert count == len(mlw_codec.decode(bytearray(mlw_codec.encode([1] * count))))


def broken(case: StoredCase, rng: np.random.Generator) -> StoredCase:
    """A case with one to three places of its stream or weights changed."""
    stream, weights = bytearray(case.blob.payload.stream), bytearray(case.blob.weights)
    kind = rng.integers(6)
    for _ in range(rng.integers(1, 4)):
        word, other = (4 * int(rng.integers(len(stream) // 4)) for _ in range(2))
        if kind == 0:
            stream[int(rng.integers(len(stream)))] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            stream[word : word + 4] = rng.bytes(4)
        elif kind == 2:
            stream[word + 2 : word + 4] = struct.pack("<H", int(rng.choice([0, 1, 0xFFFF, 0x8000, 0x7FFF, 255])))
        elif kind == 3:
            del stream[word : word + 4]
        elif kind == 4:
            weights[int(rng.integers(len(weights)))] ^= 1 << int(rng.integers(8))
        else:
            stream[word : word + 4] = stream[other : other + 4]
    payload = dataclasses.replace(case.blob.payload, stream=bytes(stream))
    return dataclasses.replace(case, blob=dataclasses.replace(case.blob, weights=bytes(weights), payload=payload))


def test_damaged_programs_end_with_an_answer_or_a_named_fault() -> None:
    rng = np.random.default_rng(20)
    limits = Limits(work=50_000_000, branches=1000, elements=1 << 22)
    kinds: Counter[str] = Counter()
    for _ in range(500):
        case = broken(CASES[int(rng.integers(len(CASES)))], rng)
        try:
            run_delegate(case.blob, case.inputs, limits=limits)
            kinds["answer"] += 1
        except NpuError as error:
            assert error.name
            assert error.offset >= 0
            kinds[error.kind] += 1
    assert {"parse", "bus", "weights", "overlap"} <= set(kinds)
