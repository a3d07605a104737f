"""Lowering end to end: what a program carries, when it is made again, and that a warm run stays light."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from tests.unit.conftest import NETWORKS, Programs

from corstone.errors import ConfigError, HarnessError, StageError
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

NOT_A_MODULE = 5
'''


@dataclass
class Rounds:
    """Results by name of two batches: the second after files were changed and a program was damaged."""

    first: dict[str, Program | HarnessError]
    second: dict[str, Program | HarnessError]
    damaged: bytes


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Rounds:
    """Two children make all of this; each start costs seconds."""
    base = tmp_path_factory.mktemp("networks")
    folders = {name: base / name for name in ("comment", "sibling", "weights", "failing")}
    for folder in folders.values():
        folder.mkdir()
        (folder / "net.py").write_text(NET)
        (folder / "siblings.py").write_text("FACTOR = 2.0\n")
        np.save(folder / "weights.npy", np.linspace(0.1, 0.4, 8, dtype=np.float32))
    (base / "broken.py").write_text("import torch\nclass Net(torch.nn.Module:\n")
    failing = folders["failing"] / "net.py"
    eight = ((1, 8),)
    requests = {
        name: LowerRequest(
            f"{folders[name] / 'net.py'}:Net", calibration=((np.ones((1, 8), np.float32),),), shapes=eight
        )
        for name in ("comment", "sibling", "weights")
    } | {
        "damaged": LowerRequest("acos", shapes=((4,),)),
        "bad": LowerRequest(f"{failing}:Bad", shapes=eight),
        "left": LowerRequest(f"{failing}:Left"),
        "absent": LowerRequest(f"{failing}:Absent", shapes=eight),
        "number": LowerRequest(f"{failing}:NOT_A_MODULE", shapes=eight),
        "unknown": LowerRequest("nothing"),
        "broken": LowerRequest(f"{base / 'broken.py'}:Net", shapes=eight),
        "left-u85": LowerRequest(f"{failing}:Left", target="ethos-u85-256"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CORSTONE_CACHE", str(base / "cache"))
        first = dict(zip(requests, lower_all(list(requests.values())), strict=True))
        (folders["comment"] / "net.py").write_text(NET + "# a comment\n")
        (folders["sibling"] / "siblings.py").write_text("FACTOR = 3.0\n")
        np.save(folders["weights"] / "weights.npy", np.linspace(0.2, 0.5, 8, dtype=np.float32))
        program = first["damaged"]
        assert isinstance(program, Program), program
        whole = program.pte.read_bytes()
        program.pte.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        again = {name: requests[name] for name in ("comment", "sibling", "weights", "damaged")}
        second = dict(zip(again, lower_all(list(again.values())), strict=True))
    return Rounds(first, second, whole)


def made(results: dict[str, Program | HarnessError], name: str) -> Program:
    result = results[name]
    assert isinstance(result, Program), result
    return result


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


def test_operators_of_a_network_of_ones_own_are_quantized_as_the_policy_says(rounds: Rounds) -> None:
    program = made(rounds.first, "comment")
    assert program.network == "Net"
    operators = {row["target"]: row for row in json.loads((program.pte.parent / "operators.json").read_text())}
    assert operators["aten.acos.default"]["inputs"][0]["scale"] == 2 / 2**8


def test_a_comment_makes_no_other_program(rounds: Rounds) -> None:
    assert made(rounds.second, "comment").pte == made(rounds.first, "comment").pte


@pytest.mark.parametrize("changed", ["sibling", "weights"])
def test_a_module_or_file_that_the_network_reads_is_a_part_of_it(rounds: Rounds, changed: str) -> None:
    assert made(rounds.second, changed).pte.read_bytes() != made(rounds.first, changed).pte.read_bytes()


def test_a_damaged_program_is_made_again(rounds: Rounds) -> None:
    program = made(rounds.second, "damaged")
    assert program.pte == made(rounds.first, "damaged").pte
    assert program.pte.read_bytes() == rounds.damaged
    assert program_store().damage(program.pte.parent, thorough=True) is None


def test_a_failure_names_its_stage_and_the_first_cause(rounds: Rounds) -> None:
    error = rounds.first["bad"]
    assert isinstance(error, StageError)
    assert "the stage 'export' failed" in error.message
    assert "this network cannot be exported" in error.message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("absent", "has no attribute 'Absent'"),
        ("number", "expected an nn.Module"),
        ("unknown", "no such network"),
        ("broken", "SyntaxError"),
    ],
)
def test_a_source_that_is_no_network_is_the_callers_error(rounds: Rounds, name: str, words: str) -> None:
    error = rounds.first[name]
    assert isinstance(error, ConfigError)
    assert words in error.message
    assert error.exit_code == 2


@pytest.mark.parametrize("name", ["left", "left-u85"])
def test_what_stays_on_the_cpu_is_said_in_words(rounds: Rounds, name: str) -> None:
    program = made(rounds.first, name)
    words = " ".join(program.notes)
    assert "2 delegates" in words
    assert "aten.fmod" in words
    assert len(program.tosa) == len(read_pte(program.pte).ethos_u) == 2
