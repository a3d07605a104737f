"""docs/findings.md comes out of a sweep, and holds the figures that this project began with."""

from __future__ import annotations

from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "findings.md"


def rows(heading: str) -> dict[tuple[str, ...], list[str]]:
    """The table under a heading, by network, bits, policy and (at the ends) input."""
    section = PAGE.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    cells = [[c.strip() for c in line.strip("|").split("|")] for line in section.splitlines() if line.startswith("|")]
    keys = 5 if "input" in cells[0] else 4
    return {tuple(c for i, c in enumerate(row[:keys]) if i != 3): row[keys:] for row in cells[2:]}


@pytest.mark.parametrize(
    ("network", "bits", "policy", "x", "device", "exact", "verdict"),
    [
        ("acos", "8", "observer", "-1", 1.576, 3.142, "FAILED (out-of-domain)"),
        ("asin", "8", "observer", "-1", 0.0, -1.571, "FAILED (out-of-domain)"),
        ("atanh", "8", "observer", "-0.999", 0.0, -3.800, "FAILED (out-of-domain)"),
        ("acos", "16", "observer", "-1", 0.024, 3.142, "FAILED (out-of-domain)"),
        ("asin", "16", "observer", "-1", -0.012, -1.571, "FAILED (out-of-domain)"),
        ("acos", "8", "fixed", "1", 0.123, 0.0, "PASSED"),
        ("asin", "8", "fixed", "1", 1.441, 1.571, "PASSED"),
        ("atanh", "8", "fixed", "0.999", 2.711, 3.800, "PASSED"),
    ],
)
def test_the_finding_table_at_the_ends(
    network: str, bits: str, policy: str, x: str, device: float, exact: float, verdict: str
) -> None:
    got = rows("At the ends of the domain")[network, bits, policy, x]
    assert float(got[0]) == pytest.approx(device, abs=6e-4)
    assert float(got[1]) == pytest.approx(exact, abs=6e-4)
    assert got[-1] == verdict


@pytest.mark.parametrize(
    ("network", "lsb", "absolute", "over"),
    [("acos", 231, 0.022, 1.7), ("asin", 461, 0.022, 2.8), ("atanh", 8578, 1.6, 4.2)],
)
def test_one_int16_table_over_every_code(network: str, lsb: float, absolute: float, over: float) -> None:
    codes, worst, far, share, equal, why = rows("Over every code")[network, "16", "fixed"]
    assert codes == "65,535"
    assert float(worst) == pytest.approx(lsb, abs=0.5)
    assert float(far) == pytest.approx(absolute, abs=3e-3)
    assert float(share.removesuffix(" %")) == over
    assert (equal, why) == ("yes", "lowering (TOSA): interpolation")
