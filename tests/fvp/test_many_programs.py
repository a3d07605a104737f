"""Different programs in one boot of our runner: the bits of boots of their own, whatever their neighbours do."""

from __future__ import annotations

import random
import shutil
import struct
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.fakes.processes import kill_qemu_at

from corstone.boards import BootRequest, Deadlines, boot
from corstone.boards.many import boot_programs
from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError, HarnessError
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.pipeline import ProgramRun, run_programs
from corstone.program import Program

DATA = Path(__file__).parents[1] / "data"
ACOS, ORIENTATION = DATA / "acos-int8-u55-128.pte", DATA / "orientation-int8-u55-128.pte"
HALVES = DATA / "halves-int8-u55-128.pte"  # clamp(x, -0.5, 0.5) * x, float32 [1, 4, 4, 4]: two NPU operations
KERNEL_WAIT = 0x12
SILENT = Deadlines(progress=4.0)
pytestmark = pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed")


def request(pte: Path, out: Path, seed: int = 0, inject: str = "") -> BootRequest:
    whole = read_pte(pte)
    program = Program(pte, "ethos-u55-128", whole.input_specs, whole.output_specs)
    draw = np.random.default_rng(seed)
    given = tuple(draw.uniform(-1, 1, spec.shape).astype(spec.dtype).tobytes() for spec in whole.input_specs)
    limits = SILENT if inject == "idle" else None
    return BootRequest(program, given, out, provider="emulator", runner="corstone-300", deadlines=limits, inject=inject)


def asked(folder: Path, injections: Sequence[str] = ("",) * 6) -> list[BootRequest]:
    """Two programs in turn, each time on other inputs."""
    pairs = [((ACOS, ORIENTATION)[i % 2], i // 2) for i in range(len(injections))]
    return [
        request(pte, folder / f"p{i}", seed, inject)
        for i, ((pte, seed), inject) in enumerate(zip(pairs, injections, strict=True))
    ]


def captures_of(results: Sequence[Capture | HarnessError]) -> list[Capture]:
    assert all(isinstance(result, Capture) for result in results), results
    return [result for result in results if isinstance(result, Capture)]


def shared(capture: Capture) -> bool:
    return "shared boot" in capture.evidence


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[bytes, ...]]:
    """What each of ``asked`` gives in a boot of its own."""
    captures = [boot(one) for one in asked(tmp_path_factory.mktemp("alone"))]
    assert {capture.ending.outcome for capture in captures} == {Outcome.PASSED}
    outputs = [capture.output_bytes() for capture in captures]
    assert len(set(outputs)) == len(outputs)
    return outputs


def test_each_program_gets_the_bits_of_a_boot_of_its_own_in_any_order(
    tmp_path: Path, alone: list[tuple[bytes, ...]]
) -> None:
    for order in (range(6), random.Random(3).sample(range(6), 6)):
        folder = tmp_path / "-".join(map(str, order))
        ones = asked(folder)
        captures = captures_of(boot_programs([ones[i] for i in order], folder))
        assert [capture.folder for capture in captures] == [folder / f"p{i}" for i in order]
        assert [capture.ending.outcome for capture in captures] == [Outcome.PASSED] * 6
        assert [capture.output_bytes() for capture in captures] == [alone[i] for i in order]
        assert all(shared(capture) for capture in captures)
        assert len(list(folder.glob("boot-*.log"))) == 1
    first, second = captures[0].console, captures[1].console
    assert first.count(b'"e":"begin"') == second.count(b'"e":"begin"') == 1, "a console is that of one program"
    assert first.count(b'"e":"npu"') == second.count(b'"e":"npu"') == 1, "each program finds the NPU as after a boot"


@pytest.mark.parametrize(
    ("inject", "outcome"),
    [
        ("udf", Outcome.CRASHED),
        ("exit-0", Outcome.NO_OUTPUT),
        ("idle", Outcome.TIMED_OUT),
        ("skip-execute", Outcome.NO_OUTPUT),
        ("npu-bad-stream", Outcome.CRASHED),
        ("frame-spoiled", Outcome.NO_OUTPUT),
    ],
)
def test_a_program_that_goes_wrong_costs_nobody_else_anything_but_time(
    tmp_path: Path, alone: list[tuple[bytes, ...]], inject: str, outcome: Outcome
) -> None:
    ones = asked(tmp_path, ("", "", inject, "", "", ""))
    captures = captures_of(boot_programs([replace(one, deadlines=ones[2].deadlines) for one in ones], tmp_path))
    assert [capture.ending.outcome for capture in captures] == [Outcome.PASSED] * 2 + [outcome] + [Outcome.PASSED] * 3
    for i in {0, 1, 3, 4, 5}:
        assert captures[i].output_bytes() == alone[i]
    assert not any(shared(capture) for capture in captures), "what came of a boot that went wrong was believed"


def test_what_a_program_leaves_in_memory_changes_nothing(tmp_path: Path, alone: list[tuple[bytes, ...]]) -> None:
    captures = captures_of(boot_programs(asked(tmp_path, ("", "poison", "poison", "", "poison", "")), tmp_path))
    assert [capture.output_bytes() for capture in captures] == alone
    assert all(shared(capture) for capture in captures)


def without_operation(pte: Path, which: int, folder: Path) -> Path:
    """The program with one of its NPU operations left out, so that a later one reads what nobody wrote."""
    data = bytearray(pte.read_bytes())
    blob = read_vela(read_pte(pte).ethos_u[0].data)
    stream = blob.payload.stream
    words = list(struct.unpack(f"<{len(stream) // 4}I", stream))
    operations, at = [], 0
    while at < len(words):
        if words[at] & 0xFFFF in (2, 3, 5, 6):
            operations.append(at)
        at += 2 if words[at] >> 14 & 3 else 1
    words[operations[which]] = KERNEL_WAIT
    start = data.index(stream)
    data[start : start + len(stream)] = struct.pack(f"<{len(words)}I", *words)
    made = folder / f"without-{which}.pte"
    made.write_bytes(data)
    return made


def test_what_an_earlier_program_computed_makes_no_later_one_look_right(tmp_path: Path) -> None:
    """The earlier one leaves, at the address where it is looked for, just what the later one fails to compute."""
    broken = without_operation(HALVES, 0, tmp_path)
    good = request(HALVES, tmp_path / "good")
    bad = [replace(request(broken, tmp_path / f"bad-{i}"), preflight=False) for i in range(3)]
    by_itself = boot(bad[0])
    assert by_itself.ending.outcome is Outcome.PASSED, "the boot alone cannot tell; only the judge can"
    results = captures_of(boot_programs([good, bad[1], replace(good, folder=tmp_path / "again"), bad[2]], tmp_path))
    assert all(shared(result) for result in results)
    assert results[0].output_bytes() == results[2].output_bytes()
    assert results[1].output_bytes() == results[3].output_bytes() == by_itself.output_bytes()
    assert by_itself.output_bytes() != results[0].output_bytes()


def test_a_program_that_is_refused_is_an_error_in_its_place(tmp_path: Path, alone: list[tuple[bytes, ...]]) -> None:
    damaged = tmp_path / "damaged.pte"
    damaged.write_bytes(ACOS.read_bytes()[:900])
    runs = []
    for i, one in enumerate(asked(tmp_path)[:3]):
        files = [tmp_path / f"{i}-{k}.bin" for k in range(len(one.inputs))]
        for file, data in zip(files, one.inputs, strict=True):
            file.write_bytes(data)
        runs.append(ProgramRun(one.program.pte, tuple(files), one.folder))
    runs.insert(1, ProgramRun(damaged, runs[0].inputs, tmp_path / "damaged"))
    runs.insert(3, ProgramRun(ACOS, (), tmp_path / "no-inputs"))
    results = run_programs(runs, tmp_path, provider="emulator", runner="corstone-300")
    assert [type(result) for result in results] == [Capture, ConfigError, Capture, ConfigError, Capture]
    captures = [result for result in results if isinstance(result, Capture)]
    assert [capture.output_bytes() for capture in captures] == alone[:3]
    assert all(shared(capture) for capture in captures)
    with pytest.raises(ConfigError):
        run_programs([runs[0], runs[0]], tmp_path, provider="emulator", runner="corstone-300")


def test_other_runners_boards_and_settings_do_not_share(tmp_path: Path, alone: list[tuple[bytes, ...]]) -> None:
    ones = asked(tmp_path)
    ones[1] = replace(ones[1], runner="arm-executorch-u55")
    ones[3] = replace(ones[3], trace=True)
    captures = captures_of(boot_programs(ones, tmp_path, most=2))
    assert [capture.output_bytes() for capture in captures] == alone
    assert [shared(capture) for capture in captures] == [True, False, True, False, True, True]
    assert len(list(tmp_path.glob("boot-*.log"))) == 2
    assert (captures[3].folder / "trace.txt").is_file()


def test_a_boot_that_is_killed_is_believed_in_nothing(tmp_path: Path, alone: list[tuple[bytes, ...]]) -> None:
    killer = threading.Thread(target=kill_qemu_at, args=(2, tmp_path / "boot-0.log"))
    killer.start()
    captures = captures_of(boot_programs(asked(tmp_path, ("",) * 16), tmp_path))
    killer.join()
    assert not any(shared(capture) for capture in captures), "the boot was not killed before its end"
    assert {capture.ending.outcome for capture in captures} == {Outcome.PASSED}
    assert [capture.output_bytes() for capture in captures[: len(alone)]] == alone
    assert all(capture.ending.cause is Cause.NONE for capture in captures)
