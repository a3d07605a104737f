"""Runners as data: which one is the default where, and errors that list what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from corstone.boards.registry import board
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.runners import RUNNERS, Transport, WheelImage, default_runner, elf_runner, runner


def test_arms_image_is_the_default_on_the_emulators_u55() -> None:
    for macs in (32, 64, 128, 256):
        assert default_runner("corstone-300", f"ethos-u55-{macs}", "emulator").name == "arm-executorch-u55"


def test_ours_is_the_default_elsewhere_and_for_what_arms_image_lacks() -> None:
    assert default_runner("corstone-300", "ethos-u65-256", "emulator").name == "corstone-300"
    assert default_runner("corstone-320", "ethos-u85-256", "emulator").name == "corstone-320"
    assert default_runner("corstone-300", "ethos-u55-128", "emulator", frozenset({"rank-0"})).name == "corstone-300"


@pytest.mark.parametrize(("name", "target"), [("corstone-300", "ethos-u55-128"), ("corstone-320", "ethos-u85-256")])
def test_an_fvp_gets_the_semihosting_runner(name: str, target: str) -> None:
    assert default_runner(name, target, "fvp").transport is Transport.SEMIHOSTING


def test_no_runner_fits() -> None:
    with pytest.raises(ConfigError, match="no runner") as refused:
        default_runner("corstone-320", "ethos-u55-128", "emulator")
    assert refused.value.cause is Cause.UNSUPPORTED


def test_each_runner_fits_its_board() -> None:
    for row in RUNNERS:
        b = board(row.board)
        assert set(row.products) <= set(b.simulators)
        if row.window is not None:
            w = row.window
            for address, size in (
                (w.program, w.program_size),
                (w.inputs, w.inputs_size),
                (w.outputs, w.outputs_size),
            ):
                region = b.region_of(address, size)
                assert region is not None
                assert region.npu
            assert w.program + w.program_size <= w.inputs
            assert w.inputs + w.inputs_size <= w.outputs
        if isinstance(row.image, WheelImage):
            assert re.fullmatch(r"[0-9a-f]{64}", row.image.sha256)
            assert re.fullmatch(r"[0-9a-f]{64}", row.image.wheel_sha256)


def test_unknown_runner_lists_the_known() -> None:
    with pytest.raises(ConfigError) as refused:
        runner("nothing")
    assert "arm-executorch-u55" in refused.value.hint


def test_an_elf_of_the_users(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no runner ELF"):
        elf_runner(tmp_path / "gone.elf", "corstone-300")
    path = tmp_path / "my runner.elf"
    path.write_bytes(b"\x7fELF")
    assert elf_runner(path, "corstone-300").transport is Transport.NONE
    like = elf_runner(path, "corstone-300", "mlek")
    assert (like.transport, like.window) == (Transport.MEMORY, runner("arm-executorch-u55").window)


@pytest.mark.parametrize(
    ("text", "dialect", "transport"),
    [
        (b"@corstone {", "corstone", Transport.SEMIHOSTING),
        (b"%d input tensor/s populated with %d bytes", "mlek", Transport.MEMORY),
        (b"Writing output to file: %s", "executorch", Transport.SEMIHOSTING),
        (b"hello", "plain", Transport.NONE),
    ],
)
def test_the_protocol_of_an_elf_is_read_from_its_text(
    tmp_path: Path, text: bytes, dialect: str, transport: Transport
) -> None:
    path = tmp_path / "runner.elf"
    path.write_bytes(b"\x7fELF" + bytes(100) + text + bytes(100))
    found = elf_runner(path, "corstone-300")
    assert (found.dialect, found.transport) == (dialect, transport)
