"""``topk``, in which the order of equal values is the standard library's own.

Source: ExecuTorch, kernels/portable/cpu/op_topk.cpp: ``nth_element`` and ``sort`` of (value, index) pairs, or
``partial_sort`` where k is at most a 64th of the dimension. None of them is stable: equal values, of which int8 codes
have many, come with indices that follow from the algorithm alone. Here it is that of GCC's libstdc++ (introselect,
introsort and heap of bits/stl_algo.h and bits/stl_heap.h), which Arm's runner images are built with; compared with the
image. A runner built with another standard library may give other indices for equal values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corstone.formats.pte import TensorValue
from corstone.reference.kernels.row import Array, Kernel

Pair = tuple[Any, int]
Before = Callable[[Pair, Pair], bool]
_SMALL = 16  # what introsort leaves to insertion


def _less(x: Any, y: Any) -> bool:
    """NaN is larger than anything else."""
    return bool((x == x and y != y) or x < y)


def _insertion(q: list[Pair], first: int, last: int, before: Before) -> None:
    for i in range(first + 1, last):
        pair, hole = q[i], i
        while hole > first and before(pair, q[hole - 1]):
            q[hole] = q[hole - 1]
            hole -= 1
        q[hole] = pair


def _median_to_first(q: list[Pair], first: int, last: int, before: Before) -> None:
    a, b, c = first + 1, first + (last - first) // 2, last - 1
    if before(q[a], q[b]):
        chosen = b if before(q[b], q[c]) else c if before(q[a], q[c]) else a
    else:
        chosen = a if before(q[a], q[c]) else c if before(q[b], q[c]) else b
    q[first], q[chosen] = q[chosen], q[first]


def _partition(q: list[Pair], first: int, last: int, before: Before) -> int:
    _median_to_first(q, first, last, before)
    pivot, low, high = q[first], first + 1, last
    while True:
        while before(q[low], pivot):
            low += 1
        high -= 1
        while before(pivot, q[high]):
            high -= 1
        if low >= high:
            return low
        q[low], q[high] = q[high], q[low]
        low += 1


def _sink(q: list[Pair], first: int, hole: int, size: int, pair: Pair, before: Before) -> None:
    """``__adjust_heap``: down to a leaf, and up again to where the pair belongs."""
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if before(q[first + child], q[first + child - 1]):
            child -= 1
        q[first + hole], hole = q[first + child], child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        q[first + hole], hole = q[first + child], child
    while hole > top and before(q[first + (hole - 1) // 2], pair):
        q[first + hole], hole = q[first + (hole - 1) // 2], (hole - 1) // 2
    q[first + hole] = pair


def _pop(q: list[Pair], first: int, middle: int, result: int, before: Before) -> None:
    pair, q[result] = q[result], q[first]
    _sink(q, first, 0, middle - first, pair, before)


def _heap_select(q: list[Pair], first: int, middle: int, last: int, before: Before) -> None:
    size = middle - first
    for parent in range((size - 2) // 2, -1, -1) if size > 1 else ():
        _sink(q, first, parent, size, q[first + parent], before)
    for i in range(middle, last):
        if before(q[i], q[first]):
            _pop(q, first, middle, i, before)


def _partial_sort(q: list[Pair], first: int, middle: int, last: int, before: Before) -> None:
    _heap_select(q, first, middle, last, before)
    for end in range(middle - 1, first, -1):
        _pop(q, first, end, end, before)


def _depth(count: int) -> int:
    return 2 * int(math.log2(count)) if count else 0


def _nth_element(q: list[Pair], nth: int, before: Before) -> None:
    first, last, depth = 0, len(q), _depth(len(q))
    while last - first > 3:
        if depth == 0:
            _heap_select(q, first, nth + 1, last, before)
            q[first], q[nth] = q[nth], q[first]
            return
        depth -= 1
        cut = _partition(q, first, last, before)
        first, last = (cut, last) if cut <= nth else (first, cut)
    _insertion(q, first, last, before)


def _sort(q: list[Pair], count: int, before: Before) -> None:
    def loop(first: int, last: int, depth: int) -> None:
        while last - first > _SMALL:
            if depth == 0:
                _partial_sort(q, first, last, last, before)
                return
            depth -= 1
            cut = _partition(q, first, last, before)
            loop(cut, last, depth)
            last = cut

    loop(0, count, _depth(count))
    _insertion(q, 0, count, before)


def first_of(values: Sequence[Any], k: int, *, largest: bool, ordered: bool) -> list[Pair]:
    """The first ``k`` of ``values`` with their indices; ``ordered`` as the operator's ``sorted``."""
    q = [(value, i) for i, value in enumerate(values)]
    if k == 0:
        return []

    def before(x: Pair, y: Pair) -> bool:
        return _less(y[0], x[0]) if largest else _less(x[0], y[0])

    if k * 64 <= len(q):
        _partial_sort(q, 0, k, len(q), before)
    else:
        _nth_element(q, k - 1, before)
        if ordered:
            _sort(q, k - 1, before)
    return q[:k]


def _topk(args: Sequence[Any], outs: Sequence[TensorValue]) -> tuple[Array, Array]:
    x, k, dim, largest, ordered = args[:5]
    if not x.ndim:
        return x, np.zeros((), np.int64)
    lines = np.moveaxis(x, dim, -1)
    found = [first_of(line, k, largest=largest, ordered=ordered) for line in lines.reshape(-1, lines.shape[-1])]
    shape = (*lines.shape[:-1], k)
    values = np.array([[pair[0] for pair in row] for row in found], x.dtype).reshape(shape)
    indices = np.array([[pair[1] for pair in row] for row in found], np.int64).reshape(shape)
    return np.moveaxis(values, -1, dim).reshape(outs[0].shape), np.moveaxis(indices, -1, dim).reshape(outs[1].shape)


ROWS = {"aten::topk.values": Kernel(_topk, out_args=2)}
