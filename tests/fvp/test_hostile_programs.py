"""A program whose names are paths and terminal escapes boots, or is refused, and leaves nothing outside its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from corstone.errors import ConfigError, ToolError
from corstone.pipeline import run_program

ACOS = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
INPUT = np.linspace(-1, 1, 256, dtype=np.float32).tobytes()


@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")
@pytest.mark.parametrize("runner", ["corstone-300", "arm-executorch-u55"])
@pytest.mark.parametrize("name", [b"forward", b"quantized_decomposed::quantize_per_tensor", b"EthosUBackend"])
def test_names_in_a_program_are_no_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runner: str, name: bytes
) -> None:
    outside = tmp_path / "outside"
    here = outside / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    data = ACOS.read_bytes()
    assert name in data
    evil = (b"../../x\x1b[2J$(touch x)" + b"/../x" * 20)[: len(name)]
    pte = here / "evil.pte"
    pte.write_bytes(data.replace(name, evil))
    (here / "input.bin").write_bytes(INPUT)
    try:
        capture = run_program(pte, [here / "input.bin"], here / "out", provider="emulator", runner=runner)
    except ToolError as missing:
        pytest.skip(f"no image to boot: {missing}")
    except ConfigError as refused:
        assert str(refused)
    else:
        assert {path.name for path in capture.folder.iterdir()} <= {
            "capture.json", "console.log", "program.json", "in-0.bin", "out-0.bin"
        }  # fmt: skip
    assert {path.name for path in here.iterdir()} <= {"evil.pte", "input.bin", "out"}
    assert [path.name for path in outside.iterdir()] == ["here"]
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
