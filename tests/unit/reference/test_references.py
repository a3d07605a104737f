"""The references on lowered programs: every code, every operator, and what each says when it cannot answer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.conftest import NETWORKS, Programs

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.reference import Status
from corstone.lowering import LowerRequest, lower
from corstone.program import Program
from corstone.reference import domain_findings, operators_of, references, table, tosa
from corstone.reference.answers import answers
from corstone.reference.graph import parse_graph, read_graph
from corstone.reference.operators import Unpredictable
from corstone_models.stimuli import stimulus_sets


def every_code(bits: int) -> Any:
    return np.arange(-(1 << bits - 1), 1 << bits - 1).astype({8: np.int8, 16: np.int16}[bits])


def acos(x: Any) -> Any:
    """Codes of an observer reach outside the domain; there is no value there."""
    with np.errstate(invalid="ignore"):
        return np.arccos(x.astype(np.float64))


def every_value(program: Program) -> tuple[Any, ...]:
    ((inputs),) = stimulus_sets("codes", program)
    return inputs


@pytest.mark.parametrize("policy", ["fixed", "observer"])
@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("network", NETWORKS)
def test_table_is_the_tosa_reference_model_on_every_code(
    programs: Programs, network: str, bits: int, policy: str
) -> None:
    path = programs(network, bits, policy).tosa[0]
    codes = every_code(bits)
    ours = table.run(read_graph(path), [codes]).outputs[0]
    theirs = tosa.run(path, [codes])[0]
    assert ours.size == 1 << bits
    assert ours.dtype == theirs.dtype
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("bits", [8, 16])
def test_whole_program_references_agree_and_keep_the_delegate_calls(programs: Programs, bits: int) -> None:
    program = programs("acos", bits, "fixed")
    found = answers(program, every_value(program))
    names = ("table", "tosa", "float", "fake-quantized")
    assert {name: a.result.status for name, a in found.items()} == dict.fromkeys(names, Status.OK)
    table_answer, tosa_answer, real = found["table"], found["tosa"], found["float"]
    (output,) = table_answer.result.outputs
    assert output.dtype == np.float32
    assert output.shape == program.outputs[0].shape
    assert output.tobytes() == tosa_answer.result.outputs[0].tobytes()
    (call,) = table_answer.calls
    assert call.inputs[0].dtype == every_code(bits).dtype
    taken = program.output_qparams[0]
    assert taken is not None
    steps = (call.outputs[0].astype(np.float32) - taken.zero_point) * np.float32(taken.scale)
    assert np.array_equal(steps.reshape(output.shape), output)
    assert real.result.outputs[0].dtype == np.float64
    (x,) = every_value(program)
    assert np.array_equal(real.result.outputs[0], acos(x), equal_nan=True)


def test_float_and_fake_quantized_of_a_graph_come_from_the_child(programs: Programs, tmp_path: Path) -> None:
    program = programs("acos", 8, "fixed")
    # As a program of one's own, and of an operator that numpy does not know: only torch can answer.
    folder = Path(shutil.copytree(program.pte.parent, tmp_path / "own"))
    own = replace(program, source="", pte=folder / program.pte.name)
    (folder / "operators.json").write_text("[{}, {}]")
    inputs = every_value(program)
    found = references(own, inputs, ("table", "float", "fake-quantized"))
    assert found["float"].outputs[0].dtype == np.float64
    assert np.allclose(found["float"].outputs[0], acos(inputs[0]), rtol=0, atol=1e-12, equal_nan=True)
    # int8 tables hold what the quantized module computes.
    assert np.array_equal(found["fake-quantized"].outputs[0], found["table"].outputs[0])


def test_fake_quantized_of_one_operator_is_made_in_numpy_as_torch_would(programs: Programs) -> None:
    program = programs("acos", 8, "fixed")
    inputs = every_value(program)
    found = references(program, inputs, ("fake-quantized",))["fake-quantized"]
    assert found.version.startswith("numpy")
    assert np.array_equal(found.outputs[0].astype(np.float32), torch_answer(program, inputs))


def torch_answer(program: Program, inputs: Sequence[Any]) -> Any:
    """The saved quantized graph, run by torch in this process."""
    import torch
    import torch.ao.quantization.fx._decomposed

    graph = torch.export.load(program.pte.parent / "quantized.pt2").module()
    return graph(*(torch.from_numpy(x) for x in inputs)).numpy()


@pytest.mark.usefixtures("lowering_cache")
def test_fake_quantized_of_several_operators_is_kept_and_needs_no_torch_again(monkeypatch: pytest.MonkeyPatch) -> None:
    program = lower(LowerRequest("orientation"))
    rng = np.random.default_rng(0)
    inputs = [rng.uniform(-1, 1, spec.shape).astype(np.float32) for spec in program.inputs]
    first = references(program, inputs)["fake-quantized"]
    assert (first.status, first.version.split()[0]) == (Status.OK, "torch")
    assert np.array_equal(first.outputs[0], torch_answer(program, inputs))

    def no_child(*_: object) -> None:
        raise AssertionError("a child was started for inputs that were evaluated before")

    monkeypatch.setattr("corstone.reference.floating.run_jobs", no_child)
    again = references(program, inputs)["fake-quantized"]
    assert np.array_equal(first.outputs[0], again.outputs[0])


@pytest.mark.usefixtures("lowering_cache")
def test_a_graph_that_is_missing_is_named(tmp_path: Path) -> None:
    program = lower(LowerRequest("orientation"))
    shutil.copy(program.pte, tmp_path)
    inputs = [np.zeros(spec.shape, np.float32) for spec in program.inputs]
    elsewhere = replace(program, pte=tmp_path / program.pte.name)
    found = references(elsewhere, inputs, ("fake-quantized",))["fake-quantized"]
    assert found.status is Status.UNAVAILABLE
    assert "came without quantized.pt2" in found.message


def test_zeros_are_answered_like_anything_else(programs: Programs) -> None:
    program = programs("asin", 8, "fixed")
    found = references(program, (np.zeros(256, np.float32),))
    for result in found.values():
        assert result.status is Status.OK
        assert not result.outputs[0].any()


def steep(program: Program, folder: Path) -> Program:
    """The program with a table that jumps by 65,535 from one node to the next."""
    path = folder / "steep.tosa"
    graph = read_graph(program.tosa[0])
    (name,) = [op.inputs[1] for op in graph.ops if op.name == "TABLE"]
    nodes = graph.constant(name)
    changed = nodes.copy()
    changed[100], changed[101] = -32768, 32767
    data = program.tosa[0].read_bytes()
    assert data.count(nodes.tobytes()) == 1
    path.write_bytes(data.replace(nodes.tobytes(), changed.tobytes()))
    return replace(program, tosa=(path,))


def test_both_references_call_a_slope_outside_int16_unpredictable(programs: Programs, tmp_path: Path) -> None:
    program = steep(programs("acos", 16, "fixed"), tmp_path)
    with pytest.raises(Unpredictable, match="slope"):
        table.run(read_graph(program.tosa[0]), [every_code(16)])
    for _ in range(2):  # the second time from the cache
        with pytest.raises(Unpredictable, match="TOSA_UNPREDICTABLE"):
            tosa.run(program.tosa[0], [every_code(16)])
    found = references(program, every_value(program), ("table", "tosa"))
    assert {r.status for r in found.values()} == {Status.UNPREDICTABLE}


def test_a_program_without_its_graph_has_no_exact_reference(programs: Programs) -> None:
    program = replace(programs("acos", 8, "fixed"), tosa=())
    found = references(program, every_value(program))
    assert found["table"].status is found["tosa"].status is Status.UNAVAILABLE
    assert "without its TOSA graph" in found["table"].message
    assert found["float"].status is Status.OK


def test_unknown_references_are_refused(programs: Programs) -> None:
    with pytest.raises(ConfigError, match="no such reference"):
        references(programs("acos", 8, "fixed"), (), ("golden",))


@pytest.mark.parametrize("wrong", ["count", "shape", "dtype"])
def test_inputs_that_do_not_fit_are_an_error_of_the_reference(programs: Programs, wrong: str) -> None:
    program = programs("acos", 8, "fixed")
    inputs: tuple[Any, ...] = {
        "count": (),
        "shape": (np.zeros(255, np.float32),),
        "dtype": (np.zeros(256, np.float64),),
    }[wrong]
    result = references(program, inputs, ("table",))["table"]
    assert result.status is Status.ERROR
    assert "the program" in result.message


def test_a_graph_cut_anywhere_is_refused_by_name(programs: Programs) -> None:
    data = programs("acos", 8, "fixed").tosa[0].read_bytes()
    for size in range(0, len(data), 64):
        with pytest.raises(ConfigError) as error:
            parse_graph(data[:size])
        assert error.value.cause is Cause.BAD_PROGRAM
    with pytest.raises(ConfigError, match="bytes 4-7"):
        parse_graph(data[:4] + b"ASOT" + data[8:])


def test_a_damaged_answer_of_the_model_is_computed_again(programs: Programs, empty_cache: Path) -> None:
    path = programs("acos", 8, "fixed").tosa[0]
    first = tosa.run(path, [every_code(8)])[0]
    (kept,) = empty_cache.glob("lowering/tosa/*/*/out-0.npy")
    kept.write_bytes(kept.read_bytes()[:-1] + b"\x55")
    assert np.array_equal(tosa.run(path, [every_code(8)])[0], first)
    shutil.rmtree(empty_cache)


@pytest.mark.parametrize("network", NETWORKS)
def test_findings_name_codes_outside_the_domain(programs: Programs, network: str) -> None:
    for bits in (8, 16):
        program = programs(network, bits, "fixed")
        assert domain_findings(program, every_value(program)) == ()
    int8, int16 = programs(network, 8, "observer"), programs(network, 16, "observer")
    (finding,) = domain_findings(int8, every_value(int8))
    assert finding.fatal
    assert "1 input codes from -128" in finding.message
    (finding,) = domain_findings(int16, every_value(int16))
    assert finding.fatal
    assert "254 input codes" in finding.message
    (harmless,) = domain_findings(int8, (np.zeros(256, np.float32),))
    assert not harmless.fatal


@pytest.fixture
def users_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own that has the tools of the user's cache in it."""
    users = Path(os.environ.get("CORSTONE_CACHE", Path.home() / ".cache" / "corstone"))
    mine = tmp_path / "tools"
    mine.mkdir()
    for entry in users.iterdir() if users.is_dir() else ():
        if entry.name != "lowering":
            (mine / entry.name).symlink_to(entry)
    monkeypatch.setenv("CORSTONE_CACHE", str(mine))


def test_vgf_is_a_third_opinion_where_its_tools_are(
    users_tools: None, lowered: dict[tuple[str, int, str], Program]
) -> None:
    program = lowered["acos", 8, "fixed"]
    found = references(program, every_value(program), ("table", "vgf"))
    if found["vgf"].status is Status.UNAVAILABLE:
        pytest.skip(f"no VGF tools: {found['vgf'].message.splitlines()[0]}")
    assert found["vgf"].outputs[0].tobytes() == found["table"].outputs[0].tobytes()


def test_a_reference_whose_tools_are_missing_is_unavailable(
    programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = programs("acos", 8, "fixed")
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path))
    result = references(program, every_value(program), ("vgf",))["vgf"]
    assert result.status is Status.UNAVAILABLE


def test_operators_of_a_program(programs: Programs) -> None:
    assert operators_of(programs("acos", 8, "fixed")) == (("RESCALE", "int8"), ("TABLE", "int8"))
