"""Calibration sets of one's own: brought by the source, as a file, or from Python; what is wrong with one is said."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from corstone.errors import ConfigError, HarnessError
from corstone.lowering import LowerRequest, lower_all
from corstone.pipeline import CheckRequest, build
from corstone.pipeline.calibration import read_calibration, write_calibration
from corstone.pipeline.path import lower_request
from corstone.program import Program

SOURCE = """
import torch

class Brings(torch.nn.Module):
    example_inputs = (torch.linspace(-1, 1, 8).reshape(1, 8),)
    calibration_inputs = [(torch.linspace(-1, 1, 8).reshape(1, 8),), (torch.linspace(-4, 4, 8).reshape(1, 8),)]
    def forward(self, x):
        return x + x

class Plain(torch.nn.Module):
    example_inputs = (torch.linspace(-1, 1, 8).reshape(1, 8),)
    def forward(self, x):
        return x + x

class Misfit(Plain):
    calibration_inputs = [(torch.zeros(1, 9),)]

class Nothing(Plain):
    calibration_inputs = []
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program | HarnessError]:
    """All lowered in one child."""
    folder = tmp_path_factory.mktemp("calibration")
    path = folder / "mine.py"
    path.write_text(SOURCE)
    wide = write_calibration([np.full((1, 8), v, np.float32) for v in (-16, 16)], folder, "wide")
    other = write_calibration([np.zeros((1, 7), np.float32)], folder, "other")
    requests = {
        "brings": LowerRequest(f"{path}:Brings"),
        "plain": LowerRequest(f"{path}:Plain"),
        "misfit": LowerRequest(f"{path}:Misfit"),
        "nothing": LowerRequest(f"{path}:Nothing"),
        "file": lower_request(CheckRequest(f"{path}:Brings", calibration=wide)),
        "other": lower_request(CheckRequest(f"{path}:Plain", calibration=other)),
    }
    return dict(zip(requests, lower_all(list(requests.values())), strict=True))


@pytest.mark.parametrize(("case", "reach"), [("plain", 1.0), ("brings", 4.0), ("file", 16.0)])
def test_the_input_scale_covers_what_was_calibrated_on(
    made: dict[str, Program | HarnessError], case: str, reach: float
) -> None:
    program = made[case]
    assert isinstance(program, Program), program
    (qparams,) = program.input_qparams
    assert qparams is not None
    assert 255 * qparams.scale == pytest.approx(2 * reach, rel=0.02)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("misfit", r"calibration set 0 is float32\[1, 9\], the network's inputs are float32\[1, 8\]"),
        ("nothing", "hold no set of tensors"),
        ("other", r"calibration set 0 is float32\[1, 7\]"),
    ],
)
def test_sets_that_do_not_fit_are_refused(made: dict[str, Program | HarnessError], case: str, words: str) -> None:
    error = made[case]
    assert isinstance(error, HarnessError)
    with pytest.raises(HarnessError, match=words):
        raise error


def test_a_file_comes_back_as_it_was_given(tmp_path: Path) -> None:
    sets = [(np.full((2, 3), i, np.float32), np.full(4, -i, np.int32)) for i in range(5)]
    path = write_calibration(sets, tmp_path, "net")
    assert path == write_calibration(sets, tmp_path, "net")
    back = read_calibration(path)
    assert len(back) == 5
    for given, found in zip(sets, back, strict=True):
        assert all(np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(given, found, strict=True))
    np.save(tmp_path / "one.npy", np.zeros((3, 1, 8), np.float32))
    assert [s[0].shape for s in read_calibration(tmp_path / "one.npy")] == [(1, 8)] * 3


def test_damaged_files_are_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    with pytest.raises(ConfigError, match=r"cannot read calibration inputs from .*bad\.npz"):
        read_calibration(path)
    np.savez(tmp_path / "whole.npz", np.zeros((2, 3), np.float32))
    whole = (tmp_path / "whole.npz").read_bytes()
    for data in (b"", b"PK\x03\x04", b"text", whole[: len(whole) // 2]):
        path.write_bytes(data)
        with pytest.raises(ConfigError, match=r"bad\.npz"):
            read_calibration(path)
    np.savez(path, np.zeros((2, 3)), np.zeros((3, 3)))
    with pytest.raises(ConfigError, match="different numbers of sets for its 2 inputs: 2, 3"):
        read_calibration(path)
    np.savez(path, np.zeros(()))
    with pytest.raises(ConfigError, match="no calibration set"):
        read_calibration(path)
    np.savez(path, np.array(["a", "b"]))
    with pytest.raises(ConfigError, match="no real numbers"):
        read_calibration(path)


def test_sets_of_different_shapes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="agree in shape and dtype, got 2 kinds in 2 sets"):
        write_calibration([np.zeros(3), np.zeros(4)], tmp_path, "net")
    with pytest.raises(ConfigError, match="got 0 kinds in 0 sets"):
        write_calibration([], tmp_path, "net")


def test_the_command_that_runs_it_again_names_the_file(tmp_path: Path) -> None:
    request = CheckRequest("net.py:Net", calibration=tmp_path / "sets of mine.npz")
    words = shlex.split(request.repro(None))
    assert words[words.index("--calibration") + 1] == str(tmp_path / "sets of mine.npz")


def test_another_file_is_another_case_for_the_cache(tmp_path: Path) -> None:
    from corstone.lowering.keys import source_key

    keys = set()
    for reach in (1, 2):
        path = write_calibration([np.full((1, 8), reach, np.float32)], tmp_path, "net")
        request = lower_request(CheckRequest("acos", calibration=path))
        keys.add(source_key(request, request.check()))
    assert len(keys) == 2


def test_a_live_module_takes_its_sets_from_python() -> None:
    import torch

    module = torch.nn.ReLU6()
    example = torch.linspace(-1, 1, 8).reshape(1, 8)
    program = build(module, (example,), calibration=[example, example * 5])
    (qparams,) = program.input_qparams
    assert qparams is not None
    assert 255 * qparams.scale == pytest.approx(10, rel=0.02)
