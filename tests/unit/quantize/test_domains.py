"""The table of unary operators, against torch in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest

from corstone.quantize.domains import RESTRICTED, UNARY, unary


def test_functions_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x = np.concatenate([np.linspace(-6, 6, 1001), np.linspace(-1, 1, 1001), [0.0, -0.0, 1e-9, 0.99999]])
    given = torch.from_numpy(x)
    for name, row in UNARY.items():
        want = getattr(torch.ops.aten, name).default(given).numpy()
        got = row(x)
        assert np.array_equal(np.isnan(want), np.isnan(got)), name
        known = np.isfinite(want)
        assert np.allclose(got[known], want[known], rtol=1e-12, atol=1e-12), name


@pytest.mark.parametrize("name", sorted(UNARY))
def test_domains_say_where_a_function_has_a_value(name: str) -> None:
    row = UNARY[name]
    x = np.concatenate([np.linspace(-3, 3, 6001), [np.nextafter(1.0, 0), np.nextafter(1.0, 2), -0.999999999]])
    x = x[~np.isin(x, row.poles)]
    assert np.array_equal(row.domain.holds(x), np.isfinite(row(x)))
    for pole in row.poles:
        assert not math.isfinite(row(pole)), pole


def test_restricted_operators_are_those_the_guard_must_know() -> None:
    wanted = {"acos", "acosh", "asin", "atanh", "erfinv", "log", "log10", "log1p", "reciprocal", "rsqrt", "sqrt"}
    assert set(RESTRICTED) == wanted


@pytest.mark.parametrize(
    ("exponent", "lowest", "open_", "poles", "steep"),
    [
        (0.5, 0.0, False, (), (0.0,)),
        (1.5, 0.0, False, (), ()),
        (-0.5, 0.0, True, (0.0,), ()),
        (2.0, -math.inf, False, (), ()),
        (-1.0, -math.inf, False, (0.0,), ()),
    ],
)
def test_powers(
    exponent: float, lowest: float, open_: bool, poles: tuple[float, ...], steep: tuple[float, ...]
) -> None:
    row = unary("pow", [exponent])
    assert row is not None
    assert (row.domain.lo, row.domain.lo_open, row.poles, row.steep) == (lowest, open_, poles, steep)
    assert row(4.0) == pytest.approx(4.0**exponent)


def test_constants_decide_the_function() -> None:
    leaky, elu, remainder, unknown = (
        unary("leaky_relu", [0.1]),
        unary("elu", [2.0]),
        unary("remainder", [0.5]),
        unary("softmax"),
    )
    assert leaky is not None
    assert leaky(-2.0) == pytest.approx(-0.2)
    assert elu is not None
    assert elu(-1.0) == pytest.approx(2 * math.expm1(-1))
    assert remainder is not None
    assert remainder(-0.2) == pytest.approx(0.3)
    assert unknown is None
    assert unary("pow") is None
