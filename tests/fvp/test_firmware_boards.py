"""Our runner on the emulated boards: both transports, many runs a boot, bits, and the corpus of ExecuTorch's tests."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.firmware.corpus_sample import unpack_sample
from tests.unit.firmware.pte_maker import PteMaker, vela_blob

from corstone.errors import ToolError
from corstone.firmware.build import build
from corstone.firmware.command import FirmwareRun, command
from corstone.firmware.host_loader import HostLoader, build_host
from corstone.firmware.protocol import FirmwareLog, read_firmware

pytest.importorskip("ziglang", reason="ziglang builds the runner")

ACOS = Path(__file__).parents[1] / "data" / "acos-int8-u55-128.pte"
BOARDS = ("corstone-300", "corstone-320")
PREFIX = {"corstone-300": ("mps3_board", ""), "corstone-320": ("mps4_board", "mps4_board.subsystem.")}
TARGET = {"corstone-300": "u55-128", "corstone-320": "u85-128"}


def settings(board: str, *, semihosting: str | None, folder: Path, macs: int = 128) -> list[str]:
    """Simulator parameters; ``semihosting`` is the command line, None leaves it off."""
    outer, inner = PREFIX[board]
    pairs = [f"{inner}ethosu.num_macs={macs}", f"{outer}.uart0.out_file=-", f"{outer}.uart0.shutdown_on_eot=1"]
    if semihosting is not None:
        pairs += [
            f"{inner}cpu0.semihosting-enable=1",
            f"{inner}cpu0.semihosting-cwd={folder}",
            f"{inner}cpu0.semihosting-cmd_line={semihosting}",
        ]
    return [word for pair in pairs for word in ("-C", pair)]


def boot_runs(
    emulator: Callable[..., Any], board: str, runs: Sequence[FirmwareRun], folder: Path, compiler: str = "zig"
) -> FirmwareLog:
    line = command(runs, folder, canary=0xC0DE1234, quiet=len(runs) > 1)
    elf = build(board, compiler=compiler)
    words = ["-q", "--board", board, "-a", str(elf), "--timelimit", "100"]
    ran = emulator([*words, *settings(board, semihosting=line, folder=folder)], timeout=120)
    log = read_firmware(ran.out.encode())
    assert log.complete, (ran.status, ran.out[-2000:], ran.err[-2000:])
    assert ran.status == log.exit_code
    return log


def test_a_single_run_speaks_executorchs_protocol(emulator: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "program.pte").write_bytes(ACOS.read_bytes())
    (tmp_path / "i0.bin").write_bytes(np.linspace(-1, 1, 256, dtype=np.float32).tobytes())
    line = "executor_runner -m program.pte -o out -i i0.bin"
    words = ["--board", "corstone-300", "-a", str(build("corstone-300")), "--timelimit", "60"]
    ran = emulator([*words, *settings("corstone-300", semihosting=line, folder=tmp_path)])
    assert ran.status == 0
    for text in (
        "Method 'forward' loaded.",
        "Reading input tensor 0 from file i0.bin",
        "1 outputs: ",
        "Writing output to file: out-0.bin",
        "Ethos-U PMU report:",
        "Model run: 1",
        "Program complete, exiting.",
    ):
        assert text in ran.out
    # What ExecuTorch's own tests take for a failure.
    assert not [s for s in ran.out.splitlines() if s.startswith(("E ", "E:", "F ", "F:")) or "Hard fault" in s]
    output = np.fromfile(tmp_path / "out-0.bin", np.float32)
    assert output.shape == (256,)
    assert abs(output - np.arccos(np.linspace(-1, 1, 256))).max() < 0.2
    log = read_firmware(ran.out.encode())
    assert log.runs[0].outputs[0].matches((tmp_path / "out-0.bin").read_bytes())
    assert log.runs[0].cycles


def test_the_memory_transport_gives_the_same_bytes(emulator: Callable[..., Any], tmp_path: Path) -> None:
    data = np.linspace(-1, 1, 256, dtype=np.float32).tobytes()
    (tmp_path / "program.pte").write_bytes(ACOS.read_bytes())
    (tmp_path / "i0.bin").write_bytes(data)
    boot_runs(emulator, "corstone-300", [FirmwareRun("program.pte", ("i0.bin",))], tmp_path)
    words = ["-q", "--board", "corstone-300", "-a", str(build("corstone-300")), "--timelimit", "60"]
    words += ["--data", "program.pte@0x90000000", "--data", "i0.bin@0x92000000", "--dump", "dump.bin@0x93000000,1024"]
    ran = emulator([*words, *settings("corstone-300", semihosting=None, folder=tmp_path)])
    assert "1 output tensor/s worth 1024 bytes copied to 0x93000000" in ran.out
    assert "semihosting off" in ran.out
    log = read_firmware(ran.out.encode())
    assert log.complete
    assert (log.transport, log.exit_code) == ("memory", 0)
    assert (tmp_path / "dump.bin").read_bytes() == (tmp_path / "out-0.bin").read_bytes()


def specials() -> np.ndarray[Any, Any]:
    halves = np.arange(-200, 200, dtype=np.float32) + 0.5
    tiny = np.ldexp(np.float32(1), np.arange(-149, -100)).astype(np.float32)
    rest = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 3.4e38, -3.4e38], np.float32)
    noise = np.random.default_rng(5).normal(0, 30, 500).astype(np.float32)
    return np.concatenate([halves, tiny, -tiny, rest, noise])


def kernel_programs() -> list[tuple[bytes, list[bytes]]]:
    """Programs without a delegate, over values where float units differ: denormals, ties, infinities, NaN."""
    x = specials()
    count = len(x)
    made = []
    for scale, zero, dtype, number in ((0.1, 3, "int8", 1), (2.0**-126, 0, "int16", 2), (1 / 3, 0, "int32", 3)):
        m = PteMaker()
        a, codes, back = m.tensor("float32", (count,)), m.tensor(dtype, (count,)), m.tensor("float32", (count,))
        info = np.iinfo(dtype)
        args = [m.double(scale), *(m.integer(v) for v in (zero, int(info.min), int(info.max), number))]
        m.kernel("quantized_decomposed::quantize_per_tensor", "out", [a, *args, codes, codes])
        m.kernel("quantized_decomposed::dequantize_per_tensor", "out", [codes, *args, m.null(), back, back])
        m.inputs, m.outputs = [a], [codes, back]
        made.append((m.build(), [x.tobytes()]))
    m = PteMaker()
    a, b = m.tensor("float32", (30, 31)), m.tensor("float32", (31, 30))
    product, mask, out = m.tensor("float32", (30, 30)), m.tensor("bool", (30, 30)), m.tensor("float32", (30, 30))
    m.kernel("aten::mm", "out", [a, b, product, product])
    m.kernel("aten::lt", "Tensor_out", [product, product, mask, mask])
    m.kernel("aten::where", "self_out", [mask, product, product, out, out])
    whole, wide = m.tensor("int8", (30, 30)), m.tensor("int64", (30, 30))
    for target in (whole, wide):
        m.kernel(
            "dim_order_ops::_to_dim_order_copy", "out", [product, m.boolean(False), m.int_list([0, 1]), target, target]
        )
    m.inputs, m.outputs = [a, b], [product, mask, out, whole, wide]
    rng = np.random.default_rng(6)
    matrices = [rng.normal(0, 1e-18, (30, 31)), rng.normal(0, 1e-18, (31, 30)) * 1e-6]
    made.append((m.build(), [matrix.astype(np.float32).tobytes() for matrix in matrices]))
    return made


@pytest.mark.parametrize(
    ("board", "compiler"), [("corstone-300", "zig"), ("corstone-320", "zig"), ("corstone-300", "gcc")]
)
def test_kernels_give_the_hosts_bits_on_the_device(
    emulator: Callable[..., Any], tmp_path: Path, board: str, compiler: str
) -> None:
    if compiler == "gcc" and shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    try:
        executable = build_host()
    except ToolError as error:
        pytest.skip(f"no compiler for the host: {error.message}")
    runs = []
    expected = []
    with HostLoader(executable) as loader:
        for number, (program, inputs) in enumerate(kernel_programs()):
            (tmp_path / f"p{number}.pte").write_bytes(program)
            names = tuple(f"p{number}-i{index}.bin" for index in range(len(inputs)))
            for name, data in zip(names, inputs, strict=True):
                (tmp_path / name).write_bytes(data)
            runs.append(FirmwareRun(f"p{number}.pte", names, f"o{number}"))
            result = loader.run(program, inputs)
            assert result.code == 0, result.text
            expected.append([output.data for output in result.outputs])
    log = boot_runs(emulator, board, runs, tmp_path, compiler)
    for run, item, wanted in zip(runs, log.runs, expected, strict=True):
        assert item.code == 0, item.text
        for index, data in enumerate(wanted):
            assert (tmp_path / run.output_name(index)).read_bytes() == data, (run.program, index)
            assert item.outputs[index].matches(data)


def test_one_bad_run_does_not_end_the_others(emulator: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "good.pte").write_bytes(ACOS.read_bytes())
    (tmp_path / "bad.pte").write_bytes(ACOS.read_bytes()[:1000])
    (tmp_path / "i 0.bin").write_bytes(np.zeros(256, np.float32).tobytes())
    (tmp_path / "short.bin").write_bytes(b"\0" * 12)
    rows = [
        ("good.pte", "i 0.bin"),
        ("bad.pte", "i 0.bin"),
        ("good.pte", "short.bin"),
        ("none.pte", "i 0.bin"),
        ("good.pte", "i 0.bin"),
    ]
    runs = [FirmwareRun(program, (data,), f"o{n}") for n, (program, data) in enumerate(rows)]
    line = command(runs, tmp_path)
    words = ["-q", "--board", "corstone-300", "-a", str(build("corstone-300")), "--timelimit", "60"]
    ran = emulator([*words, *settings("corstone-300", semihosting=line, folder=tmp_path)])
    log = read_firmware(ran.out.encode())
    assert log.complete
    assert [run.status for run in log.runs] == ["ok", "bad-program", "bad-input", "file", "ok"]
    assert ran.status == 3
    assert (tmp_path / "o0-0.bin").read_bytes() == (tmp_path / "o4-0.bin").read_bytes()
    assert not (tmp_path / "o1-0.bin").exists()


def test_a_stream_for_other_macs_is_refused_in_the_drivers_words(emulator: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "program.pte").write_bytes(ACOS.read_bytes())
    (tmp_path / "i0.bin").write_bytes(bytes(1024))
    line = command([FirmwareRun("program.pte", ("i0.bin",))], tmp_path)
    words = ["-q", "--board", "corstone-300", "-a", str(build("corstone-300")), "--timelimit", "60"]
    ran = emulator([*words, *settings("corstone-300", semihosting=line, folder=tmp_path, macs=256)])
    assert "E: NPU config mismatch. npu.macs_per_cc=8, optimizer.macs_per_cc=7 (" in ran.out
    assert read_firmware(ran.out.encode()).runs[0].status == "config-mismatch"


def test_a_boot_of_forty_inputs_fits_the_command_line(emulator: Callable[..., Any], tmp_path: Path) -> None:
    m = PteMaker()
    tensors = [m.tensor("int8", (4,)) for _ in range(40)]
    m.inputs = m.outputs = tensors
    (tmp_path / "program.pte").write_bytes(m.build())
    names = tuple(f"i{n}.bin" for n in range(40))
    for n, name in enumerate(names):
        (tmp_path / name).write_bytes(struct.pack("<i", n))
    log = boot_runs(emulator, "corstone-300", [FirmwareRun("program.pte", names)], tmp_path)
    assert log.runs[0].output_count == 40
    for n in range(40):
        assert (tmp_path / f"out-{n}.bin").read_bytes() == struct.pack("<i", n)


def test_an_output_nobody_writes_is_found(emulator: Callable[..., Any], tmp_path: Path) -> None:
    m = PteMaker()
    a, out = m.tensor("int8", (64,)), m.tensor("int8", (64,))
    m.inputs, m.outputs = [a], [out]
    (tmp_path / "program.pte").write_bytes(m.build())
    (tmp_path / "i0.bin").write_bytes(bytes(64))
    log = boot_runs(emulator, "corstone-300", [FirmwareRun("program.pte", ("i0.bin",))], tmp_path)
    assert log.runs[0].status == "canary"
    assert log.runs[0].outputs[0].untouched == 64
    assert (tmp_path / "out-0.bin").read_bytes() == struct.pack("<I", 0xC0DE1234) * 16


def test_too_big_a_scratch_says_so(emulator: Callable[..., Any], tmp_path: Path) -> None:
    m = PteMaker()
    a = m.tensor("int8", (16,))
    m.delegate(vela_blob([(16, 1, 0)], [(16, 1, 0)], 0x7FFFFFF0), [a, a])
    m.inputs, m.outputs = [a], [a]
    (tmp_path / "program.pte").write_bytes(m.build())
    (tmp_path / "i0.bin").write_bytes(bytes(16))
    log = boot_runs(emulator, "corstone-300", [FirmwareRun("program.pte", ("i0.bin",))], tmp_path)
    assert log.runs[0].status == "allocator"
    assert "Failed to allocate scratch buffer of 2147483632 bytes" in log.runs[0].text


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return unpack_sample(tmp_path_factory.mktemp("corpus"), every=9, largest=200_000)


@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
def test_corpus_programs_in_one_boot(
    emulator: Callable[..., Any], tmp_path: Path, sample: list[Path], board: str
) -> None:
    """A sample of ExecuTorch's own test programs, all in one boot, bytes equal to the TOSA reference model's."""
    cases = [path for path in sample if path.parent.name == TARGET[board] and (path / "tosa-program-0.bin").exists()]
    runs = []
    for path in cases:
        inputs = json.loads((path / "case.json").read_text())["inputs"]
        shutil.copytree(path, tmp_path / path.name)
        names = tuple(f"{path.name}/{item['file']}" for item in inputs)
        runs.append(FirmwareRun(f"{path.name}/program.pte", names, f"{path.name}/out"))
    log = boot_runs(emulator, board, runs, tmp_path)
    assert len(log.runs) == len(runs) > 30
    for path, run in zip(cases, log.runs, strict=True):
        assert run.code == 0, (path.name, run.text)
        for output in run.outputs:
            expected = (path / f"tosa-program-{output.index}.bin").read_bytes()
            assert (tmp_path / path.name / f"out-{output.index}.bin").read_bytes() == expected, path.name
            assert output.matches(expected)
