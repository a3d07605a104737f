"""Our decoder of SWD weight streams against Vela's own codec, on weights of every shape of distribution.

Only streams that Vela's encoder wrote: its decoder ends the process on others (``test_npu_bad_streams`` has those).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corstone.emulator.npu.weights import mlw

codec = pytest.importorskip("ethosu.mlw_codec", reason="Vela, whose codec is compared with, is not installed")

DRAWS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "even over nine bits": lambda rng, n: rng.integers(-255, 256, n),
    "narrow": lambda rng, n: np.clip(rng.normal(0, 9, n), -255, 255).astype(np.int64),
    "mostly zero": lambda rng, n: rng.integers(-255, 256, n) * (rng.random(n) < 0.1),
    "few values": lambda rng, n: rng.choice([-200, -3, 0, 7, 91], n),
    "one value": lambda rng, n: np.full(n, rng.integers(-255, 256)),
    "ends": lambda rng, n: rng.choice([-255, 255], n),
    "sections": lambda rng, n: np.concatenate(
        [rng.integers(-255, 256, n // 2), np.zeros(n // 4, np.int64), rng.integers(-3, 4, n - n // 2 - n // 4)]
    ),
}


@pytest.mark.parametrize("kind", DRAWS)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3000))
@settings(max_examples=25, deadline=None)
def test_what_vela_encodes_comes_back(kind: str, seed: int, count: int) -> None:
    weights = DRAWS[kind](np.random.default_rng(seed), count)
    stream = bytes(codec.encode(weights.tolist()))
    assert mlw.decode(np.frombuffer(stream, np.uint8), count).tolist() == weights.tolist()


def test_long_slices_of_fixed_width_and_of_runs() -> None:
    """Longer than a slice can be (32,768 weights), so that several follow each other."""
    rng = np.random.default_rng(3)
    weights = np.concatenate([rng.integers(-255, 256, 70_000), rng.integers(0, 2, 70_000) * 5])
    stream = bytes(codec.encode(weights.tolist()))
    assert np.array_equal(mlw.decode(np.frombuffer(stream, np.uint8), weights.size), weights)
