"""Boards as data: complete, consistent, found by name or by target, and errors that list what there is."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import corstone
from corstone.boards.registry import board, board_for_target, boards
from corstone.boards.settings import ALWAYS, SEMIHOSTING
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.targets import TARGETS, target


def test_every_target_has_exactly_one_board() -> None:
    carried = [name for b in boards().values() for name in b.targets]
    assert sorted(carried) == sorted(TARGETS)


@pytest.mark.parametrize("name", ["corstone-300", "corstone-320"])
def test_a_board_is_whole(name: str) -> None:
    b = board(name)
    assert b.default_target in b.targets
    assert {target(t).product for t in b.targets} == set(b.simulators)
    roles = {p.role for p in b.parameters}
    assert roles >= {*ALWAYS, *SEMIHOSTING, "npu-args", "uart-tag"}
    assert all(p.source for p in b.parameters)
    assert b.region_of(b.vectors, 1024) is not None
    for address in (b.uart.base, b.npu.base):
        assert address >> 28 & 1, "secure addresses have bit 28 set"
        assert b.region_of(address) is None
    assert b.uart.base - b.uart.alias == b.npu.base - b.npu.alias == 0x10000000


@pytest.mark.parametrize("name", ["corstone-300", "corstone-320"])
def test_regions_do_not_overlap(name: str) -> None:
    spans = []
    for region in board(name).regions:
        spans.append((region.base, region.base + region.size))
        if region.alias is not None:
            spans.append((region.alias, region.alias + region.size))
    spans.sort()
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))


def test_secure_alias_of_the_fpga_memory_differs() -> None:
    bram = {r.name: r for r in board("corstone-320").regions}["BRAM"]
    assert bram.base - (bram.alias or 0) == 0x11000000


def test_tcm_is_out_of_the_npus_reach() -> None:
    for b in boards().values():
        assert {r.name for r in b.regions if not r.npu} >= {"ITCM", "DTCM"}


def test_a_target_picks_its_board() -> None:
    assert board_for_target("ethos-u65-512").name == "corstone-300"
    assert board_for_target("ethos-u85-256").name == "corstone-320"
    assert board_for_target("ethos-u85-256", "corstone-320").name == "corstone-320"


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="corstone-9000") as unknown_board:
        board("corstone-9000")
    assert "corstone-300" in unknown_board.value.hint
    with pytest.raises(ConfigError, match="ethos-u55-17") as unknown_target:
        board_for_target("ethos-u55-17")
    assert "ethos-u55-128" in unknown_target.value.hint
    with pytest.raises(ConfigError, match="does not carry") as wrong:
        board_for_target("ethos-u85-256", "corstone-300")
    assert wrong.value.cause is Cause.WRONG_TARGET
    assert "ethos-u65-256" in wrong.value.hint
    with pytest.raises(ConfigError, match="Ethos-U85"):
        board("corstone-300").simulator_for("U85")


def test_no_code_tests_a_boards_name() -> None:
    root = Path(corstone.__file__).parent / "boards"
    for path in root.rglob("*.py"):
        for line in path.read_text().splitlines():
            assert not ("if " in line and '"corstone-3' in line), f"{path.name}: {line.strip()}"
