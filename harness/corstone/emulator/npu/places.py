"""Where one plain feature map lies for many base addresses at once, and copying between such places.

Streams of very many small operations step through memory evenly, on one level or on two (a row of steps, then a jump).
Such maps are one strided view, which needs no address of an element. Leaves out maps in tiles or bricks across views,
and what is computed on the way (``pointwise``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.state import UNSET
from corstone.emulator.npu.tensor import BRICK, Geometry, View
from corstone.emulator.npu.types import Array, Ints

_SHORT, _LONG = 8, 32


@dataclass(frozen=True)
class _Spacing:
    """Addresses as ``first + i * outer + j * inner``, ``i`` below ``rows``, ``j`` below ``period``; steps in bytes."""

    rows: int
    outer: int
    period: int
    inner: int

    def split(self, period: int) -> _Spacing | None:
        """The same addresses with another period, where they have one step or that period already."""
        if period == self.period:
            return self
        if self.period > 1 or self.rows % period:
            return None
        return _Spacing(self.rows // period, self.outer * period, period, self.outer)


@dataclass(frozen=True)
class Places:
    """Where one plain view lies for many bases: addresses int64 ``[n]``; ``low`` and ``high`` bound all bytes."""

    geometry: Geometry
    view: View
    addresses: Ints
    low: int
    high: int

    @staticmethod
    def of(geometry: Geometry, region: int, bases: Ints) -> Places | None:
        """The places of a map at ``bases`` int64 ``[n]``; None where it is no plain view, or a base is open or odd."""
        whole = geometry.whole
        if whole is None or (bases == UNSET).any():
            return None
        addresses = bases + region
        size = geometry.dtype.itemsize
        align = BRICK if geometry.bricks else size
        if align > 1 and (addresses % align).any():
            return None
        low, high = int(addresses.min()) + whole.low, int(addresses.max()) + whole.low + whole.size
        return Places(geometry, whole, addresses, low, high)

    def meets(self, other: Places) -> bool:
        """Whether the address ranges overlap."""
        return self.low < other.high and other.low < self.high

    def open(self, machine: Machine, *, write: bool) -> Array:
        """The elements of the whole range, ``[k]``."""
        if self.low < 0:
            raise NpuError("bus", f"{self.geometry.name} reaches below address 0")
        window = machine.memory.window(self.low, self.high - self.low, write)
        elements: Array = window.view(self.geometry.dtype)
        return elements

    @cached_property
    def _spacing(self) -> _Spacing | None:
        """How the addresses are spaced, where it is evenly on one level (period 1) or on two."""
        steps = np.diff(self.addresses)
        first = int(steps[0])
        others = np.flatnonzero(steps != first)
        if not others.size:
            return _Spacing(self.addresses.size, first, 1, 0)
        period = int(others[0]) + 1
        if self.addresses.size % period:
            return None
        rows = self.addresses.reshape(-1, period)
        outer = int(rows[1, 0] - rows[0, 0])
        jump = outer - (period - 1) * first
        wanted = np.full(steps.size, first)
        wanted[period - 1 :: period] = jump
        return _Spacing(rows.shape[0], outer, period, first) if np.array_equal(steps, wanted) else None

    def _view(self, elements: Array, spacing: _Spacing) -> Array:
        """All maps as one view of ``open``, ``[rows, period, H, W, C]``."""
        start = int(self.addresses[0]) + self.view.low + self.view.start - self.low
        shape = (spacing.rows, spacing.period, *self.view.shape)
        return np.ndarray(shape, elements.dtype, elements, start, (spacing.outer, spacing.inner, *self.view.strides))

    def _distinct(self, spacing: _Spacing) -> bool:
        """Whether it is certain that no two elements of evenly spaced maps share a place."""
        steps = [(abs(spacing.outer), spacing.rows), (abs(spacing.inner), spacing.period)]
        steps += [(abs(stride), count) for stride, count in zip(self.view.strides, self.view.shape, strict=True)]
        reach = 0
        for stride, count in sorted(item for item in steps if item[1] > 1):
            if stride < reach + self.geometry.dtype.itemsize:
                return False
            reach += stride * (count - 1)
        return True

    def offsets(self) -> Ints:
        """Of a map's elements from its base, in elements, int64 ``[m]``."""
        # Addresses and strides are multiples of the element's size, so each part can be divided by itself.
        numbers: Ints = self.geometry.addresses((0, 0, 0, 0)).reshape(-1) // self.geometry.dtype.itemsize
        return numbers

    def elements(self, offsets: Ints, first: int, last: int) -> Ints:
        """Indices into ``open`` of the elements at some of the bases, int64 ``[last - first, m]``."""
        starts: Ints = (self.addresses[first:last] - self.low) // self.geometry.dtype.itemsize
        return starts[:, None] + offsets[None]


def regular(reads: Places, data: Array, writes: Places, out: Array) -> tuple[Array, Array] | None:
    """Both sides as views of what ``open`` gave, ``[rows, period, H, W, C]``, and none of the written places twice.

    None where the addresses are not that regular, or a later map may write over an earlier one.
    """
    source, target = reads._spacing, writes._spacing
    if source is None or target is None:
        return None
    period = max(source.period, target.period)
    source, target = source.split(period), target.split(period)
    if source is None or target is None or not writes._distinct(target):
        return None
    return reads._view(data, source), writes._view(out, target)


def assign(target: Array, values: Array) -> None:
    """``target[...] = values``, same shape, with the innermost loop over a long axis.

    numpy makes the target's closest axis the innermost loop, which is slow where that axis is short.
    """
    for part in _parts(target):
        target[part] = values[part]


def _parts(target: Array) -> Iterator[tuple[slice | int, ...]]:
    """Indices that take a short closest axis apart, where another one is long; else one index for everything."""
    sizes = [(abs(stride), axis) for axis, stride in enumerate(target.strides) if target.shape[axis] > 1]
    if not sizes or max(target.shape) < _LONG:
        yield (slice(None),) * target.ndim
        return
    _, closest = min(sizes)
    if target.shape[closest] >= _SHORT:
        yield (slice(None),) * target.ndim
        return
    for number in range(target.shape[closest]):
        yield tuple(number if axis == closest else slice(None) for axis in range(target.ndim))
