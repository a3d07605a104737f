"""Which combinations a sweep has, and what its plots draw."""

from __future__ import annotations

import re

import numpy as np
import pytest

from corstone.accuracy.plot import Line, Plot, svg
from corstone.accuracy.sweep import requests
from corstone.errors import ConfigError


def test_combinations_that_do_not_exist_are_refused_with_the_reason() -> None:
    cases, refused = requests(["acos", "asin"], [8, 16], ["fixed", "edge_exact", "segmented"], ["ethos-u55-128"])
    assert len(cases) == 8
    assert {(r.bits, r.policy) for r in refused} == {(16, "edge_exact"), (8, "segmented")}
    assert all(r.reason for r in refused)


def test_nothing_left_and_unknown_policies_are_the_callers_error() -> None:
    with pytest.raises(ConfigError, match="int8 only"):
        requests(["acos"], [16], ["edge_exact"], ["ethos-u55-128"])
    with pytest.raises(ConfigError, match="no such"):
        requests(["acos"], [8], ["fixed", "nonsense"], ["ethos-u55-128"])


def test_an_outlier_among_many_points_is_drawn() -> None:
    x = np.linspace(-1, 1, 65536)
    y = np.zeros(65536)
    y[40_001] = 461.0
    text = svg(Plot("error", x, (Line(y, "device"),), "input", "|error|, LSB"))
    assert "input" in text
    assert "|error|, LSB" in text
    path = re.search(r'class="device" d="([^"]+)"', text)
    assert path is not None
    heights = [float(v) for v in re.findall(r"[ML][\d.]+ ([\d.]+)", path[1])]
    assert min(heights) < 30 < max(heights)
    assert len(heights) < 1000


def test_missing_values_break_the_line() -> None:
    x = np.arange(5.0)
    text = svg(Plot("p", x, (Line(np.array([0, 1, np.nan, 1, 0.0]), "float"),), "input", "output"))
    path = re.search(r'class="float" d="([^"]+)"', text)
    assert path is not None
    assert path[1].count("M") == 2
