"""acos, asin and atanh with the policy edge_exact.

They run where ``--corstone-policy`` asks for it, as cells of the matrix do."""

from __future__ import annotations

import pytest

from pytest_corstone.device import Corstone


@pytest.mark.fvp(policies="edge_exact", bits=8)
@pytest.mark.parametrize("network", ["acos", "asin", "atanh"])
def test_every_code_is_exact_and_within_budget_with_exact_edges(corstone: Corstone, network: str) -> None:
    record = corstone.check(network)
    assert record.policy == "edge_exact"
    assert {c.reference: c.count for c in record.verdict.comparisons if c.exact} == {"table": 256, "tosa": 256}
