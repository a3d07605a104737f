"""The devices as guest code sees them, through every load and store a compiler emits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BOARDS = ["corstone-300", "corstone-320"]
FORMS = {
    "ldr": 0x89ABCDEF, "ldrb": 0xCD, "ldrh": 0x89AB, "ldrsb": 0xFFFFFF89, "ldrsh": 0xFFFFCDEF,
    "ldr_register": 0x01234567, "ldr_shift": 0x01234567, "ldr_negative": 0x01234567,
    # The moved base is added to what was read.
    "ldr_post": 0x89ABCDEF + 8, "ldr_pre": 0x01234567 + 8,
    "lda": 0x89ABCDEF, "ldrd": 0x01234567, "ldrt": 0x01234567,
    # The instructions after the access in an IT block run, or not, as written.
    "it_taken": 0x89ABCDEF + 1, "it_three": 0x89ABCDEF + 3,
    "ldm": 0x89ABCDEF + 8, "stm": 17, "strd": 33, "strb_strh": 0xBBCCAA44,     "str_post": 4 + 6,
}  # fmt: skip


def values(text: str) -> dict[str, int]:
    """``name=hex`` lines."""
    pairs = (line.split("=") for line in text.splitlines() if "=" in line)
    return {name: int(value, 16) for name, value in pairs}


@pytest.mark.parametrize("board", BOARDS)
def test_addressing_forms(scenario: Callable[..., Any], board: str) -> None:
    ran = scenario(9, "-q", board=board)
    assert ran.status == 0, ran.err
    assert values(ran.out) == FORMS


@pytest.mark.parametrize("board", BOARDS)
def test_run_to_stop(scenario: Callable[..., Any], board: str) -> None:
    ran = scenario(12, "-q", board=board)
    # PROT as written to RESET; one interrupt; end reached, the STOP mask in the history, the line acknowledged.
    assert values(ran.out) == {"prot": 1, "interrupts": 1, "status": 0xFFFF0020, "qread": 4}
    assert ran.err == ""


@pytest.mark.parametrize("board", BOARDS)
def test_unknown_command_is_a_parse_error(scenario: Callable[..., Any], board: str) -> None:
    ran = scenario(13, "-q", board=board)
    assert values(ran.out) == {"prot": 1, "interrupts": 1, "status": 0x10, "qread": 0}
    assert ran.err.startswith("corstone-emulator: NPU parse fault in command 0x3ff at stream offset 0x0")


def test_stream_in_tcm_is_a_bus_error(scenario: Callable[..., Any]) -> None:
    ran = scenario(14, "-q")
    assert values(ran.out)["status"] == 4
    assert "are in ITCM, which the NPU cannot reach" in ran.err


@pytest.mark.parametrize(
    ("board", "arguments", "config", "number"),
    [
        ("corstone-300", [], 0x1807, 0x80),
        ("corstone-300", ["-C", "ethosu.num_macs=32"], 0x1005, 0x80),
        ("corstone-300", ["-C", "ethosu.num_macs=64"], 0x1006, 0x80),
        ("corstone-300", ["-C", "ethosu.num_macs=256"], 0x3008, 0x80),
        ("corstone-300", ["-C", "ethosu.config=H256"], 0x3008, 0x80),
        ("corstone-300", ["--fvp", "FVP_Corstone_SSE-300_Ethos-U65"], 0x10003008, 0x81),
        ("corstone-300", ["-C", "ethosu.num_macs=512"], 0x10006009, 0x81),
        ("corstone-320", [], 0x20000118, 0x82),
        ("corstone-320", ["-C", "mps4_board.subsystem.ethosu.num_macs=2048"], 0x2000261B, 0x82),
    ],
)
def test_identity(
    scenario: Callable[..., Any], board: str, arguments: list[str], config: int, number: int
) -> None:  # fmt: skip
    found = values(scenario(21, "-q", *arguments, board=board).out)
    assert found["config"] == config
    assert found["pid0"] == number


def test_registers_without_a_model_are_named(scenario: Callable[..., Any]) -> None:
    ran = scenario(26, "-q")
    assert values(ran.out) == {"unimplemented": 0, "beyond": 0}
    assert "the NPU has no register for read 0x700 (debug window), seen 1 times" in ran.err
    assert "the NPU has no register for read 0xe00, seen 1 times" in ran.err


def test_trace_file(scenario: Callable[..., Any], tmp_path: Path) -> None:
    scenario(12, "-q", "--trace", "trace.txt")
    assert (tmp_path / "trace.txt").read_text().startswith("0x0000 STOP mask=0xffff")


def test_exclusive_access_is_refused(scenario: Callable[..., Any]) -> None:
    ran = scenario(27, "-q")
    assert ran.status == 4
    assert "exclusive access ldrex at 0x1000" in ran.err
