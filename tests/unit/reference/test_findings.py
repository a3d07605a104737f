"""What the method showed before the first line was written, shown by the references again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.conftest import Programs

from corstone.judge.codes import quantize
from corstone.program import Program
from corstone.reference import references
from corstone.reference.domains import domain_findings
from corstone_models.stimuli import stimulus_sets


def curve(program: Program) -> tuple[Any, Any]:
    """Value and answer of every code, ascending, float64."""
    ((x,),) = stimulus_sets("codes", program)
    y = references(program, (x,), ("table",))["table"].outputs[0]
    qparams = program.input_qparams[0]
    assert qparams is not None
    count = qparams.qmax - qparams.qmin + 1
    return x.reshape(-1)[:count].astype(np.float64), y.reshape(-1)[:count].astype(np.float64)


def answer(program: Program, x: float) -> float:
    qparams = program.input_qparams[0]
    assert qparams is not None
    code = int(quantize(np.array([x], np.float32), qparams)[0])
    return float(curve(program)[1][code - qparams.qmin])


@pytest.mark.parametrize(
    ("network", "bits", "policy", "x", "got", "meant"),
    [
        ("acos", 8, "observer", -1.0, 1.576, 3.142),
        ("asin", 8, "observer", -1.0, 0.0, -1.571),
        ("atanh", 8, "observer", -0.999, 0.0, -3.800),
        ("acos", 16, "observer", -1.0, 0.024, 3.142),
        ("asin", 16, "observer", -1.0, -0.012, -1.571),
        ("acos", 8, "fixed", 1.0, 0.123, 0.0),
        ("asin", 8, "fixed", 1.0, 1.441, 1.571),
        ("atanh", 8, "fixed", 0.999, 2.711, 3.800),
        ("acos", 8, "edge_exact", -1.0, 3.142, 3.142),
        ("acos", 8, "edge_exact", 1.0, 0.0, 0.0),
        ("asin", 8, "edge_exact", -1.0, -1.571, -1.571),
        ("asin", 8, "edge_exact", 1.0, 1.571, 1.571),
        ("atanh", 8, "edge_exact", -0.999, -3.800, -3.800),
        ("atanh", 8, "edge_exact", 0.999, 3.800, 3.800),
    ],
)
def test_answers_at_the_edge(
    programs: Programs, network: str, bits: int, policy: str, x: float, got: float, meant: float
) -> None:
    assert answer(programs(network, bits, policy), x) == pytest.approx(got, abs=5e-4)
    assert {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}[network](x) == pytest.approx(meant, abs=5e-4)


@pytest.mark.parametrize("network", ["acos", "asin"])
def test_a_nan_node_spoils_the_outermost_codes_of_each_end_at_int16(programs: Programs, network: str) -> None:
    x, y = curve(programs(network, 16, "observer"))
    function = {"acos": np.arccos, "asin": np.arcsin}[network]
    spoilt = np.abs(y - function(np.clip(x, -1, 1))) > 0.023
    assert spoilt[:20].all()
    assert not spoilt[127:-127].any()
    if network == "asin":
        assert spoilt[-20:].all()


@pytest.mark.parametrize(
    ("network", "worst", "steps"), [("acos", 0.022, 231), ("asin", 0.022, 461), ("atanh", 1.6, None)]
)
def test_one_int16_table_cannot_follow_an_infinite_slope(
    programs: Programs, network: str, worst: float, steps: int | None
) -> None:
    program = programs(network, 16, "fixed")
    x, y = curve(program)
    function = {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}[network]
    scale = program.output_qparams[0]
    assert scale is not None
    inside = np.abs(x) <= 0.99999
    error = np.abs(y - function(np.clip(x, -0.99999, 0.99999) if network == "atanh" else np.clip(x, -1, 1)))[inside]
    assert error.max() == pytest.approx(worst, rel=0.05)
    if steps is not None:
        assert error.max() / scale.scale == pytest.approx(steps, abs=1)
    else:
        assert (error / scale.scale > 2).mean() == pytest.approx(0.042, abs=0.001)


@pytest.mark.parametrize("network", ["acos", "asin", "atanh"])
def test_edge_exact_is_within_half_a_step_on_every_code(programs: Programs, network: str) -> None:
    program = programs(network, 8, "edge_exact")
    x, y = curve(program)
    taken = program.output_qparams[0]
    assert taken is not None
    exact = {"acos": np.arccos, "asin": np.arcsin, "atanh": np.arctanh}[network](x)
    # Tables are made in float32: a step's half is not cut to the last digit.
    assert (np.abs(y - exact) / taken.scale).max() < 0.5001


def test_a_row_of_pythons_own_function_has_no_domain(tmp_path: Path, programs: Programs) -> None:
    """``getitem`` takes one of several outputs, of topk or a split; its target has no namespace."""
    program = programs("acos", 8, "fixed")
    row = {"name": "getitem", "target": "<built-in function getitem>", "inputs": [vars(program.input_qparams[0])]}
    (tmp_path / "operators.json").write_text(json.dumps([row | {"output": None, "constants": [1]}]))
    assert domain_findings(replace(program, pte=tmp_path / program.pte.name)) == ()
