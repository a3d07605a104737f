"""Captured programs of ExecuTorch's suite through whole boots on both boards, bits as expected.

One program of each kind: a convolution, a table, pooling, an integer shift, an input that is None. Both runners of
Corstone-300 must give the same bits. Every program's delegate is run without a board in
``test_npu_captured_programs``.
"""

from __future__ import annotations

import json
import lzma
import tarfile
from pathlib import Path

import pytest

from corstone.causes import Outcome
from corstone.errors import ConfigError
from corstone.formats.pte import read_pte
from corstone.pipeline import run_program

ARCHIVE = Path(__file__).parents[3] / "shared" / "corpus" / "programs-dev.tar.xz"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not ARCHIVE.is_file(), reason="the captured programs are not beside the project"),
]
OPERATORS = ("conv2d", "sigmoid", "max_pool2d", "sum")
NONE_INPUT = {"u55-128": "div-01e28adbe1", "u85-128": "div-b058d0fcb3"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("programs")
    with lzma.open(ARCHIVE) as data, tarfile.open(fileobj=data) as archive:
        archive.extractall(where, filter="data")
    return next(where.glob("**/index.json")).parent


def _chosen(folder: Path, target: str) -> list[Path]:
    rows = [row for row in json.loads((folder / "index.json").read_text())["cases"] if row["target"] == target]
    plain = [row for row in rows if row["tosa"] == "ok"]
    first = {row["operator"]: folder / row["dir"] for row in reversed(plain)}
    return [*(first[name] for name in OPERATORS if name in first), folder / target / NONE_INPUT[target]]


def _tensors_only(case: Path) -> bool:
    pte = read_pte(case / "program.pte")
    return all(pte.values[index].kind == "tensor" for index in pte.inputs)


def _numbered(case: Path, stem: str) -> list[Path]:
    return [case / f"{stem}-{n}.bin" for n in range(len(list(case.glob(f"{stem}-[0-9]*.bin"))))]


def _problem(case: Path, runner: str, out: Path) -> str:
    capture = run_program(case / "program.pte", _numbered(case, "input"), out, provider="emulator", runner=runner)
    if capture.ending.outcome is not Outcome.PASSED:
        return f"{case.name}: {capture.ending.outcome}: {capture.ending.message}"
    expected = [path.read_bytes() for path in _numbered(case, "tosa-program")]
    got = [(out / f"out-{n}.bin").read_bytes() for n in range(len(expected))]
    return "" if expected and got == expected else f"{case.name}: other bits"


@pytest.mark.parametrize(("runner", "target"), [("corstone-300", "u55-128"), ("corstone-320", "u85-128")])
def test_programs_of_each_kind_with_our_runner(folder: Path, runner: str, target: str, tmp_path: Path) -> None:
    cases = _chosen(folder, target)
    assert len(cases) >= 4
    problems = [_problem(case, runner, tmp_path / case.name) for case in cases]
    assert [p for p in problems if p] == []


def test_the_same_programs_with_arms_image(folder: Path, tmp_path: Path) -> None:
    *cases, none_input = _chosen(folder, "u55-128")
    cases = [case for case in cases if _tensors_only(case)]
    assert len(cases) >= 2
    problems = [_problem(case, "arm-executorch-u55", tmp_path / case.name) for case in cases]
    assert [p for p in problems if p] == []
    # That image sets tensors only; it is refused before the boot, not after it crashed.
    with pytest.raises(ConfigError, match="no tensors"):
        _problem(none_input, "arm-executorch-u55", tmp_path / none_input.name)
