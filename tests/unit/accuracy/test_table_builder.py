"""ExecuTorch's own table builder, entry by entry: quantize(f(dequantize(clamp(code)))) and nothing else."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.accuracy.making import table

from corstone.accuracy.finding import Kind, Severity
from corstone.accuracy.guard import guard_table
from corstone.accuracy.tables import exact_entries
from corstone.program import QParams
from corstone.quantize.derived import derive
from corstone.quantize.domains import UNARY

pytestmark = pytest.mark.slow  # importing ExecuTorch takes ten seconds

NAMES = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfinv", "exp", "expm1", "floor",
    "hardsigmoid", "hardswish", "log", "log10", "log1p", "reciprocal", "round", "rsqrt", "sigmoid", "silu", "sin",
    "sinh", "tan", "tanh",
]  # fmt: skip


@pytest.fixture(scope="module")
def builder() -> Any:
    pytest.importorskip("executorch")
    with warnings.catch_warnings():
        # Deprecations inside ExecuTorch and torchao; they are not ours to judge.
        warnings.simplefilter("ignore")
        from executorch.backends.arm._passes.insert_table_ops import InsertTableOpsPass, TableOps

    names = {str(op).split(".")[-2]: function for op, function in TableOps.unary_table_ops.items()}
    return InsertTableOpsPass, names


def quant_args(q: QParams) -> Any:
    import torch
    from executorch.backends.arm._passes.quant_args import QuantArgs

    return QuantArgs(q.scale, q.zero_point, q.qmin, q.qmax, getattr(torch, q.dtype))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(NAMES),
    scales=st.tuples(st.floats(1e-3, 0.05), st.floats(1e-3, 0.1)),
    zero_points=st.tuples(st.integers(-128, 127), st.integers(-128, 127)),
    qmin=st.sampled_from([-128, -127]),
)
def test_every_int8_entry(
    builder: Any, name: str, scales: tuple[float, float], zero_points: tuple[int, int], qmin: int
) -> None:
    source = QParams(scales[0], zero_points[0], qmin, 127, "int8")
    target = QParams(scales[1], zero_points[1], -128, 127, "int8")
    make, functions = builder
    built, _ = make.generate_8bit_table_values(make(None), functions[name], quant_args(source), quant_args(target))
    check(name, source, target, built.numpy().astype(np.int64))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.sampled_from(NAMES), scales=st.tuples(st.floats(1e-5, 2e-4), st.floats(2e-5, 1e-3)))
def test_every_int16_node(builder: Any, name: str, scales: tuple[float, float]) -> None:
    source, target = (QParams(s, 0, -32767, 32767, "int16") for s in scales)
    make, functions = builder
    try:
        built, shift = make.generate_16_bit_table_values(functions[name], quant_args(source), quant_args(target))
    except OverflowError:
        # It takes the logarithm of the largest entry, and has no answer where no node has a value.
        assert not table(name, source, target).entries.any()
        return
    assert shift == -7
    check(name, source, target, built.numpy().astype(np.int64))


def check(name: str, source: QParams, target: QParams, built: np.ndarray[Any, Any]) -> None:
    use = replace(table(name, source, target), entries=built)
    wanted, exact = table(name, source, target).entries, exact_entries(use)
    known = np.isfinite(exact)
    # float32 against float64: one step where the exact value lies near the middle between two codes, and nothing else.
    inside = np.clip(exact, target.qmin, target.qmax)
    tie = np.abs(np.abs(inside - np.floor(inside)) - 0.5) < 0.02
    steep = name in {"ceil", "floor", "round"}
    near = np.abs(built - wanted) <= 1
    assert near[known & ~tie].all() if not steep else True
    assert (built[known & ~tie] == wanted[known & ~tie]).mean() > 0.99 if (known & ~tie).any() else True
    if not steep:
        assert not [f for f in guard_table(use) if f.kind in (Kind.WRONG_ENTRY, Kind.FLAT_LAST, Kind.ENDPOINT)]


def test_the_builder_of_today_has_no_flat_end_and_no_lost_bits(builder: Any) -> None:
    make, functions = builder
    source = QParams(2.0**-12, 0, -32767, 32767, "int16")
    target = QParams(math.exp(8) / 32767, 0, -32767, 32767, "int16")
    built, _ = make.generate_16_bit_table_values(functions["exp"], quant_args(source), quant_args(target))
    assert built[512] > built[511]
    small = QParams(1 / 4096, 0, -32767, 32767, "int16")
    built, shift = make.generate_16_bit_table_values(functions["sigmoid"], quant_args(source), quant_args(small))
    assert (int(built.max()), shift) == (4095, -7)


def test_a_raised_qmin_gives_the_int16_table_of_another_function(builder: Any) -> None:
    """Found by the guard: the int16 builder spreads its nodes over qmin..qmax, as the int8 one did before its fix."""
    make, functions = builder
    source, target = QParams(1 / 8064, 0, 8064, 32767, "int16"), QParams(6e-5, 0, -32767, 32767, "int16")
    built, _ = make.generate_16_bit_table_values(functions["acosh"], quant_args(source), quant_args(target))
    use = replace(table("acosh", source, target), entries=built.numpy().astype(np.int64))
    (found,) = (f for f in guard_table(use) if f.kind is Kind.WRONG_ENTRY)
    assert found.severity is Severity.ERROR
    # The derived parameters keep away from it.
    assert derive(UNARY["acosh"].domain, 16, 1.0, 4.0).qmin == -32767
