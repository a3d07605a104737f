"""The report of a run in a real Chromium: list, filters, case, charts by keyboard, phone, dark, hostile names, axe.

Screenshots are kept in ``CORSTONE_ARTIFACTS`` when it names a folder.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.acceptance import chromium
from tests.unit.report import conftest as captures

from corstone.capture import Ending, Executor
from corstone.causes import Cause, Outcome
from corstone.report.html_report import write_html
from corstone.report.record import CaseRecord

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=document.title='owned'>\x1b[31m\u202e"
CASE_OF = "#case={}-int8-fixed-ethos-u55-128-corstone-300-codes"


def record(folder: Path, name: str, **how: Any) -> CaseRecord:
    """A judged record with its capture."""
    made: CaseRecord = captures.judged(folder, name, **how)
    return made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("run")

    def flip(y: Any) -> Any:
        y[40] += 0.5
        return y

    crash = Ending(Outcome.CRASHED, Cause.CPU_FAULT, "UsageFault at 0x10001234", "look there", {"pc": "0x10001234"})
    fvp = Executor("fvp", "FVP_Corstone_SSE-300_Ethos-U55", "11.27.42")
    records = [
        record(folder, "acos"),
        record(folder, "asin", bits=16, executor=fvp),
        record(folder, "wrong", change=flip),
        record(folder, "zeros", change=np.zeros_like),
        record(folder, "crash", ending=crash, console=HOSTILE.encode() + b"\nlast line\n"),
    ]
    records.append(replace(records[0], network=HOSTILE, case_id=HOSTILE))
    write_html(folder / "report.html", records)
    return (folder / "report.html").as_uri()


def wait_for(driver: Any, script: str, seconds: float = 10.0) -> Any:
    """The script's value once it is true."""
    end = time.monotonic() + seconds
    while not (value := driver.execute_script(f"return {script}")):
        assert time.monotonic() < end, f"not within {seconds} s: {script}"
        time.sleep(0.05)
    return value


def visible_rows(driver: Any) -> list[str]:
    return list(driver.execute_script("return [...document.querySelectorAll('#rows b')].map(b => b.textContent)"))


def open_case(driver: Any, page: str, name: str, size: tuple[int, int]) -> None:
    driver.get("about:blank")
    chromium.show(driver, page + CASE_OF.format(name), size)
    wait_for(driver, f"(document.getElementById('case-title') || {{}}).textContent === '{name} int8 fixed'")


@pytest.mark.parametrize("size", [chromium.DESKTOP, chromium.PHONE], ids=["desktop", "phone"])
def test_the_page_is_clean_at_desktop_and_phone(driver: Any, page: str, shots: Path, size: tuple[int, int]) -> None:
    driver.get("about:blank")
    chromium.show(driver, page, size)
    wait_for(driver, "document.querySelectorAll('#rows a').length === 6")
    assert chromium.severe_console(driver) == []
    assert driver.title == "Corstone report"
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert chromium.accessibility_defects(driver) == []
    chromium.screenshot(driver, shots / f"report-list-{size[0]}.png")
    open_case(driver, page, "wrong", size)
    wait_for(driver, "document.querySelectorAll('svg.chart path.s-device').length >= 3")
    assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert chromium.accessibility_defects(driver) == []
    chromium.screenshot(driver, shots / f"report-case-{size[0]}.png", full=True)
    assert chromium.severe_console(driver) == []


def test_filters_narrow_the_list_and_the_address_remembers_them(driver: Any, page: str) -> None:
    chromium.show(driver, page, chromium.DESKTOP)
    driver.get("about:blank")
    driver.get(page)
    wait_for(driver, "document.querySelectorAll('#rows a').length === 6")
    assert visible_rows(driver)[0] == "crash int8 fixed"
    driver.execute_script("document.querySelector('#bar .v-FAILED').click()")
    assert visible_rows(driver) == ["wrong int8 fixed", "zeros int8 fixed"]
    assert driver.execute_script("return document.getElementById('count').textContent") == "2 of 6 cases"
    address = driver.current_url
    assert "verdict=FAILED" in address
    driver.get("about:blank")
    driver.get(address)
    wait_for(driver, "document.querySelectorAll('#rows a').length === 2")
    driver.execute_script("document.querySelector('#filters button[type=reset]').click()")
    wait_for(driver, "document.querySelectorAll('#rows a').length === 6")
    chosen = driver.find_element("css selector", "[name=by]")
    chosen.send_keys("Arm FVP")
    wait_for(driver, "document.querySelectorAll('#rows a').length === 1")
    assert visible_rows(driver) == ["asin int16 fixed"]
    assert driver.execute_script("return document.querySelector('#rows .badge').textContent") == "ARM FVP"


def test_a_case_shows_curve_errors_edges_worst_elements_and_repro(driver: Any, page: str) -> None:
    open_case(driver, page, "wrong", chromium.DESKTOP)
    text = wait_for(driver, "document.getElementById('case').innerText")
    for heading in (
        "Output over the input",
        "Error over the whole domain",
        "Device against table",
        "The edges, enlarged",
    ):
        assert heading in text
    for words in ("EMULATOR", "not an Arm product", "corstone check wrong --bits 8", "int8 codes -128..127", "0.5 LSB"):
        assert words in text
    wait_for(driver, "document.querySelector('svg text.label')")
    labels = driver.execute_script("return [...document.querySelectorAll('svg text.label')].map(t => t.textContent)")
    assert {"input value", "output value", "error in LSB"} <= set(labels)
    # The one wrong element is over its budget: crosses, not colour, say so.
    assert driver.execute_script("return document.querySelectorAll('path.over').length") >= 2


def test_a_chart_is_read_by_keyboard(driver: Any, page: str) -> None:
    from selenium.webdriver.common.keys import Keys

    open_case(driver, page, "acos", chromium.DESKTOP)
    chart = driver.find_element("css selector", "svg.chart")
    chart.send_keys(Keys.HOME)
    tip = driver.find_element("id", "tip")
    assert tip.is_displayed()
    assert "input" in tip.text
    assert "-1" in tip.text
    first = tip.text
    chart.send_keys(Keys.ARROW_RIGHT)
    assert tip.text != first
    chart.send_keys(Keys.ESCAPE)
    assert not tip.is_displayed()


def test_keys_walk_through_the_cases(driver: Any, page: str) -> None:
    driver.get("about:blank")
    chromium.show(driver, page, chromium.DESKTOP)
    wait_for(driver, "(document.getElementById('case-title') || {}).textContent === 'crash int8 fixed'")
    driver.find_element("css selector", "body").send_keys("j")
    wait_for(driver, "document.getElementById('case-title').textContent === 'wrong int8 fixed'")
    driver.find_element("css selector", "body").send_keys("k")
    wait_for(driver, "document.getElementById('case-title').textContent === 'crash int8 fixed'")
    driver.find_element("css selector", "body").send_keys("/")
    assert driver.switch_to.active_element.get_attribute("name") == "q"


def test_a_crash_opens_its_transcript_and_hostile_bytes_stay_text(driver: Any, page: str) -> None:
    open_case(driver, page, "crash", chromium.DESKTOP)
    text = wait_for(driver, "document.querySelector('#case details[open] pre').innerText")
    assert "<script>document.title='owned'</script>" in text
    assert "\\x1b[31m\\u202e" in text
    assert driver.title == "Corstone report"
    assert driver.execute_script("return document.querySelectorAll('#case img, #rows img').length") == 0


def test_on_a_phone_a_case_takes_the_page_and_gives_it_back(driver: Any, page: str) -> None:
    driver.get("about:blank")
    chromium.show(driver, page, chromium.PHONE)
    wait_for(driver, "document.querySelectorAll('#rows a').length === 6")
    driver.execute_script("document.querySelector('#rows a').click()")
    wait_for(driver, "document.body.classList.contains('open') && document.getElementById('back')")
    assert not driver.find_element("id", "list").is_displayed()
    driver.find_element("id", "back").click()
    assert driver.find_element("id", "list").is_displayed()
    assert not driver.find_element("id", "case").is_displayed()


def test_light_and_dark(driver: Any, page: str) -> None:
    open_case(driver, page, "acos", chromium.DESKTOP)
    look = "return getComputedStyle(document.body).backgroundColor"
    before = driver.execute_script(look)
    driver.find_element("id", "theme").click()
    assert driver.execute_script(look) != before
    assert chromium.accessibility_defects(driver) == []
    driver.find_element("id", "theme").click()
    assert driver.execute_script(look) == before


def test_three_thousand_cases_are_listed_in_parts_and_found(
    driver: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    base = record(tmp_path_factory.mktemp("many"), "acos")
    # Without their captures, which other tests draw: here the number counts.
    records = [replace(base, case_id=f"case-{i}", network=f"net{i}", capture="") for i in range(3000)]
    write_html(tmp_path / "report.html", records)
    driver.get("about:blank")
    chromium.show(driver, (tmp_path / "report.html").as_uri(), chromium.DESKTOP)
    wait_for(driver, "document.querySelectorAll('#rows a').length > 0")
    assert driver.execute_script("return document.querySelectorAll('#rows a').length") < 1000
    search = driver.find_element("css selector", "[name=q]")
    search.send_keys("case-2999")
    assert visible_rows(driver) == ["net2999 int8 fixed"]
    driver.find_element("css selector", "#rows a").click()
    wait_for(driver, "document.getElementById('case-title').textContent === 'net2999 int8 fixed'")
    assert chromium.severe_console(driver) == []
