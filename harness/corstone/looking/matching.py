"""Which tensor of the TOSA graph an NPU operation wrote, by its values.

Vela fuses, splits and reorders, and keeps no names, so a feature map is compared with every tensor that the TOSA
reference model computed on the same inputs: the whole tensor, in any order of the axes, a stretch of it (a stripe of
rows, an element of a batch), or some of its channels (a part of a concatenation). What no tensor equals keeps the one
that most of its elements are equal to, if half are: that is what a wrong feature map looks like. Equal tensors
(reshapes) cannot be told apart; the first computed not before the match before it is taken.
Leaves out computing either side (``walk``, ``accuracy.tensors``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy.tensors import all_tensors
from corstone.looking.walk import Walk
from corstone.program import Program

Array = npt.NDArray[Any]
_ORDERS: tuple[tuple[int, ...], ...] = tuple(permutations(range(3)))
_CLOSE = 0.5
_ENOUGH = 4
"""Elements below which a stretch of a larger tensor says nothing."""


@dataclass(frozen=True)
class Match:
    """What an operation's feature map is.

    ``part``: ``whole``, ``elements a:b`` of the tensor in row-major order, or ``channels a:b``. ``differing`` counts
    elements of the map that are not the tensor's (0: equal), ``first`` is the first of them, as an index into the
    tensor, with the tensor's and the map's value.
    """

    tensor: str
    part: str = "whole"
    differing: int = 0
    first: tuple[int, ...] = ()
    expected: int = 0
    got: int = 0

    @property
    def equal(self) -> bool:
        """Whether all elements are the tensor's."""
        return self.differing == 0


def inner_tensors(program: Program, walked: Walk) -> tuple[dict[str, Array], ...]:
    """Every tensor of each delegate call's TOSA graph, on the inputs that the call had; empty without TOSA.

    Raises
    ------
    ToolError, ConfigError, Unpredictable: as the references raise them.
    """
    from corstone.reference.graph import read_graph

    found = []
    for path, call in zip(program.tosa, walked.calls, strict=False):
        graph = read_graph(path)
        given = [
            flat.view(np.dtype(graph.tensors[name].dtype)).reshape(graph.tensors[name].shape)
            for name, flat in zip(graph.inputs, call.inputs, strict=True)
        ]
        found.append(all_tensors(path, given))
    return tuple(found)


def match(maps: Sequence[Array | None], tensors: Mapping[str, Array]) -> list[Match | None]:
    """The match of each feature map, None where there is none.

    ``maps`` in the order they were written, ``[H, W, C]``; ``tensors`` in the order they are computed.
    """
    table = _Tensors(tensors)
    found: list[Match | None] = []
    for given in maps:
        hit = None if given is None or given.size == 0 else table.equal(given) or table.part(given)
        if hit is not None:
            table.reached = table.order[hit.tensor]
        found.append(hit)
    taken = {hit.tensor for hit in found if hit is not None and hit.part == "whole"}
    return [
        table.closest(given, taken) if hit is None and given is not None and given.size else hit
        for hit, given in zip(found, maps, strict=True)
    ]


class _Tensors:
    """The tensors by size and type, and how far the matches have come in their order."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self.arrays = {n: a.view(np.int8) if a.dtype == np.bool_ else a for n, a in tensors.items() if a.size}
        self.order = {name: number for number, name in enumerate(self.arrays)}
        self.by_size: dict[tuple[str, int], list[str]] = {}
        for name, array in self.arrays.items():
            self.by_size.setdefault((array.dtype.str, array.size), []).append(name)
        self.reached = 0

    def _candidates(self, given: Array) -> list[str]:
        names = self.by_size.get((given.dtype.str, given.size), [])
        return sorted(names, key=lambda name: self.order[name] < self.reached)

    def equal(self, given: Array) -> Match | None:
        """A tensor of the same elements, in this order of the axes or another."""
        names = self._candidates(given)
        for order in _ORDERS if names else ():
            flat = given.transpose(order).reshape(-1) if given.ndim == len(order) else given.reshape(-1)
            for name in names:
                if np.array_equal(flat, self.arrays[name].reshape(-1)):
                    return Match(name)
        return None

    def part(self, given: Array) -> Match | None:
        """A larger tensor of which the map is a stretch of elements, or some channels."""
        flat = np.ascontiguousarray(given).reshape(-1)
        if flat.size < _ENOUGH or (flat == flat[0]).all():
            return None
        later = sorted(self.arrays.items(), key=lambda item: self.order[item[0]] < self.reached)
        for name, array in later:
            if array.size <= flat.size or array.dtype != flat.dtype:
                continue
            if (hit := _stretch(flat, array)) is not None:
                return Match(name, f"elements {hit}:{hit + flat.size}")
            if (hit := _channels(given, array)) is not None:
                return Match(name, f"channels {hit}:{hit + given.shape[-1]}")
        return None

    def closest(self, given: Array, taken: set[str]) -> Match | None:
        """The tensor nobody else is that has most elements in common, if half are."""
        flat = np.ascontiguousarray(given).reshape(-1)
        best: tuple[int, str] | None = None
        for name in self._candidates(given):
            same = int((self.arrays[name].reshape(-1) == flat).sum())
            if name not in taken and same >= _CLOSE * flat.size and (best is None or same > best[0]):
                best = same, name
        if best is None:
            return None
        tensor = self.arrays[best[1]]
        at = int(np.flatnonzero(tensor.reshape(-1) != flat)[0])
        first = tuple(int(i) for i in np.unravel_index(at, tensor.shape))
        return Match(best[1], "whole", flat.size - best[0], first, int(tensor.reshape(-1)[at]), int(flat[at]))


def _stretch(flat: Array, array: Array) -> int | None:
    """Where the map's elements stand in a row in the tensor."""
    data, wanted, size = np.ascontiguousarray(array).tobytes(), flat.tobytes(), flat.dtype.itemsize
    at = data.find(wanted)
    while at >= 0 and at % size:
        at = data.find(wanted, at + 1)
    return at // size if at >= 0 else None


def _channels(given: Array, array: Array) -> int | None:
    """The first of the tensor's channels that the map has, when it has all rows of some."""
    if not array.ndim or array.shape[-1] <= given.shape[-1] or given.ndim != 3:
        return None
    depth = given.shape[-1]
    rows, own = array.reshape(-1, array.shape[-1]), given.reshape(-1, depth)
    if rows.shape[0] != own.shape[0]:
        return None
    for first in range(rows.shape[1] - depth + 1):
        if np.array_equal(rows[0, first : first + depth], own[0]) and np.array_equal(
            rows[:, first : first + depth], own
        ):
            return first
    return None
