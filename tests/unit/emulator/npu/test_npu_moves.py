"""Moves that Vela writes and the stored networks lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

INDEX = 0xC0000
Make = Callable[[str], Any]


@pytest.mark.parametrize("side", ["SRC", "DST"])
def test_one_row_is_moved_by_its_index_in_mode_1d(bench: Make, side: str) -> None:
    """As Vela 5.1 writes ``index_copy`` of a single row: 1D, indexed, with a row step on the indexed side alone."""
    b = bench("ethos-u85-256")
    b.output((1, 1, 1), "i1")
    b.data[:20], b.data[0x8000:0x8014] = np.arange(20), 99
    b.data[INDEX : INDEX + 4] = np.array([2], "<i4").view(np.uint8)
    b.a.set("DMA0_SRC_REGION", region=0, stride="1D", indexed=int(side == "SRC"))
    b.a.set("DMA0_DST_REGION", region=1, indexed=int(side == "DST"))
    b.a.set("DMA0_SRC", 0).set("DMA0_DST", 0x8000).set("DMA0_LEN", 5).set("DMA0_SIZE0", 1)
    b.a.set(f"DMA0_{side}_STRIDE0", 5).set("DMA0_IDX_REGION", 1).set("DMA0_IDX", INDEX).set("DMA0_IDX_MAX", 3)
    b.run("DMA_START")
    wanted = np.full(20, 99)
    if side == "SRC":
        wanted[:5] = np.arange(10, 15)
    else:
        wanted[10:15] = np.arange(5)
    assert b.data[0x8000:0x8014].tolist() == wanted.tolist()
