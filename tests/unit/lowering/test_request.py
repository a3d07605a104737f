"""What a request refuses before anything is started, and how sources are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.lowering import LowerRequest
from corstone.lowering.keys import program_key, source_key
from corstone.lowering.request import parse_source


def test_kinds_of_source(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.touch()
    exported = tmp_path / "Mine.pt2"
    exported.touch()
    assert parse_source("acos").kind == "network"
    assert parse_source("package.module:Net").kind == "module"
    ref = parse_source(f"{file}:Net")
    assert (ref.kind, ref.where, ref.attribute, ref.label) == ("file", str(file), "Net", "Net")
    ref = parse_source(str(exported))
    assert (ref.kind, ref.label, ref.text) == ("exported", "Mine", "exported:Mine.pt2")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("cosine", "no such network"),
        ("missing.py:Net", "no file missing.py"),
        ("missing.pt2", "no file missing.pt2"),
        ("module:", "expected module:attribute"),
        ("module:not an attribute", "expected module:attribute"),
    ],
)
def test_bad_sources(source: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        LowerRequest(source).check()


def test_unknown_target_lists_those_there_are() -> None:
    with pytest.raises(ConfigError) as error:
        LowerRequest("acos", target="ethos-u99-1").check()
    assert "ethos-u55-128" in str(error.value)
    assert error.value.cause in {Cause.CONFIGURATION, Cause.WRONG_TARGET}


def test_unknown_policy_and_width_are_refused() -> None:
    with pytest.raises(ConfigError, match="policy"):
        LowerRequest("acos", policy="best").check()
    with pytest.raises(ConfigError, match="width"):
        LowerRequest("acos", bits=12).check()


def test_named_networks_bring_inputs_and_calibration() -> None:
    request = LowerRequest("atanh", bits=16)
    ref = request.check()
    (example,) = request.example_inputs(ref)
    ((calibration,),) = request.calibration_sets(ref)
    assert example.shape == calibration.shape == (256, 256)
    assert np.abs(calibration).max() < 1
    shaped = LowerRequest("acos", shapes=((2, 3, 4),))
    assert shaped.calibration_sets(ref)[0][0].shape == (2, 3, 4)


def test_whatever_decides_the_program_is_in_the_keys(empty_cache: Path) -> None:
    base = LowerRequest("acos")
    ref = base.check()
    others = [
        LowerRequest("acos", bits=16),
        LowerRequest("acos", policy="observer"),
        LowerRequest("acos", target="ethos-u55-256"),
        LowerRequest("acos", memory_mode="Sram_Only"),
        LowerRequest("acos", vela_flags=("--optimise=Size",)),
        LowerRequest("acos", shapes=((3,),)),
        LowerRequest("acos", calibration=((np.zeros(256, np.float32),),)),
        LowerRequest("acos", seed=1),
    ]
    keys = {source_key(request, ref) for request in (base, *others)}
    assert len(keys) == len(others) + 1
    assert source_key(LowerRequest("acos"), ref) == source_key(base, ref)
    graphs = {program_key(graph, base, ref) for graph in ("a", "b")}
    assert len(graphs) == 2


def test_time_limit_is_not_in_the_key(empty_cache: Path) -> None:
    ref = LowerRequest("acos").check()
    assert source_key(LowerRequest("acos", timeout_s=1), ref) == source_key(LowerRequest("acos"), ref)
