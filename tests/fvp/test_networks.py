"""acos, asin and atanh on a board, every input code, at each width: the main job as tests."""

from __future__ import annotations

import pytest

from corstone.causes import Cause, Outcome
from pytest_corstone.device import Corstone

NETWORKS = ("acos", "asin", "atanh")


@pytest.mark.fvp(policies="fixed")
@pytest.mark.parametrize("network", NETWORKS)
def test_every_code_is_exact_and_within_budget(corstone: Corstone, network: str) -> None:
    record = corstone.check(network)
    exact = {c.reference: c.count for c in record.verdict.comparisons if c.exact}
    codes = 256 if corstone.bits == 8 else 65536
    assert exact == {"table": codes, "tosa": codes}


@pytest.mark.fvp(policies="fixed", bits=8)
@pytest.mark.parametrize("network", NETWORKS)
def test_an_observers_scale_is_found_out_of_domain(corstone: Corstone, network: str) -> None:
    record = corstone.check(network, policy="observer", expect=Outcome.FAILED)
    assert record.verdict.cause is Cause.OUT_OF_DOMAIN
