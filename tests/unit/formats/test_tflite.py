"""A ``.tflite`` that Vela wrote: what is read of it, and what the commands say to somebody who gives one."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from corstone.causes import Cause
from corstone.cli import main
from corstone.errors import ConfigError
from corstone.formats.pte import read_pte
from corstone.formats.tflite import read_tflite

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """acos for a U65 with 256 MACs."""
    vela = Path(sys.executable).with_name("vela")
    if not vela.exists():
        pytest.skip("Vela is not installed")
    folder = tmp_path_factory.mktemp("vela")
    command = [str(vela), str(DATA / "acos-int8.tosa"), "--accelerator-config", "ethos-u65-256"]
    done = subprocess.run([*command, "--output-dir", str(folder)], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "acos-int8_vela.tflite"


def test_tensors_and_target(model: Path) -> None:
    found = read_tflite(model.read_bytes())
    assert found.target.name == "ethos-u65-256"
    assert [(s.dtype, s.count) for s in (*found.inputs, *found.outputs)] == [("int8", 256), ("int8", 256)]


def test_a_damaged_one_is_refused_in_words(model: Path) -> None:
    data = model.read_bytes()
    seeded = random.Random(5)
    for _ in range(300):
        changed = bytearray(data[: seeded.randrange(9, len(data))])
        for _ in range(3):
            changed[seeded.randrange(8, len(changed))] = seeded.randrange(256)
        try:
            _ = read_tflite(bytes(changed)).target
        except ConfigError as error:
            assert ".tflite" in error.message or "delegate" in error.message
    with pytest.raises(ConfigError, match="not a usable"):
        read_tflite(data[:40])


def test_the_reader_of_programs_names_it(model: Path) -> None:
    with pytest.raises(ConfigError, match="TensorFlow Lite") as refused:
        read_pte(model)
    assert refused.value.cause is Cause.BAD_PROGRAM
    assert "--runner-elf" in refused.value.hint


def test_commands_say_whose_it_is(model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.bin").write_bytes(bytes(256))
    run = ["run", str(model), "-i", str(tmp_path / "in.bin"), "-o", str(tmp_path / "out"), "--provider", "emulator"]
    for command in (["preflight", str(model)], run):
        assert main(command) == 2
        said = capfd.readouterr()
        assert "TensorFlow Lite model" in said.out + said.err
        assert "mlia-ethos-u" in said.out + said.err


def test_an_input_without_an_end_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = DATA / "acos-int8-u55-128.pte"
    assert main(["run", str(program), "-i", "/dev/zero", "-o", str(tmp_path / "out"), "--provider", "emulator"]) == 2
    assert "/dev/zero has 1025 or more: it is too long" in capfd.readouterr().err
