"""Programs for unit tests: lowered once per session, all in one child, into a cache that workers share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from corstone.errors import HarnessError
from corstone.lowering import LowerRequest, lower_all
from corstone.program import Program
from corstone_models.stimuli import upstream

# The same examples in every run: a red suite says that something changed, and looking for news is the fuzzers' work
# (scripts/fuzz). HYPOTHESIS_PROFILE=default draws fresh ones.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

NETWORKS = ("acos", "asin", "atanh")
# (network, bits, policy): what tests ask ``programs`` for.
CASES = [
    (network, bits, policy)
    for policy in ("fixed", "observer", "edge_exact", "upstream")
    for network in NETWORKS
    for bits in (8, 16)
    if (bits, policy) != (16, "edge_exact")
]

# The same networks in the shapes of ExecuTorch's own test data (``corstone_models.stimuli.upstream``), fixed policy.
UPSTREAM = [
    ("acos", 8, "edge_cases"),
    ("acos", 16, "2d_batch"),
    ("acos", 8, "4d_random"),
    ("asin", 16, "pos_rand"),
    ("atanh", 8, "near_bounds"),
]

Programs = Callable[[str, int, str], Program]


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cache of this session, one for all workers; ``CORSTONE_CACHE`` where it is set."""
    given = os.environ.get("CORSTONE_CACHE")
    if given:
        return Path(given)
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "corstone-cache"


@pytest.fixture
def lowering_cache(session_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The session's cache, in force during one test."""
    monkeypatch.setenv("CORSTONE_CACHE", str(session_cache))
    return session_cache


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one test's own."""
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(scope="session")
def lowered(session_cache: Path) -> dict[tuple[str, int, str], Program]:
    """All programs of ``CASES``, and of ``UPSTREAM`` by the data's name."""
    requests = [LowerRequest(network, bits=bits, policy=policy) for network, bits, policy in CASES]
    requests += [
        LowerRequest(network, bits=bits, shapes=(upstream(network)[data].shape,)) for network, bits, data in UPSTREAM
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CORSTONE_CACHE", str(session_cache))
        results = lower_all(requests)
    programs: dict[tuple[str, int, str], Program] = {}
    for case, result in zip(CASES + UPSTREAM, results, strict=True):
        if isinstance(result, HarnessError):
            raise result
        programs[case] = result
    return programs


@pytest.fixture
def programs(lowered: dict[tuple[str, int, str], Program], lowering_cache: Path) -> Programs:
    """``programs("acos", 8, "fixed")``: a lowered program, with the cache it lies in in force."""
    return lambda network, bits, policy: lowered[network, bits, policy]
