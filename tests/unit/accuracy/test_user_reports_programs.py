"""Findings that users reported about whole programs, lowered here and recomputed with torch.

The command streams run on the NPU model, on every code; nothing is booted. Numbers are those of ``test_user_reports``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from corstone.accuracy.tables import tables_of, values_of
from corstone.emulator.npu.offline import run_delegate
from corstone.errors import HarnessError
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.judge.divergences import divergence_notes
from corstone.looking.walk import walk
from corstone.lowering import LowerRequest, lower_all
from corstone.program import Program
from corstone.reference import operators_of, references, table
from corstone.reference.graph import read_graph

torch = pytest.importorskip("torch")

SOURCE = """
import torch

class Tanh(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)

class Sigmoid(torch.nn.Module):
    def forward(self, x):
        return torch.sigmoid(x)

class Softmax(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)
"""
TABLES = ("Tanh", "Sigmoid")
RANGES = (0.01, 0.1, 1.0, 5.0, 10.0, 20.0, 30.0)
U55, U85 = "ethos-u55-128", "ethos-u85-256"


def softmax_input(reach: float) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).uniform(-reach, reach, (1, 4, 16)).astype(np.float32)


@pytest.fixture(scope="module")
def programs(session_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Program]:
    path = tmp_path_factory.mktemp("reports") / "reported.py"
    path.write_text(SOURCE)
    wide = (np.linspace(-8, 8, 65536).astype(np.float32).reshape(256, 256),)
    rows = tuple((softmax_input(reach),) for reach in RANGES)
    cases: dict[tuple[str, str], LowerRequest] = {
        (name, U55): LowerRequest(f"{path}:{name}", bits=16, policy="upstream", inputs=wide, calibration=(wide,))
        for name in TABLES
    }
    cases["Rsqrt", U55] = LowerRequest("rsqrt", bits=16, policy="upstream")
    for target in (U55, U85):
        cases["Softmax", target] = LowerRequest(
            f"{path}:Softmax", bits=16, policy="upstream", target=target, inputs=rows[0], calibration=rows
        )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CORSTONE_CACHE", str(session_cache))
        found = dict(zip(cases, lower_all(list(cases.values())), strict=True))
    for program in found.values():
        if isinstance(program, HarnessError):
            raise program
    return {case: program for case, program in found.items() if isinstance(program, Program)}


@pytest.mark.parametrize(
    ("name", "function", "bend"),
    [("Rsqrt", None, 0.0), ("Sigmoid", torch.sigmoid, 0.0962), ("Tanh", torch.tanh, 0.7698)],
)
def test_d52_every_code_of_int16_tables_on_u55(
    programs: dict[tuple[str, str], Program], name: str, function: Any, bend: float
) -> None:
    """``bend``: the largest second derivative, which says how far a line between two nodes can be off."""
    program = programs[name, U55]
    codes = np.arange(-32768, 32768).astype(np.int16)
    blob = read_vela(read_pte(program.pte).ethos_u[0].data)
    device = np.frombuffer(run_delegate(blob, [codes.tobytes()]).outputs[0], np.int16)
    reference = table.run(read_graph(program.tosa[0]), [codes]).outputs[0].reshape(-1)
    assert np.array_equal(device, reference)
    if function is None:
        return
    (use,) = tables_of(program)
    assert use.input is not None
    assert use.output is not None
    exact = function(torch.from_numpy(values_of(codes.astype(np.int64), use.input))).numpy()
    # The observer of ExecuTorch cuts the largest answers off: sigmoid saturates 16 steps early.
    steps = np.clip(exact / use.output.scale, use.output.qmin, use.output.qmax)
    sag = bend * (128 * use.input.scale) ** 2 / 8 / use.output.scale
    assert np.abs(device - steps).max() < 1.1 + sag


@pytest.mark.usefixtures("lowering_cache")
@pytest.mark.parametrize("reach", RANGES)
def test_d53_softmax_is_the_same_on_u55_and_u85_and_as_in_torch(
    programs: dict[tuple[str, str], Program], reach: float
) -> None:
    x = softmax_input(reach)
    answers = {t: walk(read_pte(programs["Softmax", t].pte), [x], feature_maps=False).outputs[0] for t in (U55, U85)}
    for target, got in answers.items():
        wanted = references(programs["Softmax", target], [x], ("tosa",))["tosa"].outputs[0]
        assert got.tobytes() == wanted.tobytes()
        assert np.abs(got - torch.softmax(torch.from_numpy(x).double(), -1).numpy()).max() < 0.05
        assert got.any()
    assert np.array_equal(answers[U55], answers[U85])
    # The note of this divergence is of an int16 sum; whether this ExecuTorch makes one decides whether it is there.
    operators = operators_of(programs["Softmax", U85])
    noted = any("u85-int16-reduce-sum" in note for note in divergence_notes(U85, operators))
    assert any(name == "REDUCE_SUM" for name, _ in operators)
    assert noted == (("REDUCE_SUM", "int16") in operators)
    assert divergence_notes(U55, operators_of(programs["Softmax", U55])) == ()
