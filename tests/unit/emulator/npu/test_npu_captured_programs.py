"""Every program that ExecuTorch's Arm suite was seen to compile, on the model: 945 delegates, each bit equal."""

from __future__ import annotations

import lzma
import tarfile
from pathlib import Path

import pytest

from corstone.emulator.npu.corpus import cases, check

ARCHIVE = Path(__file__).parents[5] / "shared" / "corpus" / "programs-dev.tar.xz"
pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not ARCHIVE.is_file(), reason="the captured programs are not beside the project"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("programs")
    with lzma.open(ARCHIVE) as data, tarfile.open(fileobj=data) as archive:
        archive.extractall(where, filter="data")
    return next(where.glob("**/index.json")).parent


@pytest.mark.parametrize(("target", "count"), [("u55-128", 406), ("u85-128", 539)])
def test_every_captured_program_is_equal(folder: Path, target: str, count: int) -> None:
    chosen = [case for case in cases(folder) if case.target == target]
    problems = {case.id: problem for case in chosen if (problem := check(case))}
    assert len(chosen) == count
    assert problems == {}
