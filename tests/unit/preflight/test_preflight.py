"""Checks before the boot: each finding names what was found, what is offered, and what to change."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from tests.fakes.elves import vectors, write_elf

from corstone.boards.registry import board
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import read_pte
from corstone.preflight import CHECKS, ELF_CHECKS, ERROR, GATES, WARNING, Finding, Subject, preflight, require
from corstone.runners import Runner, Transport, runner
from corstone.targets import target

ACOS = (Path(__file__).parents[2] / "data" / "acos-int8-u55-128.pte").read_bytes()
ARM = runner("arm-executorch-u55")
C300, C320 = board("corstone-300"), board("corstone-320")


def subject(program: bytes = ACOS, name: str = "ethos-u55-128", run: Runner = ARM, **more: object) -> Subject:
    return Subject(program, C300, target(name), run, **more)  # type: ignore[arg-type]


def only(findings: tuple[Finding, ...] | list[Finding]) -> Finding:
    assert len(findings) == 1, [str(f) for f in findings]
    finding = findings[0]
    assert finding.found
    assert finding.offered
    assert finding.change
    return finding


def patched(old: bytes, new: bytes) -> bytes:
    assert ACOS.count(old) == 1
    return ACOS.replace(old, new)


def config(name: str) -> bytes:
    return struct.pack("<I", target(name).config)


def test_a_good_program_has_no_finding() -> None:
    assert preflight(subject()) == ()
    assert require(subject()) == ()


@pytest.mark.parametrize("position", range(4, 8))
def test_flipped_identifier(position: int) -> None:
    program = bytearray(ACOS)
    program[position] ^= 0x20
    finding = only(preflight(subject(bytes(program))))
    assert (finding.check, finding.severity, finding.cause) == ("identifier", ERROR, Cause.BAD_PROGRAM)
    assert repr(bytes(program[4:8])) in finding.found
    assert "ET12" in finding.offered


def test_bundled_program() -> None:
    finding = only(preflight(subject(ACOS[:4] + b"BP08" + ACOS[8:])))
    assert "bundled program" in finding.found
    assert "plain .pte" in finding.change
    bundles = replace(ARM, identifiers=("ET12", "BP08"))
    assert all(f.check != "identifier" for f in preflight(subject(ACOS[:4] + b"BP08" + ACOS[8:], run=bundles)))


@pytest.mark.parametrize("length", range(0, len(ACOS), 64))
def test_cut_at_every_64th_byte(length: int) -> None:
    findings = preflight(subject(ACOS[:length]))
    assert findings[0].severity == ERROR
    assert findings[0].cause is Cause.BAD_PROGRAM
    with pytest.raises(ConfigError) as refused:
        require(subject(ACOS[:length]))
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ethos-u55-256", ("256 MACs", "128 MACs", "--target ethos-u55-256")),
        ("ethos-u65-256", ("Ethos-U65", "Ethos-U55", "--target ethos-u65-256")),
        ("ethos-u85-256", ("Ethos-U85", "Ethos-U55", "another board")),
    ],
)
def test_compiled_for_another_target(name: str, words: tuple[str, str, str]) -> None:
    program = patched(config("ethos-u55-128"), config(name))
    finding = next(f for f in preflight(subject(program)) if f.check == "configuration")
    assert finding.cause is Cause.WRONG_TARGET
    assert words[0] in finding.found
    assert words[1] in finding.offered
    assert words[2] in finding.change


def test_another_command_stream_version() -> None:
    word = target("ethos-u55-128").config | 1 << 4
    finding = next(f for f in preflight(subject(patched(config("ethos-u55-128"), struct.pack("<I", word)))))
    assert "command stream version 1" in finding.found
    assert "command stream version 0" in finding.offered


def test_another_shram_size_is_no_difference_to_the_driver() -> None:
    word = target("ethos-u55-128").config ^ 0x4 << 8
    assert preflight(subject(patched(config("ethos-u55-128"), struct.pack("<I", word)))) == ()


def test_newer_architecture() -> None:
    old = struct.pack("<I", 0x10066001)
    finding = only(preflight(subject(patched(old, struct.pack("<I", 0x10206001)))))
    assert (finding.check, finding.cause) == ("architecture", Cause.CONFIG_MISMATCH)
    assert "1.2.0" in finding.found
    assert "1.1.0" in finding.offered


def test_no_delegate_and_a_foreign_one() -> None:
    finding = next(f for f in preflight(subject(patched(b"EthosUBackend", b"EthosXBackend"))) if f.check == "delegate")
    assert "EthosXBackend" in finding.found


def test_room_in_the_windows() -> None:
    assert ARM.window is not None
    small = replace(ARM, window=replace(ARM.window, program_size=100, inputs_size=3, outputs_size=3))
    findings = [f for f in preflight(subject(run=small)) if f.check == "room"]
    assert [f.cause for f in findings] == [Cause.UNSUPPORTED] * 3
    assert f"{len(ACOS)} bytes" in findings[0].found


def test_delegate_off_its_alignment() -> None:
    assert ARM.window is not None
    moved = replace(ARM, window=replace(ARM.window, program=ARM.window.program + 8))
    findings = [f for f in preflight(subject(run=moved)) if f.check == "alignment"]
    assert findings
    assert all(f.cause is Cause.ALIGNMENT for f in findings)


def test_pools_by_the_runners_row_and_by_symbols(tmp_path: Path) -> None:
    small = replace(ARM, pools=(("method", 16), ("scratch", 8)))
    findings = [f for f in preflight(subject(run=small)) if f.check == "pools"]
    assert {f.cause for f in findings} == {Cause.ALLOCATOR}
    assert any("method pool" in f.offered and "too few" in f.offered for f in findings)
    # The copies of the inputs that Arm's image makes count, too.
    whole = read_pte(ACOS)
    planned, given = sum(whole.buffer_sizes), sum(spec.size_bytes for spec in whole.input_specs)
    for size, wanted in ((planned + given, 0), (planned + given - 1, 1)):
        tight = replace(ARM, pools=(("method", size),))
        found = [f for f in preflight(subject(run=tight)) if f.check == "pools"]
        assert len(found) == wanted, size
    assert "a copy of the inputs" in only(found).found
    elf = write_elf(
        tmp_path / "r.elf",
        [(0x10000000, vectors())],
        {"temp_allocation_pool": (0x31000000, 16), "method_allocation_pool": (0x31100000, 1 << 20)},
    )
    from_elf = replace(ARM, pools=())
    found = [f for f in preflight(subject(run=from_elf, image=elf, deep=True)) if f.check == "pools"]
    assert "scratch pool" in only(found).offered


def test_missing_kernels_by_the_names_in_the_image(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(b"\0aten::add.out\0")
    finding = only(preflight(subject(image=image)))
    assert (finding.check, finding.cause) == ("kernels", Cause.UNSUPPORTED)
    assert "quantized_decomposed::quantize_per_tensor.out" in finding.found
    parts = tmp_path / "parts"
    parts.write_bytes(b"quantized_decomposed::quantize_per_tensor\0out\0quantized_decomposed::dequantize_per_tensor\0")
    assert preflight(subject(image=parts)) == ()
    silent = tmp_path / "silent"
    silent.write_bytes(b"no names here")
    assert preflight(subject(image=silent)) == ()


def test_a_console_runner_gets_a_warning_and_boots() -> None:
    plain = replace(ARM, transport=Transport.NONE, window=None)
    finding = only(preflight(subject(run=plain)))
    assert (finding.check, finding.severity) == ("reads", WARNING)
    assert require(subject(run=plain)) == (finding,)


def elf_findings(path: Path, name: str = "corstone-300", provider: str = "emulator") -> list[Finding]:
    chosen = board(name)
    looked_at = Subject(ACOS, chosen, target(chosen.default_target), ARM, provider, path, deep=True)
    return [finding for _, check in ELF_CHECKS for finding in check(looked_at)]


def test_a_good_elf(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "r.elf", [(0x10000000, vectors()), (0x70000000, bytes(64))])
    assert elf_findings(elf) == []
    by_alias = write_elf(tmp_path / "a.elf", [(0x00000000, vectors(0x20001000, 0x101))])
    assert elf_findings(by_alias) == []


@pytest.mark.parametrize("at", range(1, 16))
def test_a_model_off_its_alignment_is_named(tmp_path: Path, at: int) -> None:
    objects = {"network_model_data": (0x70000000 + at, 1024)}
    elf = write_elf(tmp_path / "r.elf", [(0x10000000, vectors())], objects)
    finding = only(elf_findings(elf))
    assert (finding.check, finding.cause) == ("npu-data", Cause.ALIGNMENT)
    assert "network_model_data" in finding.found
    assert f"0x{0x70000000 + at:08x}" in finding.found


def test_functions_and_small_objects_may_lie_anywhere(tmp_path: Path) -> None:
    elf = write_elf(
        tmp_path / "r.elf",
        [(0x10000000, vectors())],
        {"model_count": (0x30000004, 4)},
        {"model_run": (0x10000103, 200)},
    )
    assert elf_findings(elf) == []


def test_an_arena_where_the_npu_does_not_reach(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "r.elf", [(0x10000000, vectors())], {"tensor_arena": (0x30000000, 4096)})
    finding = only(elf_findings(elf))
    assert finding.severity == WARNING
    assert "DTCM" in finding.offered


def test_bytes_outside_memory(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "r.elf", [(0x10000000, vectors()), (0x11100000, bytes(16))])
    finding = only(elf_findings(elf))
    assert (finding.check, finding.cause) == ("memory", Cause.CONFIGURATION)
    assert "0x11100000" in finding.found


def test_memory_that_only_the_fvp_has(tmp_path: Path) -> None:
    elf = write_elf(tmp_path / "r.elf", [(0x11000000, vectors(0x30008000, 0x12000101)), (0x12000000, bytes(512))])
    assert elf_findings(elf, "corstone-320", "fvp") == []
    finding = only(elf_findings(elf, "corstone-320", "emulator"))
    assert finding.cause is Cause.UNSUPPORTED
    assert "--provider fvp" in finding.change


@pytest.mark.parametrize(
    "start",
    [
        (0x11000000, vectors()),
        (0x10000000, vectors(0, 0x10000101)),
        (0x10000000, vectors(reset=0x10000100)),
        (0x10000000, vectors(reset=0x55555555)),
    ],
    ids=["elsewhere", "no-stack", "arm-state", "no-code"],
)
def test_no_vector_table_where_the_board_starts(tmp_path: Path, start: tuple[int, bytes]) -> None:
    finding = only(elf_findings(write_elf(tmp_path / "r.elf", [start])))
    assert (finding.check, finding.cause) == ("vectors", Cause.CONFIGURATION)
    assert "0x10000000" in finding.offered


def test_every_check_is_in_the_table_once() -> None:
    names = [name for name, _ in (*GATES, *CHECKS, *ELF_CHECKS)]
    assert len(set(names)) == len(names) == 15


def test_errors_are_reported_together_worst_first() -> None:
    program = patched(config("ethos-u55-128"), config("ethos-u55-256"))
    small = replace(ARM, pools=(("method", 1),))
    with pytest.raises(ConfigError) as refused:
        require(subject(program, run=small))
    assert refused.value.cause is Cause.WRONG_TARGET
    assert "also pools" in refused.value.evidence


def test_a_kernel_that_our_runner_lacks_is_named_with_the_runner_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm, ours = tmp_path / "arm", tmp_path / "ours"
    arm.write_bytes(b"\0aten::exp.out\0quantized_decomposed::quantize_per_tensor.out\0")
    ours.write_bytes(b"\0quantized_decomposed::quantize_per_tensor.out\0")
    monkeypatch.setattr("corstone.preflight.kernel_table.image_path", lambda *_args, **_more: arm)
    # The name lies in the file with its length before it: one of the same length takes its place.
    name, other = b"quantized_decomposed::dequantize_per_tensor", b"aten::exp"
    program = ACOS.replace(name + b"\0", other + bytes(len(name) - len(other)) + b"\0")
    length = program.index(other) - 4
    program = program[:length] + struct.pack("<I", len(other)) + program[length + 4 :]
    found = only(preflight(subject(program, run=runner("corstone-300"), image=ours)))
    assert found.check == "kernels"
    assert "aten::exp.out" in found.found
    assert "corstone-300 has no such kernel" in found.offered
    assert found.change.startswith("use --runner arm-executorch-u55, or")
    large = replace(subject(program, "ethos-u85-256", runner("corstone-320"), image=ours), board=board("corstone-320"))
    (change,) = (f.change for f in preflight(large) if f.check == "kernels")
    assert change.startswith("use --runner arm-executorch-u85 (with --provider fvp alone), or")
    with pytest.raises(ConfigError, match=r"aten::exp\.out"):
        require(subject(program, run=runner("corstone-300"), image=ours))
