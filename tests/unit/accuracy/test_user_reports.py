"""Findings that users reported, recomputed with torch: each figure comes out of torch here, and the guard names it.

Numbers in the tests' names are those of the project's list of public reports. Where a report is about an older table
builder, that builder is written out in the test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.unit.accuracy.making import int8, int16, table

from corstone.accuracy.finding import Finding, Kind, Severity
from corstone.accuracy.guard import guard_table
from corstone.accuracy.tables import TableUse, evaluate
from corstone.judge.accuracy import compare_accuracy
from corstone.judge.codes import quantize
from corstone.judge.elements import input_view
from corstone.program import QParams
from corstone_models.networks import NETWORKS

torch = pytest.importorskip("torch")

Function = Callable[[Any], Any]


def torch_table(function: Function, given: QParams, output: QParams, codes: Any = None) -> np.ndarray[Any, Any]:
    """``quantize(f(dequantize(code)))`` in float32 by torch, one value a code; NaN is what torch makes of it here."""
    codes = torch.arange(-128, 128) if codes is None else codes
    clamped = codes.clamp(given.qmin, given.qmax) if given.dtype == "int8" else codes
    x = (clamped - given.zero_point).float() * np.float32(given.scale)
    steps = torch.round(function(x) * (1.0 / np.float32(output.scale))) + output.zero_point
    steps = torch.nan_to_num(steps, nan=0.0).clamp(output.qmin, output.qmax)
    return np.asarray(steps.to(torch.int64).numpy())


def kinds(findings: tuple[Finding, ...]) -> set[Kind]:
    return {f.kind for f in findings}


@pytest.mark.parametrize(("half_range", "outside"), [(1.0, [-128]), (1.01, [-128, -127, 127]), (1.05, None)])
def test_d44_out_of_domain_entries_become_code_0(half_range: float, outside: list[int] | None) -> None:
    given, output = int8(2 * half_range / 255), int8(math.pi / 255)
    entries = torch_table(torch.asin, given, output)
    codes = np.arange(-128, 128)
    values = codes.astype(np.float32) * np.float32(given.scale)
    bad = codes[np.abs(values) > 1]
    assert bad.size == 13 if outside is None else bad.tolist() == outside
    # The device returns (0 - z) * s: 0.0 for asin.
    assert (entries[bad + 128] == 0).all()
    findings = guard_table(replace(table("asin", given, output), entries=entries))
    (nan,) = (f for f in findings if f.kind is Kind.NAN_ENTRY)
    assert nan.codes is not None
    assert nan.codes[2] == bad.size


def test_d45_acos_with_fixed_parameters_is_ten_steps_off_at_one() -> None:
    given, output = int8(2 / 256), int8(math.pi / 255, -128)
    entries = torch_table(torch.acos, given, output)
    assert (int(entries[127 + 128]), int(entries[0])) == (-118, 127)
    x = np.array([-1, -0.995, -0.5, 0, 0.5, 0.99, 0.995, 1], np.float32)
    got = (entries[quantize(x, given) + 128] - output.zero_point) * output.scale
    off = (got - np.arccos(x.astype(np.float64))) / output.scale
    assert off[-1] == pytest.approx(10.0, abs=0.01)
    assert got[-1] == pytest.approx(0.12320, abs=1e-5)
    assert abs(off[1]) == pytest.approx(1.9, abs=0.05)
    grid = np.linspace(-1, 1, 100001).astype(np.float32)
    errors = (entries[quantize(grid, given) + 128] + 128) * output.scale - np.arccos(grid.astype(np.float64))
    assert np.abs(errors / output.scale).mean() == pytest.approx(0.36, abs=0.01)
    (found,) = (f for f in guard_table(replace(table("acos", given, output), entries=entries)))
    assert found.kind is Kind.END_CLIPPED
    assert found.lsb == pytest.approx(10.15, abs=0.02)


def test_d46_atanh_at_the_ends() -> None:
    given = int8(1.998 / 256)
    ends = np.arctanh(np.array([-128, 127]) * given.scale)
    assert ends == pytest.approx([-3.8002, 2.7106], abs=1e-4)
    output = int8(0.020758)
    entries = torch_table(torch.atanh, given, output)
    assert torch.isinf(torch.atanh(torch.tensor([-1.0, 1.0]))).all()
    x = np.linspace(-0.99, 0.99, 2001).astype(np.float32)
    off = np.abs(entries[quantize(x, given) + 128] - np.arctanh(x.astype(np.float64)) / output.scale)
    assert off.max() == pytest.approx(6.2, abs=0.1)
    assert abs(float(x[off.argmax()])) == pytest.approx(0.98703, abs=1e-4)


def test_d47_sigmoid_table_when_qmin_is_minus_127() -> None:
    given, output = int8(6 / 127, qmin=-127), int8(1 / 256, -128)
    # Before the fix: 256 codes spread over the 255 values -127..127.
    spread = torch.linspace(-127, 127, 256, dtype=torch.int32)
    old = torch_table(torch.sigmoid, given, output, spread)
    new = torch_table(torch.sigmoid, given, output)
    assert (int((old != new).sum()), int(np.abs(old - new).max())) == (71, 3)
    assert int(np.abs(old - new).argmax()) - 128 == -24
    assert int((spread == 0).sum()) == 2
    use = table("sigmoid", given, output)
    assert np.array_equal(use.entries, new)
    assert guard_table(use) == ()
    (found,) = guard_table(replace(use, entries=old))
    assert (found.kind, found.severity) == (Kind.WRONG_ENTRY, Severity.ERROR)


def nodes() -> Any:
    return torch.arange(513) * 128 - 32768


def test_d48_int16_table_of_an_output_that_needs_fewer_bits() -> None:
    given, output = int16(8 / 32768), int16(1 / 4096)
    values = torch.from_numpy(torch_table(torch.sigmoid, given, output, nodes()))
    assert int(values.max()) == 4095
    shift = int(torch.ceil(torch.log2(values.abs().max()))) + 1 - 16
    assert shift == -3
    # A negative shift is undefined; on x86 its low five or six bits count, and nothing is left.
    old = values.to(torch.int32) >> (shift & 31)
    assert not old.any()
    use = table("sigmoid", given, output)
    assert Kind.CONSTANT in kinds(guard_table(replace(use, entries=old.numpy().astype(np.int64))))
    assert not kinds(guard_table(use)) & {Kind.CONSTANT, Kind.TRUNCATED, Kind.DEGENERATE}


@pytest.mark.parametrize(
    ("name", "function", "output_scale", "want"),
    [
        ("exp", torch.exp, math.exp(8) / 32767, (31759, 32263, 32759)),
        ("leaky_relu", lambda x: x, 2.0**-12, (32640, 32704, 32766)),
    ],
)
def test_d49_last_interval_is_flat(name: str, function: Function, output_scale: float, want: tuple[int, ...]) -> None:
    given, output = int16(2.0**-12), int16(output_scale)
    constants = (1.0,) if name == "leaky_relu" else ()
    use = table(name, given, output, constants)
    fixed = torch_table(function, given, output, nodes())
    assert np.abs(use.entries - fixed).max() <= 1
    old = fixed.copy()
    old[512] = old[511]
    codes = [32640, 32704, 32767]
    assert np.abs(evaluate(replace(use, entries=fixed), codes) - np.array(want)).max() <= 1
    assert set(evaluate(replace(use, entries=old), codes).tolist()) == {want[0]}
    (found,) = (f for f in guard_table(replace(use, entries=old)) if f.severity is Severity.ERROR)
    assert found.kind is Kind.FLAT_LAST


def test_d50_interpolation_where_the_slope_is_infinite() -> None:
    given = int16(2 / 65536)
    for name, function, output, largest in (
        ("asin", torch.asin, int16(math.pi / 2 / 32767), 467),
        ("acos", torch.acos, int16(math.pi / 32767), 234),
    ):
        entries = torch_table(function, given, output, nodes())
        if name == "asin":
            assert entries[:2].tolist() == [-32767, -30923]
        codes = torch.arange(-32767, 32768)
        exact = (function(codes.double() * given.scale) / output.scale).numpy()
        use: TableUse = replace(table(name, given, output), entries=entries)
        off = np.abs(evaluate(use, codes.numpy()) - exact)
        inner = np.abs(codes.numpy() * given.scale) < 0.9
        assert off[inner].max() <= 1.6
        assert off.max() == pytest.approx(largest, rel=0.02)
        assert off.max() * output.scale == pytest.approx(0.0222, rel=0.02)
        (found,) = (f for f in guard_table(use) if f.kind is Kind.INTERPOLATION)
        assert found.lsb == pytest.approx(largest, rel=0.02)


@pytest.mark.parametrize(
    ("highest", "fails"), [(4.02, True), (6, True), (3, False), (4, False), (5, False), (8, False), (10, False)]
)
def test_d51_in_domain_input_rounds_out_of_the_domain(highest: float, fails: bool) -> None:
    given = int8(highest / 255, -128)
    code = int(quantize(np.array([1.0], np.float32), given)[0])
    value = torch.tensor((code + 128) * given.scale)
    assert bool(torch.isnan(torch.acosh(value))) == fails
    use = table("acosh", given, int8(math.acosh(highest) / 255, -128))
    entries = torch_table(torch.acosh, given, use.output or given)
    if fails:
        assert entries[code + 128] == 0
    assert (Kind.CODE_OUTSIDE in kinds(guard_table(replace(use, entries=entries)))) == fails


def test_d51_sqrt_with_a_slightly_negative_calibration() -> None:
    given = int8(4.1 / 255, -122)
    values = (torch.arange(-128, 128) - given.zero_point).float() * given.scale
    assert int(torch.isnan(torch.sqrt(values)).sum()) == 6
    (found,) = (f for f in guard_table(table("sqrt", given, int8(2 / 255, -128))) if f.kind is Kind.OBSERVED_OUTSIDE)
    assert found.codes is not None
    assert found.codes[2] == 6


def test_d55_a_vector_for_the_rsqrt_table() -> None:
    """The report has none: here are input, entries and answers for every code, the same each time and in torch."""
    given, output = int8(4 / 255, -128), int8(2.0 / 255, -128)
    codes = torch.arange(-128, 128)
    entries = torch_table(torch.rsqrt, given, output)
    assert np.array_equal(entries, torch_table(torch.rsqrt, given, output))
    assert np.array_equal(table("rsqrt", given, output).entries, entries)
    assert (int(entries[0]), int(entries[64]), int(entries[255])) == (127, -1, -64)
    exact = torch.rsqrt((codes.double() + 128) * given.scale) / output.scale - 128
    free = (exact <= 127).numpy()
    assert np.abs(entries - exact.numpy())[free].max() <= 0.5 + 1e-4
    # The pole itself is saturated, not NaN, and the guard calls it what it is.
    assert Kind.INFINITE_ENTRY in kinds(guard_table(table("rsqrt", given, output)))


def test_d56_a_tolerance_has_a_reason_and_the_share_of_it_that_was_used() -> None:
    given, output = int8(2 / 256), int8(math.pi / 255, -128)
    entries = torch_table(torch.acos, given, output)
    x = torch.linspace(-0.9, 0.9, 1001)
    codes = torch.round(x / given.scale).long()
    device = (entries[codes.numpy() + 128] - output.zero_point) * output.scale
    exact = torch.acos(x.double()).numpy()
    budgets = tuple(b for b in NETWORKS["acos"].budgets(8, "fixed") if b.region.name == "interior")
    (budget,) = budgets
    assert budget.reason
    view = input_view([x.numpy()], given, x.numel())
    found = compare_accuracy(0, exact, device.astype(np.float32), output, view, budgets, None)
    used = float(np.abs(device - exact).max() / output.scale) / budget.max_lsb
    assert 0.5 < used < 1
    assert found.comparison.budget_share == pytest.approx(used, rel=1e-3)
    (region,) = found.comparison.regions
    assert (region.count, region.reason) == (1001, budget.reason)
