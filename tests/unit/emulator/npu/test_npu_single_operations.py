"""Single operations against plain Python: what the TOSA compiler does not emit, and edges of what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from corstone.emulator.npu import NpuError

U55, U85 = "ethos-u55-128", "ethos-u85-256"
Make = Callable[[str], Any]

BOTH = {"signed": 1, "scale": "GLOBAL", "transpose": "WHC", "reverse": "H"}
CODES = np.arange(-128, 128, dtype=np.int8).reshape(1, 8, 32)


def flat(values: Any) -> list[int]:
    return [int(v) for v in np.asarray(values).reshape(-1)]


@pytest.mark.parametrize(("mode", "pick"), [("MIN", min), ("MAX", max)])
@pytest.mark.parametrize("target", [U55, U85])
def test_min_and_max_take_the_zero_points_off(bench: Make, target: str, mode: str, pick: Any) -> None:
    b = bench(target)
    b.place("IFM", CODES, zero=10)
    b.place("IFM2", CODES[::, ::-1].copy(), zero=-20)
    b.output(CODES.shape, "i1", zero=3)
    other = CODES[:, ::-1].reshape(-1)
    wanted = [min(max(pick(int(a) - 10, int(c) + 20) + 3, -128), 127) for a, c in zip(flat(CODES), other, strict=True)]
    assert flat(b.run("ELEMENTWISE", mode=mode)) == wanted


def test_lrelu_of_u55_scales_negative_values_only(bench: Make) -> None:
    b = bench(U55)
    b.place("IFM", CODES)
    b.output(CODES.shape, "i1", round="NATURAL")
    b.a.set("OFM_SCALE", 3, shift=4)
    assert flat(b.run("ELEMENTWISE", mode="LRELU")) == [v if v >= 0 else (v * 3 + 8) >> 4 for v in flat(CODES)]


def test_lrelu_of_u85_has_a_scale_for_each_sign(bench: Make) -> None:
    b = bench(U85)
    b.place("IFM", CODES)
    b.output(CODES.shape, "i1")
    b.a.set("IFM_SCALE", 1, shift=1, round="NATURAL").set("IFM2_SCALE", 1, shift=2, round="NATURAL")
    wanted = [(v + 1) >> 1 if v >= 0 else (v + 2) >> 2 for v in flat(CODES)]
    assert flat(b.run("ELEMENTWISE", mode="LRELU")) == wanted


@pytest.mark.parametrize("target", [U55, U85])
def test_clz_counts_32_bits(bench: Make, target: str) -> None:
    values = np.array([0, 1, -1, 2**31 - 1, -(2**31), 0x00FF_0000, 7, 8], np.int32).reshape(1, 1, 8)
    b = bench(target)
    b.place("IFM", values)
    b.output(values.shape, "i4")
    assert flat(b.run("ELEMENTWISE", mode="CLZ")) == [32, 31, 0, 1, 0, 8, 29, 28]


def test_operands_of_u55_are_swapped_before_they_are_scaled(bench: Make) -> None:
    b = bench(U55)
    b.place("IFM", np.full((1, 1, 4), 10, np.int8), scale_mode="OPA_OPB_16")
    b.place("IFM2", np.full((1, 1, 4), 3, np.int8))
    b.output((1, 1, 4), "i4")
    b.a.set("OPA_SCALE", 5, shift=0).set("OPB_SCALE", 2).set("IFM2_BROADCAST", swap=1)
    # A is IFM2: 3 * 5 - 10 * 2.
    assert flat(b.run("ELEMENTWISE", mode="SUB")) == [-5] * 4


def test_the_operand_without_a_scale_of_its_own_is_shifted(bench: Make) -> None:
    b = bench(U55)
    b.place("IFM", np.full((1, 1, 2), 3, np.int16), scale_mode="OPA_32", round="NATURAL")
    b.place("IFM2", np.full((1, 1, 2), 1, np.int16))
    b.output((1, 1, 2), "i4")
    b.a.set("OPA_SCALE", 1 << 20, shift=3).set("OPB_SCALE", 0)
    assert flat(b.run("ELEMENTWISE", mode="ADD")) == [(3 << 17) + (1 << 14)] * 2


def test_shifts_outside_0_to_31_stop_by_name(bench: Make) -> None:
    b = bench(U55)
    b.place("IFM", np.ones((1, 1, 2), np.int32))
    b.place("IFM2", np.array([[[1, 32]]], np.int32))
    b.output((1, 1, 2), "i4")
    with pytest.raises(NpuError, match=r"SHL by an amount outside 0\.\.31") as caught:
        b.run("ELEMENTWISE", mode="SHL")
    assert (caught.value.kind, caught.value.name) == ("unsupported", "ELEMENTWISE")
    assert caught.value.operands == {"mode": "SHL"}


def test_division_truncates_and_stops_at_zero(bench: Make) -> None:
    a, c = np.array([[[7, -7, 7, -7]]], np.int32), np.array([[[2, 2, -2, -2]]], np.int32)
    b = bench(U85)
    b.place("IFM", a)
    b.place("IFM2", c)
    b.output((1, 1, 4), "i4")
    assert flat(b.run("ELEMENTWISE", mode="DIV")) == [3, -3, -3, 3]
    b.place("IFM2", np.zeros((1, 1, 4), np.int32))
    with pytest.raises(NpuError, match="DIV by zero"):
        b.run("ELEMENTWISE", mode="DIV")


def test_unsigned_data_have_unsigned_zero_points_and_limits(bench: Make) -> None:
    values = np.arange(256, dtype=np.uint8).reshape(1, 8, 32)
    b = bench(U55)
    b.place("IFM", values, zero=200)
    b.output(values.shape, "u1", zero=100)
    b.a.set("ACTIVATION_MIN", 20).set("ACTIVATION_MAX", 130)
    assert flat(b.run("POOL", mode="AVERAGE")) == [min(max(v - 100, 20), 130) for v in range(256)]


@pytest.mark.parametrize("target", [U55, U85])
def test_32_bit_outputs_saturate_and_ignore_zero_point_and_limits(bench: Make, target: str) -> None:
    values = np.array([[[2**30, -(2**30), 5]]], np.int32)
    b = bench(target)
    b.place("IFM", values)
    b.output(values.shape, "i4", zero=99)
    b.a.set("OFM_SCALE", 8, shift=0).set("ACTIVATION_MIN", 0).set("ACTIVATION_MAX", 1)
    assert flat(b.run("POOL", mode="MAX")) == [2**31 - 1, -(2**31), 40]


def test_an_8_bit_table_replaces_the_value(bench: Make) -> None:
    table = np.random.default_rng(2).integers(-128, 128, 256).astype(np.int8)
    b = bench(U55)
    b.table(table, slot=3)
    b.place("IFM", CODES, zero=5)
    b.output(CODES.shape, "i1", zero=1)
    b.a.set("ACTIVATION", function="TABLE_3")
    wanted = [int(table[min(max(v - 5 + 1, -128), 127) + 128]) for v in flat(CODES)]
    assert flat(b.run("POOL", mode="AVERAGE")) == wanted


@pytest.mark.parametrize("target", [U55, U85])
def test_a_32_bit_table_is_indexed_by_8_bits(bench: Make, target: str) -> None:
    table = np.random.default_rng(3).integers(-(2**31), 2**31, 256).astype(np.int32)
    b = bench(target)
    b.table(table)
    b.place("IFM", CODES)
    b.output(CODES.shape, "i4", zero=2)
    b.a.set("ACTIVATION_MIN", -128).set("ACTIVATION_MAX", 127)
    if b.u85:
        b.a.set("ACTIVATION", function="LUT_S8_S32")
    else:
        b.a.set("ACTIVATION", function="TABLE_0", clip="FORCE_INT8")
    # The zero point is added before the look-up, though the output has 32 bits.
    assert flat(b.run("POOL", mode="AVERAGE")) == [int(table[min(v + 2, 127) + 128]) for v in flat(CODES)]


def test_both_upscales_double_the_stored_map(bench: Make) -> None:
    values = np.arange(1, 7, dtype=np.int8).reshape(2, 3, 1)
    for mode in ("NEAREST", "ZEROS"):
        b = bench(U55)
        b.place("IFM", values)
        b.output((4, 6, 1), "i1")
        b.a.set("IFM_UPSCALE", mode=mode)
        got = b.run("POOL", mode="MAX")[:, :, 0]
        for y in range(4):
            for x in range(6):
                kept = mode == "NEAREST" or y % 2 == x % 2 == 0
                assert got[y, x] == (values[y // 2, x // 2, 0] if kept else 0)


def test_a_padded_average_divides_by_the_taps_inside(bench: Make) -> None:
    values = np.array([[[30], [60]], [[90], [120]]], np.int8)
    b = bench(U55)
    b.place("IFM", values)
    b.output((2, 2, 1), "i1", round="NATURAL")
    b.kernel(3, 3)
    for side in ("TOP", "LEFT", "RIGHT", "BOTTOM"):
        b.a.set(f"IFM_PAD_{side}", 1)
    assert flat(b.run("POOL", mode="AVERAGE")) == [75] * 4


def test_an_unpadded_average_of_u55_leaves_the_division_to_the_scale(bench: Make) -> None:
    b = bench(U55)
    b.place("IFM", np.full((2, 2, 1), 10, np.int8))
    b.output((1, 1, 1), "i1", round="NATURAL")
    b.kernel(2, 2)
    assert flat(b.run("POOL", mode="AVERAGE")) == [40]


@pytest.mark.parametrize("mode", ["ARGMAX_X", "ARGMAX_Y"])
def test_argmax_gives_the_first_place_of_the_largest(bench: Make, mode: str) -> None:
    values = np.array([[3, 9, 9, 1, -5]], np.int8)
    values = values.reshape((1, 5, 1) if mode == "ARGMAX_X" else (5, 1, 1))
    b = bench(U85)
    b.place("IFM", values)
    b.output((1, 1, 1), "i4")
    b.kernel(values.shape[0], values.shape[1])
    b.a.set("OFM_SCALE", 1, shift=16, round="TRUNCATE_TO_LOWER")
    assert flat(b.run("POOL", mode=mode)) == [1]
    b.a.set("OFM_SCALE", 1, shift=0)
    with pytest.raises(NpuError, match="only modelled with an OFM scale"):
        b.run("POOL", mode=mode)


def test_reduce_sum_adds_the_depth_without_the_zero_point(bench: Make) -> None:
    values = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    b = bench(U55)
    b.place("IFM", values, zero=2)
    b.output((2, 3, 1), "i4")
    assert flat(b.run("POOL", mode="REDUCE_SUM")) == flat((values.astype(int) - 2).sum(axis=2))


def test_a_transposed_output_is_numpys_transpose(bench: Make) -> None:
    values = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    for name, axes in {
        "WHC": (1, 0, 2),
        "HCW": (0, 2, 1),
        "WCH": (1, 2, 0),
        "CHW": (2, 0, 1),
        "CWH": (2, 1, 0),
    }.items():
        b = bench(U85)
        b.place("IFM", values)
        stored = values.transpose(axes)
        b.output(stored.shape, "i1", transpose=name)
        b.a.set("OFM_HEIGHT_M1", 1).set("OFM_WIDTH_M1", 2).set("OFM_DEPTH_M1", 3)
        assert flat(b.run("POOL", mode="SUM")) == flat(stored)


@pytest.mark.parametrize(("axis", "name"), list(enumerate("HWC")))
def test_a_reversed_output_is_numpys_flip(bench: Make, axis: int, name: str) -> None:
    values = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    b = bench(U85)
    b.place("IFM", values)
    b.output(values.shape, "i1", reverse=name)
    assert flat(b.run("POOL", mode="SUM")) == flat(np.flip(values, axis))


def test_a_chained_map_is_handed_over_and_checked(bench: Make) -> None:
    b = bench(U85)
    b.place("IFM", CODES)
    b.output(CODES.shape, "i1", storage="CHAINED")
    b.a.set("OFM_REGION", 2).op("POOL", mode="SUM")
    b.output(CODES.shape, "i1", zero=1)
    b.a.set("IFM_PRECISION", signed=1, storage="CHAINED").set("IFM_REGION", 2)
    assert flat(b.run("POOL", mode="SUM")) == [min(v + 1, 127) for v in flat(CODES)]
    b.a.set("IFM_REGION", 5)
    with pytest.raises(NpuError, match="chain buffer 5 is read before it was written"):
        b.run("POOL", mode="SUM")


@pytest.mark.parametrize(
    ("name", "registers", "operands", "reason"),
    [
        ("POOL", {"ACC_FORMAT": {"input": "KEEP", "microblock": "1x2"}}, {"mode": "SUM"}, "accumulator input KEEP"),
        ("POOL", {"IFM_PRECISION": {"signed": 1, "storage": "TILE3X1"}}, {"mode": "SUM"}, "TILE3X1"),
        ("POOL", {"OFM_PRECISION": {"signed": 1, "storage": "NONE"}}, {"mode": "SUM"}, "without storage"),
        ("POOL", {"ACTIVATION": {"function": "LUT_TANH"}}, {"mode": "SUM"}, "no public definition"),
        ("POOL", {"OFM_PRECISION": BOTH}, {"mode": "SUM"}, "both transpose and reverse"),
        ("RESIZE", {}, {"mode": "REPLICATE"}, "REPLICATE"),
        ("ELEMENTWISE", {}, {"mode": 63}, "mode 63 does not exist"),
        ("CONV", {}, {}, "global scale"),
        ("ELEMENTWISE", {"IFM_SCALE": {"shift": 1}}, {"mode": "MUL"}, "input scales of MUL"),
    ],
)
def test_what_is_not_modelled_is_refused_by_name(
    bench: Make, name: str, registers: dict[str, Any], operands: dict[str, Any], reason: str
) -> None:
    b = bench(U85)
    b.place("IFM", CODES)
    b.place("IFM2", CODES)
    b.output(CODES.shape, "i1")
    for register, fields in registers.items():
        b.a.set(register, **({"value": 1} if register == "IFM_SCALE" else {}), **fields)
    with pytest.raises(NpuError, match=reason) as caught:
        b.run(name, **operands)
    assert caught.value.kind == "unsupported"
    assert caught.value.name == name
    assert caught.value.offset == len(b.a.stream())


def test_tanh_and_sigmoid_functions_of_u55_are_refused(bench: Make) -> None:
    for function in ("TANH", "SIGMOID"):
        b = bench(U55)
        b.place("IFM", CODES)
        b.output(CODES.shape, "i1")
        b.a.set("ACTIVATION", function=function)
        with pytest.raises(NpuError, match=f"activation {function} has no public definition"):
            b.run("POOL", mode="AVERAGE")


def test_resize_keeps_to_its_definition(bench: Make) -> None:
    values = np.random.default_rng(4).integers(-128, 128, (3, 4, 2)).astype(np.int8)
    n, step, offset, shape = (3, 4), (2, 3), (-1, 1), (4, 5)
    for mode in ("BILINEAR", "NEAREST"):
        b = bench(U85)
        b.place("IFM", values)
        b.output((*shape, 2), "i4")
        b.kernel(3, 4)
        for axis, name in enumerate("YX"):
            b.a.set(f"RESIZE_{name}_SCALE_N_M1", n[axis] - 1).set(f"RESIZE_{name}_OFFSET", offset[axis] & 0xFFF)
            whole, rest = divmod(step[axis], n[axis])
            b.a.set(f"RESIZE_{name}", rest, one_step_int=whole)
        b.a.set("OFM_SCALE", 1, shift=16)
        got = b.run("RESIZE", mode=mode)
        for y in range(shape[0]):
            for x in range(shape[1]):
                place = [(v * s + o) for v, s, o in zip((y, x), step, offset, strict=True)]
                whole_part = [p // m for p, m in zip(place, n, strict=True)]
                part = [p % m for p, m in zip(place, n, strict=True)]
                total = 0
                for dy in (0, 1):
                    for dx in (0, 1):
                        iy = min(max(whole_part[0] + dy, 0), 2)
                        ix = min(max(whole_part[1] + dx, 0), 3)
                        if mode == "BILINEAR":
                            wy = part[0] if dy else n[0] - part[0]
                            wx = part[1] if dx else n[1] - part[1]
                            total += wy * wx * int(values[iy, ix, 0])
                        elif dy == (2 * part[0] >= n[0]) and dx == (2 * part[1] >= n[1]):
                            total = int(values[iy, ix, 0])
                assert got[y, x, 0] == total
