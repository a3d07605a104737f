"""A budget derived from the table is a bound for any input, and no wider than needed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.conftest import Programs

from corstone.accuracy.budget_file import load, save
from corstone.accuracy.derive_budget import derive
from corstone.cli import main
from corstone.judge.budget import Region
from corstone.judge.codes import quantize
from corstone.reference import table
from corstone.reference.graph import read_graph
from corstone_models.budgets import FILE
from corstone_models.networks import network

REGIONS = (Region(0.99, 1.0, "edge"), Region(-1.0, 1.0, "rest"))


@pytest.mark.parametrize("case", [("acos", 8, "fixed"), ("asin", 8, "edge_exact"), ("acos", 16, "fixed")])
def test_no_input_is_further_off_and_one_is_nearly_as_far(programs: Programs, case: tuple[str, int, str]) -> None:
    program, row = programs(*case), network(case[0])
    edge, rest = derive(program, lambda x: row.function(x)[0], row.domain, REGIONS)
    given, taken = program.input_qparams[0], program.output_qparams[0]
    assert given is not None
    assert taken is not None
    x = np.unique(np.concatenate([np.linspace(-1, 1, 400_001), np.linspace(0.99, 1, 400_001)])).astype(np.float32)
    codes = np.arange(given.qmin, given.qmax + 1)
    padded = np.resize(codes.astype(given.dtype), program.inputs[0].count)
    answers = table.run(read_graph(program.tosa[0]), [padded.reshape(program.inputs[0].shape)]).outputs[0].reshape(-1)
    got = answers[quantize(x, given) - given.qmin].astype(np.float64) - taken.zero_point
    error = np.abs(got - row.function(x)[0] / taken.scale)
    for found, here in ((edge, x >= 0.99), (rest, x < 0.99)):
        assert error[here].max() <= found.budget.max_lsb * 1.001
        assert error[here].max() >= found.budget.max_lsb * 0.95
    assert edge.table_lsb is not None
    assert edge.input_lsb is not None
    assert edge.table_lsb + edge.input_lsb <= edge.budget.max_lsb


def test_the_command_tightens_to_the_bound_and_refuses_to_loosen(
    programs: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs("acos", 8, "fixed")
    file = tmp_path / "budgets.json"
    shutil.copy(FILE, file)
    text = file.read_text()
    assert '"edge at +1", "lo": 0.99, "hi": 1.0, "max_lsb": 10.0' in text
    file.write_text(text.replace('"max_lsb": 10.0', '"max_lsb": 12.5'))
    assert main(["budget", "tighten", "acos", "--file", str(file)]) == 0
    assert "edge at +1: 12.5 -> 10 LSB" in capsys.readouterr().out
    assert load(file)["acos/8/fixed"] == load(FILE)["acos/8/fixed"]
    tight = file.read_text().replace('"max_lsb": 10.0', '"max_lsb": 5.0')
    file.write_text(tight)
    assert main(["budget", "tighten", "acos", "--file", str(file)]) == 1
    assert "raising it is an edit by hand" in capsys.readouterr().out
    assert file.read_text() == tight


def test_the_command_derives_a_first_budget(programs: Programs, tmp_path: Path) -> None:
    programs("asin", 8, "fixed")
    file = tmp_path / "budgets.json"
    save(file, {})
    assert main(["budget", "derive", "asin", "--file", str(file)]) == 0
    (row,) = load(file)["asin/8/fixed"]
    assert row.budget.region.name == "everywhere"
    assert row.budget.max_lsb == pytest.approx(10.6, abs=0.1)
    assert row.budget.reason.startswith("derived from the table")


def test_a_wrong_entry_makes_no_budget_wider(programs: Programs, tmp_path: Path) -> None:
    """What is derived is what right entries give: one that is wrong is not what the budget is made of."""
    program, row = programs("acos", 16, "fixed"), network("acos")
    (right,) = derive(program, lambda x: row.function(x)[0], row.domain, (Region(-0.5, 0.5, "middle"),))
    folder = Path(shutil.copytree(program.pte.parent, tmp_path / "planted"))
    graph = folder / program.tosa[0].name
    entries = read_graph(graph).constant(next(op for op in read_graph(graph).ops if op.name == "TABLE").inputs[1])
    old = entries.astype(np.int16).tobytes()
    planted = entries.astype(np.int16).copy()
    planted.reshape(-1)[256] += 50
    data = graph.read_bytes()
    assert data.count(old) == 1
    graph.write_bytes(data.replace(old, planted.tobytes()))
    wrong = replace(program, pte=folder / program.pte.name, tosa=(graph,))
    (found,) = derive(wrong, lambda x: row.function(x)[0], row.domain, (Region(-0.5, 0.5, "middle"),))
    assert right.budget.max_lsb == 1.31
    assert found.budget.max_lsb < 1.4  # and not 51
