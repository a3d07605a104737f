"""The domain guard on tables made for it: each kind of finding, with its severity, its codes and its repair."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.accuracy.making import int8, int16, table, with_entries

from corstone.accuracy.finding import Finding, GuardReport, Kind, Severity
from corstone.accuracy.guard import guard_table, reachable_codes
from corstone.accuracy.tables import TableUse
from corstone.quantize.domains import RESTRICTED, UNARY


def of(use: TableUse, kind: Kind, calibration: list[int] | None = None) -> list[Finding]:
    codes = None if calibration is None else np.array(calibration)
    return [f for f in guard_table(use, codes) if f.kind is kind]


def test_a_clean_table_has_no_findings() -> None:
    assert guard_table(table("tanh", int8(0.03), int8(1 / 128))) == ()
    assert guard_table(table("acos", int8(1 / 127, qmin=-127), int8(math.pi / 255, -128))) == ()
    assert guard_table(table("sigmoid", int16(8 / 32767), int16(1 / 32767))) == ()


def test_codes_outside_the_domain_that_inputs_inside_become() -> None:
    observed = table("acos", int8(0.0078393), int8(math.pi / 255, -128))
    (found,) = of(observed, Kind.CODE_OUTSIDE, [-128, -128, 3])
    assert (found.severity, found.codes, found.hits) == (Severity.ERROR, (-128, -128, 1), 2)
    assert "1.577 (code 0)" in found.message
    assert "edge_exact" in found.repair
    (nan,) = of(observed, Kind.NAN_ENTRY)
    assert nan.severity is Severity.ERROR
    assert "made from NaN, stored as 0" in nan.message


def test_codes_outside_that_no_input_inside_becomes_are_a_note_until_calibration_meets_them() -> None:
    # [-0.1, 4]: the codes below zero are there, and no valid input of sqrt becomes one.
    wide = table("sqrt", int8(4.1 / 255, -122), int8(2 / 255, -128))
    (quiet,) = of(wide, Kind.OBSERVED_OUTSIDE)
    assert (quiet.severity, quiet.codes) == (Severity.NOTE, (-128, -123, 6))
    (met,) = of(wide, Kind.OBSERVED_OUTSIDE, [-128, -125, 0, 0])
    assert (met.severity, met.hits) == (Severity.WARNING, 2)
    assert "torch.clamp(x, 0, inf)" in met.repair
    assert not of(wide, Kind.CODE_OUTSIDE)


def test_one_bad_node_spoils_the_codes_beside_it() -> None:
    observed = table("acos", int16(1 / 32767), int16(math.pi / 32767))
    (found,) = of(observed, Kind.NODE_OUTSIDE)
    assert found.severity is Severity.ERROR
    # 127 codes at each end: those between the outermost good node and the bad one.
    assert found.codes == (-32767, 32767, 254)
    assert found.lsb == pytest.approx(32500, rel=0.01)
    assert "2 nodes at -32768, 32768" in found.message
    assert not of(table("acos", int16(2.0**-15), int16(math.pi / 32767)), Kind.NODE_OUTSIDE)


def test_nan_and_infinity_are_told_apart() -> None:
    pole = table("log", int8(4 / 255, -128), int8(4.6 / 127))
    (infinite,) = of(pole, Kind.INFINITE_ENTRY)
    assert infinite.severity is Severity.NOTE
    assert "made from infinity, stored as -128" in infinite.message
    assert not of(pole, Kind.NAN_ENTRY)
    (met,) = of(pole, Kind.INFINITE_ENTRY, [-128])
    assert met.severity is Severity.WARNING


def test_a_pole_on_an_int16_node_is_carried_into_its_neighbours() -> None:
    (found,) = of(table("reciprocal", int16(4 / 32767), int16(20 / 32767)), Kind.NODE_OUTSIDE)
    assert found.codes == (-127, 127, 254)
    (slope,) = of(table("reciprocal", int16(4 / 32767), int16(20 / 32767)), Kind.SLOPE)
    assert slope.severity is Severity.ERROR


@pytest.mark.parametrize(("bits", "count"), [(8, 255), (16, 512), (16, 514)])
def test_the_number_of_entries(bits: int, count: int) -> None:
    use = table("tanh", int8(0.03) if bits == 8 else int16(8 / 32767), int8(1 / 128) if bits == 8 else int16(1 / 32767))
    (found,) = guard_table(replace(use, entries=np.resize(use.entries, count)))
    assert (found.kind, found.severity) == (Kind.ENTRY_COUNT, Severity.ERROR)
    assert ("N instead of N + 1" in found.message) == (count in (255, 512))


def test_a_wrong_entry_is_found_and_named() -> None:
    use = table("tanh", int8(0.03), int8(1 / 128))
    (found,) = guard_table(with_entries(use, e140=-77))
    assert (found.kind, found.codes) == (Kind.WRONG_ENTRY, (12, 12, 1))
    assert f"entry 140 is -77, expected {use.entries[140]}" in found.message


def test_one_step_is_float32_against_float64() -> None:
    use = table("tanh", int8(0.03), int8(1 / 128))
    assert guard_table(with_entries(use, e140=int(use.entries[140]) + 1)) == ()


def test_constant_tables() -> None:
    use = table("sigmoid", int16(8 / 32768), int16(1 / 4096))
    (found,) = of(replace(use, entries=np.zeros_like(use.entries)), Kind.CONSTANT)
    assert found.severity is Severity.ERROR
    # A function that is constant over its codes may have a constant table; it is still worth a look.
    (flat,) = of(table("sigmoid", int8(0.0001), int8(1 / 128)), Kind.CONSTANT)
    assert flat.severity is Severity.WARNING


def test_truncated_tables_say_how_many_bits_were_lost() -> None:
    use = table("sigmoid", int16(8 / 32768), int16(1 / 32767))
    (found,) = of(replace(use, entries=use.entries >> 7), Kind.TRUNCATED)
    assert "7 low bits were shifted out" in found.message


def test_degenerate_tables_use_fewer_than_ten_bits() -> None:
    (found,) = of(table("sigmoid", int16(8 / 32767), int16(1 / 400)), Kind.DEGENERATE)
    assert "9 of 16 bits" in found.message
    assert not of(table("sigmoid", int16(8 / 32767), int16(1 / 1024)), Kind.DEGENERATE)


def test_a_flat_last_interval_and_an_endpoint_off_by_one() -> None:
    use = table("exp", int16(2.0**-12), int16(math.exp(8) / 32767))
    (flat,) = of(with_entries(use, e512=int(use.entries[511])), Kind.FLAT_LAST)
    assert (flat.severity, flat.codes) == (Severity.ERROR, (32641, 32767, 127))
    last = int(np.rint(math.exp(32767 / 4096) / math.exp(8) * 32767))
    (off,) = of(with_entries(use, e512=last), Kind.ENDPOINT)
    assert f"node 512 is {last}, expected {use.entries[512]}" in off.message
    assert not of(use, Kind.FLAT_LAST)
    assert not of(use, Kind.ENDPOINT)


def test_ends_that_no_code_stands_for() -> None:
    (found,) = of(table("acos", int8(2 / 256), int8(math.pi / 255, -128)), Kind.END_CLIPPED)
    assert "upper end 1 becomes code 127, which stands for 0.9921875" in found.message
    assert found.lsb == pytest.approx(10.15, abs=0.01)
    assert "edge_exact" in found.repair


def test_answers_beyond_the_output_range() -> None:
    (found,) = of(table("asin", int8(2 / 256), int8(1.4 / 127)), Kind.OUTPUT_CLIPPED)
    assert found.codes is not None
    assert found.codes[0] == -128
    assert found.lsb == pytest.approx((math.pi / 2 / (1.4 / 127)) - 128, abs=0.01)


@pytest.mark.parametrize(
    ("name", "scale", "largest"), [("acos", 2.0**-15, 231), ("asin", 2.0**-15, 461), ("atanh", 1.99998 / 65536, 8578)]
)
def test_interpolation_that_cannot_follow(name: str, scale: float, largest: float) -> None:
    output = {"acos": math.pi, "asin": math.pi / 2, "atanh": math.atanh(0.99999)}[name] / 32767
    (found,) = of(table(name, int16(scale), int16(output)), Kind.INTERPOLATION)
    assert found.lsb == pytest.approx(largest, rel=0.01)
    assert "segmented" in found.repair


def test_reachable_codes_of_open_and_half_open_domains() -> None:
    assert reachable_codes(UNARY["acosh"], int8(4.02 / 255, -128)) == (-65, 127)
    assert reachable_codes(UNARY["atanh"], int8(1.998 / 256)) == (-128, 127)
    assert reachable_codes(UNARY["tanh"], int8(0.1)) == (-128, 127)


@pytest.mark.parametrize("name", RESTRICTED)
def test_every_restricted_operator_is_looked_at(name: str) -> None:
    """A range of codes far beyond each domain or over its pole gives findings for each of them."""
    output = int16(8 / 32767)
    findings = guard_table(table(name, int16(8 / 32767), output))
    kinds = {f.kind for f in findings}
    assert kinds & {Kind.NAN_ENTRY, Kind.INFINITE_ENTRY}
    assert kinds & {Kind.NODE_OUTSIDE, Kind.OBSERVED_OUTSIDE, Kind.INTERPOLATION}
    assert all(f.repair for f in findings)


def test_a_table_of_unknown_origin_is_looked_at_by_its_shape() -> None:
    nothing = TableUse(0, "x", "t", np.zeros(513, np.int64), 16)
    (found,) = guard_table(nothing)
    assert (found.kind, found.table) == (Kind.CONSTANT, "TABLE of t")


def test_a_report_sorts_the_worst_first_and_becomes_json() -> None:
    use = table("acos", int8(0.0078393), int8(math.pi / 255, -128))
    from corstone.accuracy.finding import worst_first

    report = GuardReport("acos", (use.label,), worst_first(guard_table(use)))
    orders = [f.severity.order for f in report.findings]
    assert orders == sorted(orders)
    assert report.to_json()["findings"][0]["severity"] == "error"
    assert report.errors == report.findings[: len(report.errors)]
