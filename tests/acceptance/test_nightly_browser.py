"""The pages in a real Chromium: filters, drill-downs, keyboard, desktop and phone, accessibility, hostile names.

Screenshots are kept in ``CORSTONE_ARTIFACTS`` when it names a folder.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.acceptance import chromium
from tests.unit.dashboard import synthetic

from corstone.capture import Capture, Ending, Executor
from corstone.causes import Cause, Outcome
from corstone.dashboard.build import build
from corstone.dashboard.serve import LiveServer
from corstone.judge.reference import ReferenceResult, save_references
from corstone.judge.verdict import Comparison, Verdict, WorstElement
from corstone.ledger import Ledger, open_ledger
from corstone.ledger.merge import merge
from corstone.ledger.writer import Identity
from corstone.program import Program, QParams, TensorSpec
from corstone.report.merged_html import write_html
from corstone.report.record import CaseRecord

SIZES = {"desktop": chromium.DESKTOP, "phone": chromium.PHONE}
HOSTILE = (
    "t.py::test[<script>document.title='owned'</script>\x1b[31m\u202e'\"><img src=x onerror=document.title='owned'>]"
)


def until(driver: Any, question: str, seconds: float = 10) -> None:
    """Wait until a script says true."""
    end = time.monotonic() + seconds
    while not driver.execute_script(f"return {question}"):
        assert time.monotonic() < end, f"not within {seconds} s: {question}"
        time.sleep(0.03)


def text(driver: Any, selector: str) -> str:
    return str(driver.execute_script("return document.querySelector(arguments[0]).innerText", selector))


def assert_fine(driver: Any) -> None:
    """No console error, nothing from a network, nothing wider than the screen, nobody owned the page."""
    assert chromium.severe_console(driver) == []
    foreign = driver.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)"
        ".filter(n => !/^(file:|data:|http:..127)/.test(n))"
    )
    assert foreign == []
    assert not driver.execute_script("return document.documentElement.scrollWidth > innerWidth")
    assert driver.title != "owned"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("site")
    synthetic.fill(top / "h", nights=24, cells=4, cases=40)
    with open_ledger(top / "h" / "ledgers", Identity("newest", "ethos-u55-64-vela5.0-py3.12-01")) as book:
        book.collected([HOSTILE, "t.py::test_fine"])
        finish(book, HOSTILE, Outcome.CRASHED, text=HOSTILE)
        finish(book, "t.py::test_fine", Outcome.PASSED)
    build(top / "h", top / "site")
    return top / "site"


def finish(book: Ledger, test_id: str, outcome: Outcome, **more: Any) -> None:
    book.started(test_id)
    book.finished(
        test_id, outcome, Cause.NONE if outcome is Outcome.PASSED else Cause.CPU_FAULT, reason=test_id, **more
    )


@pytest.mark.parametrize("size", SIZES)
def test_from_the_first_page_down_to_a_case(driver: Any, site: Path, shots: Path, size: str) -> None:
    chromium.show(driver, (site / "index.html").as_uri(), SIZES[size])
    assert "is red" in text(driver, "h1")
    assert_fine(driver)
    assert chromium.accessibility_defects(driver) == []
    chromium.screenshot(driver, shots / f"dashboard-{size}.png")
    driver.execute_script("document.querySelector('.matrix a[aria-label*=\"1 red of 2\"]').click()")
    until(driver, "location.pathname.includes('/nights/')")
    assert_fine(driver)
    driver.execute_script("document.querySelector('main table a').click()")
    until(driver, "location.pathname.includes('/cases/')")
    assert "<script>document.title='owned'</script>␛[31m<U+202E>" in text(driver, "h1")
    assert_fine(driver)
    if size == "phone":
        assert chromium.accessibility_defects(driver) == []
    chromium.screenshot(driver, shots / f"dashboard-case-{size}.png")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", ["cases", "changes", "drift", "cells", "nights"])
def test_every_kind_of_page_is_fine(driver: Any, site: Path, shots: Path, size: str, page: str) -> None:
    path = site / f"{page}.html" if (site / f"{page}.html").exists() else min((site / page).glob("*.html"))
    chromium.show(driver, path.as_uri(), SIZES[size])
    assert_fine(driver)
    if size == "desktop":
        assert chromium.accessibility_defects(driver) == []
    chromium.screenshot(driver, shots / f"dashboard-{page}-{size}.png")


def test_cases_are_filtered_and_the_address_keeps_the_filter(driver: Any, site: Path) -> None:
    chromium.show(driver, (site / "cases.html").as_uri(), chromium.DESKTOP)
    every = driver.execute_script("return document.querySelectorAll('#cases tbody tr:not([hidden])').length")
    driver.execute_script(
        "const s = document.querySelector('select[name=network]'); s.value = 'acos';"
        "s.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    shown = driver.execute_script(
        "return [...document.querySelectorAll('#cases tbody tr:not([hidden])')].map(r => r.dataset.network)"
    )
    assert 0 < len(shown) < every
    assert set(shown) == {"acos"}
    assert text(driver, "#count").startswith(f"{len(shown)} of ")
    address = driver.current_url
    assert "network=acos" in address
    chromium.show(driver, "about:blank", chromium.DESKTOP)
    chromium.show(driver, address, chromium.DESKTOP)
    assert driver.execute_script("return document.querySelector('select[name=network]').value") == "acos"
    driver.execute_script("document.querySelector('button[type=reset]').click()")
    until(driver, f"document.querySelectorAll('#cases tbody tr:not([hidden])').length == {every}")


def test_charts_are_read_by_keyboard_and_the_theme_switches(driver: Any, site: Path) -> None:
    chromium.show(driver, (site / "index.html").as_uri(), chromium.DESKTOP)
    driver.execute_script("document.querySelector('.chart svg').focus()")
    press(driver, "ArrowLeft")
    until(driver, "/^20\\d\\d-\\d\\d-\\d\\d.*: /.test(document.querySelector('.reading').textContent)")
    before = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    driver.execute_script("document.getElementById('theme').click()")
    assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") != before
    assert chromium.accessibility_defects(driver) == []
    driver.execute_script("document.getElementById('theme').click()")


def press(driver: Any, key: str) -> None:
    for kind in ("keyDown", "keyUp"):
        driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": key, **_codes(key)})


def _codes(key: str) -> dict[str, object]:
    code = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}[key]
    return {"windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code} | ({"text": "\r"} if key == "Enter" else {})


def capture(folder: Path) -> Path:
    """A stored capture of acos at int8 over 256 points, with a wrong element in it."""
    folder.mkdir(parents=True)
    x = np.linspace(-1, 1, 256, dtype=np.float32)
    want = np.arccos(x.astype(np.float64))
    scale = math.pi / 255
    got = (np.round(want / scale) * scale).astype(np.float32)
    got[77] += 9 * scale
    (folder / "in-0.bin").write_bytes(x.tobytes())
    (folder / "out-0.bin").write_bytes(got.tobytes())
    (folder / "console.log").write_bytes(
        b"INFO - booted\x00\x04 \x1b[31mred\x1b[0m <script>document.title='owned'</script>\n"
    )
    spec = TensorSpec("x", "float32", (256,))
    q = QParams(scale, 0, -128, 127, "int8")
    Program(folder / "p.pte", "ethos-u55-128", (spec,), (spec,), input_qparams=(q,), output_qparams=(q,)).save(
        folder / "program.json"
    )
    save_references(folder, [ReferenceResult("float", (want,))])
    Capture(
        folder,
        Executor("emulator", "corstone-emulator", "0.1.0"),
        "corstone-300",
        "ethos-u55-128",
        "mlek",
        "00",
        Ending(Outcome.PASSED, Cause.NONE, "finished"),
        inputs=("in-0.bin",),
        outputs=("out-0.bin",),
    ).save()
    return folder


def record(folder: Path) -> CaseRecord:
    worst = WorstElement((77,), 1.9, 2.0, 9.0, -0.396, -50)
    comparison = Comparison("float", 0, 256, 256, 9.0, 0.11, False, False, 1.0, 9.0, (worst,))
    return CaseRecord(
        "acos-int8-fixed-ethos-u55-128-corstone-300-codes",
        "acos",
        8,
        "fixed",
        "ethos-u55-128",
        "corstone-300",
        "codes",
        Verdict(Outcome.FAILED, Cause.ACCURACY, "9 LSB at x = -0.396", "lower the scale", (comparison,)),
        executor=Executor("emulator", "corstone-emulator", "0.1.0"),
        capture=str(folder),
        versions={"vela": "5.1.0"},
        counters={"npu_total_cycles": 4321},
        repro="corstone check acos --bits 8",
    )


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("report")
    stored = record(capture(top / "captures" / "c"))
    ids = [f"tests/fvp/test_net.py::test_codes[{i}]" for i in range(12)]
    with open_ledger(top / "led", Identity("r", "u55")) as book:
        book.collected([*ids, HOSTILE, "x.py::test_acos", "x.py::test_flaky"])
        for test_id in ids:
            finish(book, test_id, Outcome.PASSED)
        finish(book, HOSTILE, Outcome.CRASHED, text=HOSTILE, out=HOSTILE)
        book.started("x.py::test_acos")
        book.finished("x.py::test_acos", Outcome.FAILED, Cause.ACCURACY, reason="9 LSB", records=[stored], text="trace")
        finish(book, "x.py::test_flaky", Outcome.FAILED, out="first log")
        finish(book, "x.py::test_flaky", Outcome.PASSED)
    write_html(merge([top / "led"]), top / "report.html")
    return top / "report.html"


def open_case(driver: Any, name: str) -> None:
    driver.execute_script(
        "[...document.querySelectorAll('#rows a')].find(a => a.textContent.includes(arguments[0])).click()", name
    )
    until(driver, f"document.getElementById('case').innerText.includes({name!r})")


@pytest.mark.parametrize("size", SIZES)
def test_the_merged_report_shows_a_test_with_all_that_belongs_to_it(
    driver: Any, report: Path, shots: Path, size: str
) -> None:
    chromium.show(driver, report.as_uri(), SIZES[size])
    until(driver, "document.querySelectorAll('#rows li').length == 15")
    assert "Red: 2 of 15 tests are red" in text(driver, "#answer")
    assert "15 collected = 15 reported" in text(driver, "#who")
    assert_fine(driver)
    chromium.screenshot(driver, shots / f"merged-{size}.png")
    open_case(driver, "x.py::test_acos")
    shown = text(driver, "#case")
    for expected in ("9 LSB", "lower the scale", "corstone check acos --bits 8", "5.1.0", "900 %", "Attempt 1: FAILED"):
        assert expected in shown
    assert driver.execute_script("return document.querySelectorAll('#case svg.chart').length") >= 2
    assert "INFO - booted" in driver.execute_script("return document.getElementById('case').textContent")
    assert_fine(driver)
    assert chromium.accessibility_defects(driver) == []
    chromium.screenshot(driver, shots / f"merged-case-{size}.png", full=True)


def test_the_merged_report_filters_by_state_and_keeps_the_first_log_of_a_flaky_test(driver: Any, report: Path) -> None:
    chromium.show(driver, report.as_uri() + "#verdict=FLAKY", chromium.DESKTOP)
    until(driver, "document.querySelectorAll('#rows li').length == 1")
    open_case(driver, "test_flaky")
    assert driver.execute_script("return document.getElementById('case').textContent.includes('first log')")
    chromium.show(driver, "about:blank", chromium.DESKTOP)
    chromium.show(driver, report.as_uri() + "#red=red", chromium.DESKTOP)
    until(driver, "document.querySelectorAll('#rows li').length == 2")
    open_case(driver, "owned")
    assert "\\u202e" in driver.execute_script("return document.getElementById('case').textContent")
    assert_fine(driver)


def test_a_run_in_progress_is_followed(driver: Any, tmp_path: Path, shots: Path) -> None:
    with LiveServer(tmp_path) as server, open_ledger(tmp_path, Identity("live")) as book:
        chromium.show(driver, server.address, chromium.DESKTOP)
        book.collected([HOSTILE, "b", "c"])
        finish(book, HOSTILE, Outcome.CRASHED)
        book.started("b")
        until(driver, "document.getElementById('title').textContent.startsWith('1 of 3')")
        until(driver, "document.getElementById('running').textContent.includes('b')")
        assert "<U+202E>" in text(driver, "#notable")
        assert_fine(driver)
        assert chromium.accessibility_defects(driver) == []
        chromium.screenshot(driver, shots / "live.png")
        book.finished("b", Outcome.PASSED)
        finish(book, "c", Outcome.PASSED)
        until(driver, "document.getElementById('title').textContent.startsWith('3 of 3')")


def test_pages_print_what_they_hold_without_a_script(site: Path, report: Path) -> None:
    wanted: dict[Path, Callable[[str], bool]] = {
        report: lambda t: t.split("<noscript>")[1].split("</noscript>")[0].count("\npassed ") == 12,
        site / "cases.html": lambda t: t.count("<tr") > 40,
    }
    for path, holds in wanted.items():
        assert holds(path.read_text())
