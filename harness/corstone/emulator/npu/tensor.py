"""Feature maps in memory: NHWC and NHCWB16 with up to four tiles, read into and written from ``[H, W, C]`` arrays.

Element (y, x, c) of size e lies in NHWC at ``y*STRIDE_Y + x*STRIDE_X + c*e`` (STRIDE_C is not used), in NHCWB16 at
``y*STRIDE_Y + (c//16)*STRIDE_C + (16*x + c%16)*e`` (STRIDE_X is not used), from the base of its tile. Tiles split at
WIDTH0 and at HEIGHT0 (left) or HEIGHT1 (right). Strides may be negative.
Source: ethos-u.md section 4. Leaves out chained tensors, which have no place in memory, and TILE3X1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.memory import Memory
from corstone.emulator.npu.types import Array, DType

BRICK = 16


@dataclass(frozen=True)
class View:
    """A strided block inside a tile: where it starts from the tile's base, in bytes, and its shape and strides.

    ``block`` says which part of the ``[H, W, C]`` array it is; ``split`` is set when the view has the four axes
    (y, x, brick, channel in brick).
    """

    low: int
    size: int
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[slice, slice, slice]
    split: bool


@dataclass(frozen=True)
class Geometry:
    """Where the elements of one feature map lie, relative to its tile bases.

    Shapes: ``shape`` is (H, W, C). Units: strides in bytes.
    """

    name: str
    dtype: DType
    shape: tuple[int, int, int]
    bricks: bool
    strides: tuple[int, int, int]
    tiles: tuple[tuple[int, tuple[View, ...]], ...] = field(repr=False)

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def whole(self) -> View | None:
        """The single plain view that covers the map, when there is one."""
        if len(self.tiles) == 1 and len(self.tiles[0][1]) == 1 and not self.tiles[0][1][0].split:
            return self.tiles[0][1][0]
        return None

    def read(self, memory: Memory, bases: tuple[int, ...]) -> Array:
        """The elements, ``[H, W, C]``; a view into memory where the layout allows it, so do not write to it."""
        whole = self.whole
        if whole is not None:
            return self._open(memory, bases[self.tiles[0][0]], whole, write=False)
        out = np.empty(self.shape, self.dtype)
        for tile, views in self.tiles:
            for view in views:
                _part(out, view)[...] = self._open(memory, bases[tile], view, write=False)
        return out

    def write(self, memory: Memory, bases: tuple[int, ...], values: Array) -> None:
        """Store ``values: [H, W, C]`` of the map's type."""
        for tile, views in self.tiles:
            for view in views:
                self._open(memory, bases[tile], view, write=True)[...] = _part(values, view)

    def spans(self, bases: tuple[int, ...]) -> list[tuple[int, int]]:
        """The address ranges (first byte, behind the last byte) that its views touch."""
        return [
            (bases[tile] + view.low, bases[tile] + view.low + view.size) for tile, views in self.tiles for view in views
        ]

    def addresses(self, bases: tuple[int, ...]) -> Array:
        """The address of every element, int64 ``[H, W, C]``; for exact overlap checks on small maps."""
        out = np.empty(self.shape, np.int64)
        for tile, views in self.tiles:
            for view in views:
                grid: Array = np.asarray(bases[tile] + view.low + view.start, np.int64)
                for axis, (count, stride) in enumerate(zip(view.shape, view.strides, strict=True)):
                    steps = np.arange(count) * stride
                    grid = grid + steps.reshape([-1 if a == axis else 1 for a in range(len(view.shape))])
                _part(out, view)[...] = grid
        return out

    def _open(self, memory: Memory, base: int, view: View, *, write: bool) -> Array:
        low = base + view.low
        align = BRICK if self.bricks else self.dtype.itemsize
        if base % align:
            raise NpuError("bus", f"{self.name} base {base:#x} is not aligned to {align} bytes")
        if low < 0:
            raise NpuError("bus", f"{self.name} reaches below address 0")
        window = memory.window(low, view.size, write)
        return np.ndarray(view.shape, self.dtype, window, view.start, view.strides)


def _part(array: Array, view: View) -> Array:
    """The block of an ``[H, W, C]`` array that a view holds, with the view's axes."""
    block = array[view.block]
    if not view.split:
        return block
    high, wide, deep = block.strides
    shape = (*block.shape[:2], block.shape[2] // BRICK, BRICK)
    return np.lib.stride_tricks.as_strided(block, shape, (high, wide, deep * BRICK, deep))


def geometry(
    name: str,
    dtype: DType,
    shape: tuple[int, int, int],
    *,
    bricks: bool,
    strides: tuple[int, int, int],
    width0: int,
    height0: int,
    height1: int,
) -> Geometry:
    """Lay a feature map out.

    ``strides`` are (y, x, c) in bytes; ``width0``, ``height0``, ``height1`` the sizes of the first tiles in elements.

    Raises
    ------
    NpuError: kind ``parse``, for strides that do not fit the element size.
    """
    height, width, depth = shape
    used = (strides[0], strides[2]) if bricks else (strides[0], strides[1])
    if any(stride % dtype.itemsize for stride in used):
        raise NpuError("parse", f"{name} strides {used} are no multiples of its {dtype.itemsize}-byte elements")
    tiles = []
    for tile, rows, columns in _tiles(height, width, width0, height0, height1):
        if rows[0] < rows[1] and columns[0] < columns[1]:
            views = _views(dtype.itemsize, depth, bricks, strides, rows, columns)
            tiles.append((tile, views))
    return Geometry(name, dtype, shape, bricks, strides, tuple(tiles))


_Span = tuple[int, int]


def _tiles(height: int, width: int, width0: int, height0: int, height1: int) -> list[tuple[int, _Span, _Span]]:
    """(tile, rows, columns) of the map that each tile base serves."""
    left, top_left, top_right = min(width0, width), min(height0, height), min(height1, height)
    return [
        (0, (0, top_left), (0, left)),
        (1, (0, top_right), (left, width)),
        (2, (top_left, height), (0, left)),
        (3, (top_right, height), (left, width)),
    ]


def _views(
    size: int, depth: int, bricks: bool, strides: tuple[int, int, int], rows: _Span, columns: _Span
) -> tuple[View, ...]:
    high, wide = rows[1] - rows[0], columns[1] - columns[0]
    y, x = slice(*rows), slice(*columns)
    if not bricks:
        return (_view((high, wide, depth), (strides[0], strides[1], size), 0, (y, x, slice(0, depth)), False),)
    views = []
    full = depth // BRICK
    if full == 1:
        views.append(_view((high, wide, BRICK), (strides[0], BRICK * size, size), 0, (y, x, slice(0, BRICK)), False))
    elif full:
        shape = (high, wide, full, BRICK)
        steps = (strides[0], BRICK * size, strides[2], size)
        views.append(_view(shape, steps, 0, (y, x, slice(0, full * BRICK)), True))
    if depth % BRICK:
        block = (y, x, slice(full * BRICK, depth))
        steps3 = (strides[0], BRICK * size, size)
        views.append(_view((high, wide, depth % BRICK), steps3, full * strides[2], block, False))
    return tuple(views)


def _view(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    block: tuple[slice, slice, slice],
    split: bool,
) -> View:
    steps = [(count - 1) * stride for count, stride in zip(shape, strides, strict=True)]
    low = sum(min(step, 0) for step in steps)
    high = sum(max(step, 0) for step in steps)
    # The last axis is always contiguous elements, so its stride is the element size.
    return View(offset + low, high - low + strides[-1], -low, shape, strides, block, split)
