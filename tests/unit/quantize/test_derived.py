"""Parameters derived from domains: where the ends fall, for any calibrated range."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.accuracy.making import int8, int16, table

from corstone.accuracy.finding import Kind, Severity
from corstone.accuracy.guard import guard_table, reachable_codes
from corstone.accuracy.tables import values_of
from corstone.errors import ConfigError
from corstone.judge.domain import Domain
from corstone.program import QParams
from corstone.quantize.derived import derive
from corstone.quantize.domains import REALS, RESTRICTED, UNARY

WITH_DOMAIN = [name for name in RESTRICTED if UNARY[name].domain != REALS]


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("name", WITH_DOMAIN)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_no_input_inside_the_domain_meets_a_code_or_node_outside(name: str, bits: int, data: st.DataObject) -> None:
    domain = UNARY[name].domain
    lo = data.draw(st.floats(max(domain.lo, -50.0), min(domain.hi, 5.0) - 0.05))
    hi = data.draw(st.floats(max(lo + 0.05, 0.05), min(domain.hi, 1000.0)))
    q = derive(domain, bits, lo, hi)
    first, last = reachable_codes(UNARY[name], q)
    assert domain.holds(values_of(np.arange(first, last + 1), q)).all() or 0.0 in UNARY[name].poles
    assert q.qmin <= q.zero_point <= q.qmax or bits == 8
    wanted = int8(8 / 127) if bits == 8 else int16(8 / 32767)
    findings = guard_table(table(name, q, wanted))
    spoilt = [f for f in findings if f.severity is Severity.ERROR]
    # A pole at zero always is a node of an int16 table: no scale can help.
    assert not spoilt or (bits == 16 and 0.0 in UNARY[name].poles)
    assert not [f for f in findings if f.kind is Kind.CODE_OUTSIDE]


def test_acosh_has_its_end_on_a_code_and_on_a_node() -> None:
    small = derive(UNARY["acosh"].domain, 8, 1.0, 4.02)
    assert (small.qmin, float(values_of([-65], small)[0])) == (-65, 1.0)
    large = derive(UNARY["acosh"].domain, 16, 1.0, 4.02)
    assert large.scale == pytest.approx(1 / 8064)
    assert 8064 % 128 == 0


def test_a_pole_at_zero_is_no_code_at_int8() -> None:
    q = derive(UNARY["log"].domain, 8, 0.01, 4.0)
    assert (q.zero_point, q.qmin) == (-128, -127)
    assert values_of([q.qmin, q.qmax], q) == pytest.approx([4 / 255, 4.0])


def test_both_ends_of_a_domain_reach_equally_far() -> None:
    assert derive(UNARY["erfinv"].domain, 8, -0.9, 0.7) == QParams(0.999 / 127, 0, -127, 127, "int8")
    assert derive(UNARY["atanh"].domain, 16, -0.9, 0.999999).scale == pytest.approx(1.99998 / 65536)


def test_calibration_outside_the_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"nothing in common with the domain \[1, inf\)"):
        derive(Domain(lo=1.0), 8, -3.0, 0.5)
