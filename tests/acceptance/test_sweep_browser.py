"""The page of a sweep in a real Chromium at desktop and phone width: layout, console, axes with units, lines in grey.

Screenshots are kept in ``CORSTONE_ARTIFACTS`` when it names a folder.
"""

from __future__ import annotations

import math
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.acceptance import chromium

from corstone.accuracy.curve import Curve
from corstone.accuracy.sweep import Refused, Swept
from corstone.accuracy.sweep_page import write_page
from corstone.accuracy.tables import TableUse
from corstone.capture import Executor
from corstone.causes import Cause, Outcome
from corstone.judge.verdict import Verdict
from corstone.program import QParams
from corstone.report.record import CaseRecord

SIZES = {"desktop": chromium.DESKTOP, "phone": chromium.PHONE}
LONG = "quantization: code outside the domain at [0]: " + "an_identifier_without_any_space_in_it_" * 8


def curve(network: str, bits: int, policy: str) -> Curve:
    """What a device a little off would answer, from formulas."""
    span = 2**bits
    given = QParams(2.01 / span, 0, -span // 2, span // 2 - 1, f"int{bits}")
    output = QParams(math.pi / span, 0, -span // 2, span // 2 - 1, f"int{bits}")
    codes = np.arange(-span // 2, span // 2)
    x = codes * given.scale
    with np.errstate(invalid="ignore"):
        exact = np.arcsin(x) if network == "asin" else np.arctanh(x * 0.9)
    device = np.round(np.nan_to_num(exact) / output.scale) * output.scale
    device[-20:] += 30 * output.scale
    judged = ~np.isnan(exact)
    error = np.where(judged, np.abs(device - np.nan_to_num(exact)) / output.scale, 0.0)
    case = f"{network}-int{bits}-{policy}-ethos-u55-128-corstone-300-codes"
    verdict = Verdict(Outcome.FAILED, Cause.ACCURACY, f"{network}: 20 elements are beyond their budget", LONG)
    executor = Executor("emulator", "corstone-emulator", "0.1.0")
    record = CaseRecord(
        case, network, bits, policy, "ethos-u55-128", "corstone-300", "codes", verdict, executor, capture="c"
    )
    entries = np.zeros(256 if bits == 8 else 513, np.int64)
    use = TableUse(0, "x", "t", entries, bits, network, network, (), given, output)
    values = {"float": exact, "fake-quantized": device * 0.99, "tosa": device, "device": device}
    return Curve(record, given, output, codes, x, values, error, judged, (use,), {"operations": 1.0}, (LONG,))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    curves = (curve("asin", 8, "fixed"), curve("asin", 8, "observer"), curve("atanh", 16, "fixed"))
    refused = (Refused("asin", 16, "edge_exact", "", LONG),)
    swept = Swept(tuple(c.record for c in curves), curves, {}, refused)
    return write_page(tmp_path_factory.mktemp("sweep") / "sweep.html", swept, "Sweep of asin, atanh").as_uri()


def _png(data: bytes) -> tuple[tuple[int, int], int]:
    """Width and height of a PNG, and how many values its filtered bytes have: 1 or 2 in an empty picture."""
    assert data.startswith(b"\x89PNG")
    at, packed = 8, b""
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += 12 + length
    width, height = struct.unpack_from(">II", data, 16)
    return (width, height), len(set(zlib.decompress(packed)))


@pytest.fixture(params=sorted(SIZES))
def opened(request: pytest.FixtureRequest, driver: Any, page: str) -> Any:
    """The driver with the page open at one of the widths."""
    chromium.show(driver, page, SIZES[request.param])
    driver.current_size = request.param
    return driver


def test_the_page_fits_its_window_and_logs_nothing(opened: Any, shots: Path) -> None:
    width, shown = opened.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert width <= shown == SIZES[opened.current_size][0]
    outside = opened.execute_script(
        "return [...document.querySelectorAll('svg, article, figure, h1, h2, p, li')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML.slice(0, 80))"
    )
    assert outside == []
    assert opened.get_log("browser") == []
    picture = chromium.screenshot(opened, shots / f"sweep-{opened.current_size}.png")
    size, shades = _png(picture.read_bytes())
    assert size == SIZES[opened.current_size]
    assert shades > 20


def test_every_axis_is_drawn_with_a_unit(opened: Any) -> None:
    labels = opened.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(s => [...s.querySelectorAll('text.label')]"
        ".map(t => [t.textContent, t.getBBox().width, parseFloat(getComputedStyle(t).fontSize)]))"
    )
    assert len(labels) == 3 * 5
    for pair in labels:
        assert len(pair) == 2
        for text, width, _ in pair:
            assert re.search(r", (real value|rad|LSB)( \(codes -?\d+ to -?\d+\))?$", text), text
            assert 0 < width <= 420
    texts = {text for pair in labels for text, *_ in pair}
    assert {"output, rad", "output, real value", "|error|, LSB", "|error|, rad"} <= texts


def test_curves_and_legend_are_told_apart_without_colour(opened: Any) -> None:
    looks = opened.execute_script(
        "return [...document.querySelectorAll('figure svg, .legend')].map(s => [...s.querySelectorAll('path')]"
        ".filter(p => !/^(grid|axis)$/.test(p.getAttribute('class')))"
        ".map(p => [p.getAttribute('class'), getComputedStyle(p).strokeWidth, getComputedStyle(p).strokeDasharray]))"
    )
    assert max(map(len, looks)) == 4
    for lines in looks:
        drawn = [(float(width.removesuffix("px")), dash) for _, width, dash in lines]
        assert all(width > 0 for width, _ in drawn)
        for i, (width, dash) in enumerate(drawn):
            for other, pattern in drawn[i + 1 :]:
                assert dash != pattern or max(width, other) >= 2 * min(width, other)
    named = {name: (width, dash) for lines in looks for name, width, dash in lines}
    assert set(named) == {"float", "fake-quantized", "tosa", "device"}


def test_nothing_serious_for_assistive_technology(driver: Any, page: str) -> None:
    chromium.show(driver, page, chromium.PHONE)
    assert chromium.accessibility_defects(driver) == []
