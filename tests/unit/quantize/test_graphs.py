"""What the policies make of the graphs: read from lowered programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.unit.conftest import NETWORKS, Programs

from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.program import Program


def operators(program: Program) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((program.pte.parent / "operators.json").read_text())
    return rows


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("network", NETWORKS)
def test_fixed_is_upstream_bit_for_bit(programs: Programs, network: str, bits: int) -> None:
    ours, theirs = programs(network, bits, "fixed"), programs(network, bits, "upstream")
    assert ours.tosa[0].read_bytes() == theirs.tosa[0].read_bytes()
    streams = [read_vela(read_pte(p.pte).ethos_u[0].data) for p in (ours, theirs)]
    assert streams[0].cmd_data == streams[1].cmd_data
    assert streams[0].weights == streams[1].weights
    assert ours.pte.read_bytes() == theirs.pte.read_bytes()
    assert operators(ours) == operators(theirs)


@pytest.mark.parametrize("network", NETWORKS)
def test_observer_differs_from_fixed(programs: Programs, network: str) -> None:
    observer, fixed = programs(network, 8, "observer"), programs(network, 8, "fixed")
    assert observer.tosa[0].read_bytes() != fixed.tosa[0].read_bytes()
    # One and the same observer for the graph's input and the operator: no requantization between.
    (row,) = operators(observer)
    assert observer.input_qparams[0] is not None
    assert row["inputs"][0]["scale"] == observer.input_qparams[0].scale


@pytest.mark.parametrize("network", NETWORKS)
def test_edge_exact_quantizes_the_graph_input_itself(programs: Programs, network: str) -> None:
    qparams = programs(network, 8, "edge_exact").input_qparams[0]
    assert qparams is not None
    span = 0.999 if network == "atanh" else 1.0
    assert (qparams.qmin, qparams.qmax, qparams.zero_point) == (-127, 127, 0)
    assert qparams.scale == pytest.approx(span / 127, rel=1e-7)
