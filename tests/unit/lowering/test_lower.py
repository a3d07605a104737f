"""Lowering end to end: what a program carries, when it is made again, and that a warm run stays light."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.unit.conftest import NETWORKS, Programs

from corstone.errors import ConfigError, StageError
from corstone.formats.pte import read_pte
from corstone.lowering import LowerRequest, lower_all
from corstone.lowering.lower import program_store
from corstone.program import Program

NET = '''
"""A network of several operators, one of them with weights from a file beside it."""
import pathlib
import numpy
import torch
import siblings

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        weights = numpy.load(pathlib.Path(__file__).with_name("weights.npy"))
        self.weights = torch.nn.Parameter(torch.from_numpy(weights))

    def forward(self, x):
        return torch.acos(torch.tanh(x * self.weights * siblings.FACTOR))

class Left(torch.nn.Module):
    """fmod has no place on the NPU and stays on the CPU, between two delegates."""
    example_inputs = (torch.rand(1, 8),)

    def forward(self, x):
        return torch.sigmoid(torch.fmod(torch.tanh(x), 0.3))

def example_inputs():
    return (torch.linspace(-1, 1, 8).reshape(1, 8),)

class Bad(torch.nn.Module):
    def forward(self, x):
        raise RuntimeError("this network cannot be exported")

class Outside(torch.nn.Module):
    """An example input beyond asin's domain, inside a network."""
    example_inputs = (torch.tensor([[0.5, 1.0, -0.25, 0.1]]),)

    def forward(self, x):
        return torch.asin(x * 2.0)

NOT_A_MODULE = 5
'''


def write_network(folder: Path) -> Path:
    folder.mkdir()
    (folder / "net.py").write_text(NET)
    (folder / "siblings.py").write_text("FACTOR = 2.0\n")
    np.save(folder / "weights.npy", np.linspace(0.1, 0.4, 8, dtype=np.float32))
    return folder / "net.py"


def all_made(requests: dict[str, LowerRequest]) -> dict[str, Program]:
    results = dict(zip(requests, lower_all(list(requests.values())), strict=True))
    programs = {name: result for name, result in results.items() if isinstance(result, Program)}
    assert programs.keys() == requests.keys(), results
    return programs


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("network", NETWORKS)
def test_a_program_carries_what_later_stages_need(programs: Programs, network: str, bits: int) -> None:
    program = programs(network, bits, "fixed")
    pte = read_pte(program.pte)
    assert len(pte.ethos_u) == len(program.tosa) == 1
    assert [(s.dtype, s.shape) for s in pte.input_specs] == [(s.dtype, s.shape) for s in program.inputs]
    assert [(s.dtype, s.shape) for s in pte.output_specs] == [(s.dtype, s.shape) for s in program.outputs]
    (given,), (taken,) = program.input_qparams, program.output_qparams
    assert given is not None
    assert taken is not None
    assert given.dtype == taken.dtype == {8: "int8", 16: "int16"}[bits]
    assert program.inputs[0].name == "x"
    assert program.notes == ()
    assert program.source == f"network:{network}"
    assert program.versions["vela"] == "5.1.0"


def test_provenance_is_a_chain_from_export_to_pte(programs: Programs) -> None:
    program = programs("acos", 8, "fixed")
    stages = program.provenance
    assert [p.stage for p in stages] == ["export", "quantize", "tosa", "vela", "pte"]
    for before, after in itertools.pairwise(stages):
        assert after.input_sha256 == before.output_sha256
    by_stage = {p.stage: p for p in stages}
    assert "--accelerator-config=ethos-u55-128" in by_stage["vela"].options["flags"]
    assert by_stage["vela"].version == "5.1.0"
    assert by_stage["quantize"].options["policy"] == "fixed"
    assert by_stage["pte"].output_sha256 == read_pte(program.pte).sha256


def test_warm_lowering_imports_no_compiler(programs: Programs, lowering_cache: Path) -> None:
    programs("acos", 8, "fixed")
    script = (
        "import sys\nfrom corstone.lowering import LowerRequest, lower\n"
        "program = lower(LowerRequest('acos'))\n"
        "heavy = {'torch', 'executorch', 'ethosu', 'torchao', 'tosa_reference_model'} & set(sys.modules)\n"
        "assert not heavy, heavy\nprint(program.pte)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert Path(ended.stdout.strip()) == programs("acos", 8, "fixed").pte


def test_what_a_program_was_made_of_decides_whether_it_is_made_again(empty_cache: Path, tmp_path: Path) -> None:
    files = {name: write_network(tmp_path / name) for name in ("comment", "sibling", "weights")}
    calibration = ((np.ones((1, 8), np.float32),),)
    requests = {
        name: LowerRequest(f"{file}:Net", shapes=((1, 8),), calibration=calibration) for name, file in files.items()
    }
    requests["damaged"] = LowerRequest("acos", shapes=((4,),))
    before = all_made(requests)
    bytes_before = {name: program.pte.read_bytes() for name, program in before.items()}
    assert before["comment"].network == "Net"
    rows = json.loads((before["comment"].pte.parent / "operators.json").read_text())
    (acos,) = [row for row in rows if row["target"] == "aten.acos.default"]
    assert acos["inputs"][0]["scale"] == 2 / 2**8

    files["comment"].write_text(NET + "# a comment\n")
    (files["sibling"].parent / "siblings.py").write_text("FACTOR = 3.0\n")
    np.save(files["weights"].parent / "weights.npy", np.linspace(0.2, 0.5, 8, dtype=np.float32))
    whole = bytes_before["damaged"]
    before["damaged"].pte.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    after = all_made(requests)

    assert after["comment"].pte == before["comment"].pte, "a comment makes no other program"
    for changed in ("sibling", "weights"):
        assert after[changed].pte.read_bytes() != bytes_before[changed], f"{changed} is a part of the network"
    assert after["damaged"].pte == before["damaged"].pte
    assert after["damaged"].pte.read_bytes() == whole
    assert program_store().damage(after["damaged"].pte.parent, thorough=True) is None


def test_each_failure_is_told_by_itself_and_leaves_the_others(empty_cache: Path, tmp_path: Path) -> None:
    file = write_network(tmp_path / "net")
    (tmp_path / "broken.py").write_text("import torch\nclass Net(torch.nn.Module:\n")
    eight = ((1, 8),)
    bad, left, outside, *refused = lower_all(
        [
            LowerRequest(f"{file}:Bad", shapes=eight),
            LowerRequest(f"{file}:Left"),
            LowerRequest(f"{file}:Outside"),
            LowerRequest(f"{file}:Absent", shapes=eight),
            LowerRequest(f"{file}:NOT_A_MODULE", shapes=eight),
            LowerRequest("nothing"),
            LowerRequest(f"{tmp_path / 'broken.py'}:Net", shapes=eight),
            LowerRequest(f"{file}:Net"),
        ]
    )
    assert isinstance(bad, StageError)
    assert "the stage 'export' failed" in bad.message
    assert "this network cannot be exported" in bad.message

    assert isinstance(left, Program), left
    words = " ".join(left.notes)
    assert "2 delegates" in words
    assert "aten.fmod" in words
    assert len(left.tosa) == len(read_pte(left.pte).ethos_u) == 2

    assert isinstance(outside, ConfigError), outside
    assert "asin answers nan at [0, 1], where its input is 2 (1 of 4 elements)" in outside.message
    assert "outside its domain" in outside.message

    expected = ("has no attribute 'Absent'", "expected an nn.Module", "no such network", "SyntaxError")
    for error, text in zip(refused, expected, strict=False):
        assert isinstance(error, ConfigError)
        assert text in error.message
        assert error.exit_code == 2
    own_inputs = refused[-1]
    assert isinstance(own_inputs, Program), own_inputs
    assert own_inputs.inputs[0].shape == (1, 8)
