"""Feature maps in pieces that fit a processor's cache: chains of numpy passes over them then cost no memory traffic.

Leaves out what is done with a piece.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from corstone.emulator.npu.types import Array

PIECE = 1 << 15
"""Elements of a piece: a few int64 arrays of this size lie in a second-level cache."""

Block = tuple[slice, ...]


def pieces(shape: tuple[int, ...], size: int = PIECE) -> Iterator[Block]:
    """Blocks of an array of ``shape`` that together are all of it, cut along its longest axis."""
    total = math.prod(shape)
    if total <= size:
        yield (slice(None),) * len(shape)
        return
    axis = max(range(len(shape)), key=shape.__getitem__)
    step = max(1, size * shape[axis] // total)
    for first in range(0, shape[axis], step):
        yield tuple(slice(first, first + step) if n == axis else slice(None) for n in range(len(shape)))


def part(values: Array, block: Block) -> Array:
    """What a block of the output sees of an input that may be 1 in broadcast dimensions."""
    return values[tuple(slice(None) if values.shape[n] == 1 else cut for n, cut in enumerate(block))]
