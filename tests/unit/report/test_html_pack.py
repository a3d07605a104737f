"""A packed line gives back what went in: JSON as it was, series as float32, a gap where nothing can be drawn."""

from __future__ import annotations

import base64
import re
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.report.html_pack import pack, unpack


@given(st.lists(st.lists(st.floats(width=32, allow_subnormal=False), max_size=40), max_size=5), st.text(max_size=20))
def test_text_and_series_come_back(series: list[list[float]], text: str) -> None:
    found = unpack(pack({"t": text, "deep": [{"s": np.array(s, np.float64)} for s in series], "none": None}))
    wanted = [{"s": [v if np.isfinite(v) else None for v in s]} for s in series]
    assert found == {"t": text, "deep": wanted, "none": None}


def test_codes_and_single_precision_stay_what_they_are() -> None:
    codes = np.array([-32768, -1, 0, 32767], np.int64)
    values = np.array([0.1, -3.25], np.float32)
    found = unpack(pack({"c": codes, "d": values}))
    assert found == {"c": codes.tolist(), "d": values.tolist()}


def test_a_difference_too_large_for_a_float32_is_drawn_as_the_largest() -> None:
    largest = float(np.finfo(np.float32).max)
    assert unpack(pack({"e": np.array([1e300, -1e39])})) == {"e": [largest, -largest]}


def test_a_nul_in_a_text_is_not_the_end_of_the_json() -> None:
    assert unpack(pack({"t": "a\x00b", "s": np.array([1.0])})) == {"t": "a\x00b", "s": [1.0]}


def test_a_line_holds_nothing_that_ends_its_element_and_a_nul_and_planes_behind_the_json() -> None:
    line = pack({"s": np.array([1.0, 2.0])})
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", line)
    text, _, planes = zlib.decompress(base64.b64decode(line), -zlib.MAX_WBITS).partition(b"\x00")
    assert text == b'{"s":{"f32":[0,2]}}'
    assert planes == bytes([0, 0, 0, 0, 0x80, 0, 0x3F, 0x40])  # 0x3f800000 and 0x40000000, byte by byte


def test_what_json_lacks_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        pack({"x": float("nan")})
    with pytest.raises(TypeError, match="object cannot be packed"):
        pack({"x": object()})
