"""Lines of a large page come from several processes, in their order, whatever becomes of a helper."""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.test_html_report import read_page

from corstone.report import html_data, html_share
from corstone.report.html_curve import Detail
from corstone.report.html_pack import pack
from corstone.report.html_report import write_html


@pytest.fixture
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html_share, "LEAST", 4)


def makers(record: Any, count: int) -> list[html_share.Maker]:
    cases = [replace(record, case_id=f"case-{n}") for n in range(count)]
    return [functools.partial(html_data.detail, case, Detail(120, 32)) for case in cases]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """Every process that a test started."""
    found: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def kept(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        found.append(popen(*args, **options))
        return found[-1]

    monkeypatch.setattr(subprocess, "Popen", kept)
    return found


def test_helpers_give_the_lines_of_one_process_in_their_order(
    make_record: Any, small_shares: None, started: list[subprocess.Popen[bytes]]
) -> None:
    wanted = makers(make_record(), 13)
    alone = list(html_share.lines(wanted, processes=1))
    assert started == []
    assert list(html_share.lines(wanted, processes=3)) == alone
    assert [helper.returncode for helper in started] == [0, 0]


def test_a_small_page_starts_no_process(make_record: Any, started: list[subprocess.Popen[bytes]]) -> None:
    lines = list(html_share.lines(makers(make_record(), 5), processes=3))
    assert (len(lines), started) == (5, [])


@pytest.mark.parametrize("broken", ["/bin/false", "/nowhere/python"])
def test_what_a_helper_does_not_do_the_caller_does(
    make_record: Any, small_shares: None, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    wanted = makers(make_record(), 9)
    alone = list(html_share.lines(wanted, processes=1))
    monkeypatch.setattr(sys, "executable", broken)
    assert list(html_share.lines(wanted, processes=2)) == alone


def test_makers_that_cannot_travel_are_called_here(small_shares: None) -> None:
    wanted = {"n": 1}
    assert list(html_share.lines([lambda: wanted] * 9, processes=2)) == [pack(wanted)] * 9


def test_a_page_given_up_leaves_no_process(
    make_record: Any, small_shares: None, started: list[subprocess.Popen[bytes]]
) -> None:
    lines = html_share.lines(makers(make_record(), 60), processes=4)
    next(lines)
    assert len(started) == 3
    lines.close()
    assert all(helper.returncode is not None for helper in started)


def test_a_helper_whose_caller_has_gone_stops(
    tmp_path: Path, make_record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    share, out = tmp_path / "share", tmp_path / "lines"
    share.write_bytes(pickle.dumps(makers(make_record(), 3)))
    parents = iter([100, 100, 1])  # at its start, before the first case, before the second
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    with pytest.raises(SystemExit, match="nobody waits"):
        html_share.main(share, out)
    assert len(out.read_text().splitlines()) == 1


def test_a_page_of_shares_is_the_page_of_one_process(
    make_record: Any, tmp_path: Path, small_shares: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    record = make_record()
    records = [replace(record, case_id=f"case-{n}") for n in range(12)]
    write_html(tmp_path / "shared.html", records)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    write_html(tmp_path / "alone.html", records)
    _, index, details = read_page(tmp_path / "shared.html")
    assert [d["id"] for d in details] == [c["id"] for c in index["cases"]] == [f"case-{n}" for n in range(12)]
    assert details == read_page(tmp_path / "alone.html")[2]
