"""Commands come from the program's streams, bytes from the board's beats, each only where it is known."""

from __future__ import annotations

from pathlib import Path

from corstone.report.npu_cost import npu_cost

PTE = Path(__file__).parents[2] / "data" / "acos-int8-u55-128.pte"
BEATS = {"NPU AXI0_RD_DATA_BEAT_RECEIVED": 10, "NPU AXI1_RD_DATA_BEAT_RECEIVED": 2, "NPU ACTIVE": 99}


def test_commands_and_bytes_of_a_stored_program() -> None:
    cost = npu_cost(PTE, "ethos-u55-128", BEATS)
    assert cost["npu_bytes"] == 12 * 8
    assert 10 < cost["npu_commands"] < 500


def test_beats_of_u85_are_twice_as_wide() -> None:
    assert npu_cost(PTE, "ethos-u85-256", BEATS)["npu_bytes"] == 12 * 16


def test_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    assert npu_cost(tmp_path / "none.pte", "ethos-u55-128", {}) == {}
    (tmp_path / "bad.pte").write_bytes(b"no program")
    assert npu_cost(tmp_path / "bad.pte", "ethos-u55-128", {"NPU ACTIVE": 1}) == {}
