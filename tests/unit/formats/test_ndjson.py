"""Rows survive the death of whoever wrote them, and so do those that come after."""

from __future__ import annotations

from pathlib import Path

from corstone.formats.ndjson import append_row, read_rows


def test_rows_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    assert read_rows(path) == []
    for number in range(3):
        append_row(path, {"n": number, "text": "ä\n"})
    assert read_rows(path) == [{"n": number, "text": "ä\n"} for number in range(3)]
    assert path.read_bytes().count(b"\n") == 3


def test_half_a_line_costs_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    append_row(path, {"n": 0})
    with path.open("ab") as stream:
        stream.write(b'{"n": 1, "te\xc3')
    append_row(path, {"n": 2})
    assert read_rows(path) == [{"n": 0}, {"n": 2}]


def test_what_is_no_row_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "rows.ndjson"
    path.write_bytes(b'17\n\n[]\n\x00\x00\n{"n": 1}\n')
    assert read_rows(path) == [{"n": 1}]
