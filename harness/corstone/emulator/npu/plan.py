"""A plan: one operation with all its registers but the pointers worked out, ready to run at any addresses.

Streams repeat operations that differ only in where they read and write; a plan is built once and kept. Running one is:
check that no output byte lies under an input, load, compute, store. Source of the overlap rule: ethos-u.md 8 (measured
on 945 programs: disjoint, or each element overwrites exactly its own input).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import Input, MemoryInput, Output
from corstone.emulator.npu.tensor import Geometry
from corstone.emulator.npu.types import Array

_EXACT_OVERLAP_ELEMENTS = 1 << 24


class Plan(Protocol):
    """One operation, ready to run."""

    @property
    def cost(self) -> Cost:
        """What one execution counts."""
        ...

    def run(self, machine: Machine, pointers: list[int]) -> Array | None:
        """Execute at these pointers; the feature map written, ``[H, W, C]``, or None for a data move."""
        ...

    def describe(self, pointers: list[int]) -> Mapping[str, Mapping[str, object]]:
        """The tensors of the operation, for a trace."""
        ...


class Compute:
    """A plan that reads inputs, computes one feature map, and stores it. Subclasses give ``compute``.

    ``pointwise`` says that element (y, x, c) of the output depends on the same element of its inputs only, so that
    an output may lie exactly on an input; ``in_place`` is the one input of which that holds.
    """

    pointwise = False
    in_place: Input | None = None

    def __init__(self, inputs: Sequence[Input], output: Output, cost: Cost) -> None:
        self.inputs = tuple(inputs)
        self.output = output
        self.cost = cost
        self._memory_inputs = [item for item in self.inputs if isinstance(item, MemoryInput)]

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """The output feature map, ``[H, W, C]`` in the output's type."""
        raise NotImplementedError

    def run(self, machine: Machine, pointers: list[int]) -> Array | None:
        """See ``Plan``."""
        if self.output.geometry is not None:
            self._check_overlap(pointers)
        values = self.compute(machine, pointers)
        machine.accumulators = None
        self.output.store(machine, pointers, values)
        machine.last = values
        return values

    def describe(self, pointers: list[int]) -> Mapping[str, Mapping[str, object]]:
        """See ``Plan``."""
        shown: dict[str, Mapping[str, object]] = {}
        for item in self._memory_inputs:
            shown[item.geometry.name] = describe_memory(item, pointers)
        if self.output.geometry is not None:
            shown["OFM"] = describe_memory(self.output, pointers)
        else:
            where = {"accumulators": True} if self.output.nowhere else {"chain": self.output.chain}
            shown["OFM"] = {**where, "shape": self.output.shape, "dtype": str(self.output.dtype)}
        return shown

    def _check_overlap(self, pointers: list[int]) -> None:
        layout = self.output.geometry
        assert layout is not None
        target = self.output.bases(pointers)
        written = layout.spans(target)
        for item in self._memory_inputs:
            bases = item.bases(pointers)
            read = item.geometry.spans(bases)
            if all(w_end <= r_start or r_end <= w_start for w_start, w_end in written for r_start, r_end in read):
                continue
            exactly = self.output.plain and _same_place(layout, target, item, bases)
            if exactly and (self.pointwise or item is self.in_place):
                continue
            if _share_bytes(layout, target, item, bases):
                raise NpuError("overlap", f"the OFM at {target[0]:#x} overlaps {item.geometry.name} at {bases[0]:#x}")


def _same_place(layout: Geometry, target: tuple[int, ...], item: MemoryInput, bases: tuple[int, ...]) -> bool:
    """Whether an input's elements lie exactly where the output's do."""
    other = item.geometry
    if (layout.shape, layout.dtype.itemsize, layout.tiles) != (other.shape, other.dtype.itemsize, other.tiles):
        return False
    return all(target[tile] == bases[tile] for tile, _ in layout.tiles)


def _share_bytes(layout: Geometry, target: tuple[int, ...], item: MemoryInput, bases: tuple[int, ...]) -> bool:
    """Whether any byte is in both maps: exact, by marking bytes, for maps whose ranges interleave."""
    if layout.size_bytes + item.size_bytes > _EXACT_OVERLAP_ELEMENTS:
        return True
    written = _byte_addresses(layout, target)
    read = _byte_addresses(item.geometry, bases)
    return bool(np.isin(read, written).any())


def _byte_addresses(layout: Geometry, bases: tuple[int, ...]) -> Array:

    starts = layout.addresses(bases).reshape(-1, 1)
    every: Array = (starts + np.arange(layout.dtype.itemsize)).reshape(-1)
    return every


def describe_memory(item: MemoryInput | Output, pointers: list[int]) -> dict[str, object]:
    """Address, shape, strides, format and type of a feature map in memory."""
    layout = item.geometry
    assert layout is not None
    bases = item.bases(pointers)
    return {
        "address": [bases[tile] for tile, _ in layout.tiles],
        "shape": layout.shape,
        "strides": layout.strides,
        "format": "NHCWB16" if layout.bricks else "NHWC",
        "dtype": str(layout.dtype),
    }
