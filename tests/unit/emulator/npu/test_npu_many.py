"""Many small operations in a row, done at once, against the same operations one by one (as a trace has them)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray

from corstone.emulator.npu import execute
from corstone.emulator.npu import places as module
from corstone.emulator.npu.assemble import Assembler

Make = Callable[[str], Any]
N = np.arange(60)
WRITTEN = 0x80000
SHAPES = [(2, 3, 1), (1, 1, 5), (3, 40, 1), (2, 70, 1)]
ADDRESSES = {
    "one step": N * 130,
    "downwards": N[::-1] * 130,
    "two levels": N // 6 * 1000 + N % 6 * 131,
    "two levels by turns": N // 2 * 300 + N % 2 * 140,
    "other levels": N // 4 * 900 + N % 4 * 140,
    "anywhere": np.random.default_rng(0).permutation(60) * 130,
    "one off": N // 6 * 1000 + N % 6 * 131 + (N == 40) * 4,
    "a row that breaks off": N // 7 * 1000 + N % 7 * 131,
    "over each other": N * 2,
    "over each other on two levels": N // 6 * 7 + N % 6,
}
REGULAR = {"one step", "downwards", "two levels", "two levels by turns", "other levels"}


def stream(b: Any, shape: tuple[int, int, int], reads: NDArray[Any], writes: NDArray[Any], clamp: bool) -> bytes:
    values = np.random.default_rng(1).integers(-128, 128, shape).astype(np.int8)
    b.place("IFM", values)
    b.output(shape, "i1")
    b.a.set("OFM_STRIDE_Y", shape[2]).set("OFM_STRIDE_X", shape[0] * shape[2])
    if clamp:
        b.a.set("ACTIVATION_MAX", 50)
    b.data[: 0x8000 * 4] = np.random.default_rng(2).integers(0, 256, 0x8000 * 4)
    for read, write in zip(reads.tolist(), writes.tolist(), strict=True):
        b.a.set("IFM_BASE0", read).set("OFM_BASE0", WRITTEN + write).op("POOL", mode="AVERAGE")
    whole: bytes = b.a.stream() + Assembler(b.config.product).op("STOP", mask=1).stream()
    return whole


@pytest.mark.parametrize("clamp", [False, True], ids=["copied", "changed"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("writes", ADDRESSES)
@pytest.mark.parametrize("reads", ["two levels", "anywhere"])
def test_all_at_once_is_one_by_one(
    bench: Make, shape: tuple[int, int, int], reads: str, writes: str, clamp: bool
) -> None:
    memories = []
    for trace in (None, lambda _record: None):
        b = bench("ethos-u55-128")
        execute(stream(b, shape, ADDRESSES[reads], ADDRESSES[writes], clamp), b.bases, b.memory, b.config, trace=trace)
        memories.append(b.data.copy())
    assert memories[0][WRITTEN:].any()
    assert np.array_equal(*memories)


@pytest.mark.parametrize("writes", ADDRESSES)
@pytest.mark.parametrize("reads", ["one step", "two levels"])
def test_which_addresses_are_one_view(bench: Make, monkeypatch: pytest.MonkeyPatch, reads: str, writes: str) -> None:
    b = bench("ethos-u55-128")
    whole = stream(b, (2, 3, 1), ADDRESSES[reads], ADDRESSES[writes], False)
    asked = Mock(side_effect=module.Places.offsets)
    monkeypatch.setattr(module.Places, "offsets", lambda self: asked(self))
    execute(whole, b.bases, b.memory, b.config)
    same = {reads, writes} & {"one step", "downwards"} or reads == writes
    assert asked.called == (writes not in REGULAR or not same)
