"""The registry without torch, budgets that hold for any input inside the domain, and ExecuTorch's own test data."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.unit.conftest import UPSTREAM, Programs

from corstone.errors import ConfigError
from corstone.judge.accuracy import compare_accuracy
from corstone.judge.budget import Budget
from corstone.judge.codes import quantize
from corstone.judge.elements import input_view
from corstone.program import Program
from corstone.reference import references, table
from corstone.reference.graph import read_graph
from corstone_models.networks import NETWORKS, network
from corstone_models.stimuli import upstream

ALL = [
    (name, bits, policy)
    for policy in ("fixed", "edge_exact")
    for name in ("acos", "asin", "atanh")
    for bits in (8, 16)
    if (bits, policy) != (16, "edge_exact")
]


def test_the_registry_imports_no_torch() -> None:
    script = "import sys, corstone_models.networks, corstone_models.stimuli\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_unknown_networks_are_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError) as error:
        network("cosh")
    assert "acos" in error.value.hint
    with pytest.raises(ConfigError, match="no budget was measured"):
        network("acos").budgets(16, "edge_exact")


@pytest.mark.parametrize("name", ["acos", "asin", "atanh"])
def test_float64_functions(name: str) -> None:
    (y,) = NETWORKS[name].function(np.array([0.5, -0.5], np.float32))
    assert y.dtype == np.float64
    assert y[0] == {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}[name](0.5)
    (outside,) = NETWORKS[name].function(np.array([2.0], np.float32))
    assert np.isnan(outside[0])


def test_domains_are_closed_closed_and_open() -> None:
    ends = np.array([-1.0, 1.0])
    assert network("acos").domain.holds(ends).all()
    assert network("asin").domain.holds(ends).all()
    assert not network("atanh").domain.holds(ends).any()


def test_observer_and_upstream_are_judged_by_the_budgets_of_fixed() -> None:
    for policy in ("observer", "upstream"):
        assert network("acos").budgets(8, policy) == network("acos").budgets(8, "fixed")


@pytest.mark.parametrize("name", [name for name, row in NETWORKS.items() if row.samples is None])
def test_single_operators_have_a_value_at_each_calibration_input(name: str) -> None:
    (x,) = network(name).calibration_inputs(16, ((64,),))
    (y,) = network(name).function(x)
    assert np.isfinite(y[network(name).domain.holds(x)]).all()
    assert network(name).domain.holds(x).all()


@pytest.mark.parametrize("name", [name for name, row in NETWORKS.items() if row.samples is not None])
def test_heads_bring_inputs_that_belong_together(name: str) -> None:
    row = network(name)
    inputs = row.calibration_inputs(8)
    assert [x.shape for x in inputs] == list(row.shapes[8])
    assert all(np.array_equal(a, b) for a, b in zip(inputs, row.calibration_inputs(8), strict=True))
    (y,) = row.function(*inputs)
    assert np.isfinite(y).all()
    assert row.budgets(8, "fixed")
    assert row.budgets(16, "fixed")


def inside(name: str) -> Any:
    """Many float32 values of the domain, its ends, and their neighbours."""
    domain = network(name).domain
    ends = np.array([domain.lo, domain.hi], np.float32)
    near = np.concatenate([ends, np.nextafter(ends, np.float32(0))])
    x = np.unique(np.concatenate([np.linspace(-1, 1, 200_001).astype(np.float32), near]))
    return x[domain.holds(x)]


def errors(program: Program, x: Any) -> Any:
    """Distance to float64 in output steps, for any inputs, from the table of all codes."""
    taken, given = program.output_qparams[0], program.input_qparams[0]
    assert taken is not None
    assert given is not None
    half = 1 << program.bits - 1
    codes = np.arange(-half, half).astype(given.dtype)
    answers = table.run(read_graph(program.tosa[0]), [codes]).outputs[0].reshape(-1).astype(np.float64)
    got = answers[quantize(x, given) + half] - taken.zero_point
    (real,) = network(program.network).function(x)
    return np.abs(got - real / taken.scale)


def in_region(budgets: tuple[Budget, ...], x: Any) -> list[Any]:
    """Which inputs each budget is for: the first that holds an input counts."""
    left = np.ones(x.size, np.bool_)
    chosen = []
    for budget in budgets:
        here = left & (x >= budget.region.lo) & (x <= budget.region.hi)
        left &= ~here
        chosen.append(here)
    assert not left.any(), "an input has no budget"
    return chosen


@pytest.mark.parametrize(("name", "bits", "policy"), ALL)
def test_budgets_hold_for_any_input_of_the_domain_and_are_no_wider_than_needed(
    programs: Programs, name: str, bits: int, policy: str
) -> None:
    budgets = network(name).budgets(bits, policy)
    x = inside(name)
    error = errors(programs(name, bits, policy), x)
    for budget, here in zip(budgets, in_region(budgets, x), strict=True):
        assert error[here].max() <= budget.max_lsb, budget
        assert error[here].max() > 0.85 * budget.max_lsb, budget


@pytest.mark.parametrize("name", ["acos", "asin", "atanh"])
def test_observer_is_over_these_budgets(programs: Programs, name: str) -> None:
    for bits in (8, 16):
        budgets = network(name).budgets(bits, "observer")
        x = inside(name)
        error = errors(programs(name, bits, "observer"), x)
        over = [error[here].max() > b.max_lsb for b, here in zip(budgets, in_region(budgets, x), strict=True)]
        assert any(over)


@pytest.mark.parametrize(("name", "bits", "data"), UPSTREAM)
def test_upstream_data_of_all_ranks_is_answered_exactly_and_within_budget(
    programs: Programs, name: str, bits: int, data: str
) -> None:
    program, x = programs(name, bits, data), upstream(name)[data]
    found = references(program, (x,))
    output = found["table"].outputs[0]
    assert output.tobytes() == found["tosa"].outputs[0].tobytes()
    taken, given = program.output_qparams[0], program.input_qparams[0]
    view = input_view([x], given, x.size)
    budgets = network(name).budgets(bits, "fixed")
    judged = network(name).domain.holds(x.reshape(-1))
    result = compare_accuracy(0, found["float"].outputs[0], output, taken, view, budgets, judged)
    assert result.comparison.passed, result.comparison
