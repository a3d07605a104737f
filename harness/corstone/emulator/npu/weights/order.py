"""The order of weights in a stream, as indices into the weight array ``[O, KH, KW, I]``.

Each product walks blocks of output channels, blocks of input channels, parts of the kernel and micro-blocks in its own
way, and fills up with zeros outside the volume: those places have index -1.
Source: ethos-u.md sections 6.3 and 6.4. Leaves out the coding of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from corstone.emulator.npu.differences import WeightOrder
from corstone.emulator.npu.types import Array, Ints

_SUB_KERNEL = 8
_INTERLEAVE = 4


@dataclass(frozen=True)
class Layout:
    """What decides the order.

    ``order`` is the product's. ``channels``, ``kernel`` (height, width in taps) and ``depth`` are the weights' shape;
    for depthwise ``depth`` is 1. ``block`` is the OFM block's depth, ``micro`` that of the OFM micro-block; ``bits``
    the IFM's element size. ``streams`` is the number of cores (dealt) or weight streams (interleaved), ``stream`` which
    of them this is.
    """

    order: WeightOrder
    macs: int
    channels: int
    kernel: tuple[int, int]
    depth: int
    block: int
    micro: int
    bits: int
    traversal: str
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    sparse: bool = False
    fast: bool = False
    streams: int = 1
    stream: int = 0

    @property
    def size(self) -> int:
        """Weights in the volume."""
        return self.channels * self.kernel[0] * self.kernel[1] * self.depth


PART_KERNEL, DEPTH_FIRST, DEPTHWISE = "part kernel", "depth first", "depthwise"


@lru_cache(maxsize=256)
def weight_order(layout: Layout) -> Array:
    """The place in ``[O, KH, KW, I]`` (flattened) of each weight of a stream, int32 ``[n]``, -1 for filling."""
    result = _ORDERS[layout.order](layout).astype(np.int32)
    result.flags.writeable = False
    return result


def stream_length(layout: Layout) -> int:
    """Weights in the stream, filling included."""
    return int(weight_order(layout).size)


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _places(layout: Layout, out: Array, y: Array, x: Array, inner: Array, inside: Array) -> Ints:
    """Indices of coordinates that broadcast against each other; -1 where not ``inside`` or outside the volume."""
    height, width = layout.kernel
    index = ((out * height + y) * width + x) * layout.depth + inner
    keep = inside & (out < layout.channels) & (inner < layout.depth)
    return np.where(keep, index, -1).reshape(-1)


def _axes(*sizes: int) -> list[Array]:
    """Index arrays of the given sizes, each along its own axis."""
    grid: list[Array] = list(np.ogrid[tuple(slice(0, size) for size in sizes)])
    return grid


def _dealt(layout: Layout) -> Ints:
    cores, core = layout.streams, layout.stream
    # A core counts its own channels: core, core + cores, ...
    own = len(range(core, layout.channels, cores))
    share = max((layout.block + cores - 1 - core) // cores, 1)
    depth_block = 16 if layout.traversal == PART_KERNEL or layout.bits == 16 else 32
    step = {PART_KERNEL: 2 if layout.bits == 16 else 4, DEPTHWISE: 4, DEPTH_FIRST: 1}[layout.traversal]
    sub = (_SUB_KERNEL // layout.dilation[0], _SUB_KERNEL // layout.dilation[1])
    parts = [
        _dealt_block(layout, out, min(share, own - out), inner, depth_block, (y, x), sub, step)
        for out in range(0, own, share)
        for inner in range(0, 1 if layout.traversal == DEPTHWISE else layout.depth, depth_block)
        for y in range(0, layout.kernel[0], sub[0])
        for x in range(0, layout.kernel[1], sub[1])
    ]
    return np.concatenate(parts)


def _dealt_block(
    layout: Layout,
    out: int,
    channels: int,
    inner: int,
    depth_block: int,
    corner: tuple[int, int],
    sub: tuple[int, int],
    step: int,
) -> Ints:
    """One block of channels, inputs and kernel part. ``out`` counts the core's own channels."""
    high = min(sub[0], layout.kernel[0] - corner[0])
    wide = min(sub[1], layout.kernel[1] - corner[1])
    taps = _round_up(high * wide, step)
    outers = -(-channels // layout.micro)
    if layout.traversal == DEPTHWISE:
        o8, e, oz = _axes(outers, taps, layout.micro)
        iu = iz = np.zeros((1, 1, 1), np.int64)
    elif layout.traversal == PART_KERNEL:
        depth = min(depth_block, layout.depth - inner)
        iu, o8, e, oz, iz = _axes(-(-depth // 8), outers, taps, layout.micro, 8)
    else:
        o8, e, iu, oz, iz = _axes(outers, taps, depth_block // 8, layout.micro, 8)
    own = out + o8 * layout.micro + oz
    channel = own * layout.streams + layout.stream
    y, x = corner[0] + e // wide, corner[1] + e % wide
    return _places(layout, channel, y, x, inner + iu * 8 + iz, e < high * wide)


@dataclass(frozen=True)
class _Rule:
    """Sizes that follow from a U85 layout."""

    depth_block: int
    depth_micro: int
    round: int
    inner_step: int
    stride: tuple[int, int]
    extra: int


def _rule(layout: Layout) -> _Rule:
    wide = layout.bits == 16
    part = layout.traversal == PART_KERNEL
    depth_block = 64
    if part:
        depth_block = 16
    elif layout.bits == 32 or (layout.macs <= 256 and layout.micro == 16 and not layout.sparse):
        depth_block = 32
    elif layout.sparse and layout.bits == 8:
        depth_block = 128
    if layout.traversal == DEPTHWISE:
        extra = 0 if not wide and layout.macs <= 256 else 2 if layout.macs <= 512 else 6
        return _Rule(depth_block, 1, 10, 1, layout.stride, extra)
    depth_micro = 8 if part and wide and not layout.sparse else depth_block
    step = (10 if wide or layout.sparse else 5) if part else 1
    return _Rule(depth_block, depth_micro, step, 16 if layout.sparse else 8, layout.stride if part else (1, 1), 0)


def _one_stream(layout: Layout) -> Ints:
    rule = _rule(layout)
    depths = list(range(0, 1 if layout.traversal == DEPTHWISE else layout.depth, rule.depth_block))
    sub = (_SUB_KERNEL // layout.dilation[0], _SUB_KERNEL // layout.dilation[1])
    parts = []
    for number, out in enumerate(range(0, layout.channels, layout.block)):
        channels = min(layout.block, layout.channels - out)
        # The input blocks are taken forwards and backwards by turns.
        for inner in depths if number % 2 == 0 else reversed(depths):
            parts += [
                _stream_block(layout, rule, out, channels, inner, (y, x), sub)
                for x in range(0, layout.kernel[1], sub[1])
                for y in range(0, layout.kernel[0], sub[0])
            ]
    return np.concatenate(parts)


def _stream_block(
    layout: Layout,
    rule: _Rule,
    out: int,
    channels: int,
    inner: int,
    corner: tuple[int, int],
    sub: tuple[int, int],
) -> Ints:
    """One block of channels, inputs and kernel part."""
    high = min(sub[0], layout.kernel[0] - corner[0])
    wide = min(sub[1], layout.kernel[1] - corner[1])
    ys, xs = _walk(high, wide, rule.stride)
    ys, xs, inside = _filled(layout, rule, ys, xs)
    depth = 1 if layout.traversal == DEPTHWISE else min(rule.depth_block, layout.depth - inner)
    groups = layout.micro // (_INTERLEAVE * layout.streams)
    iu, ou, e, ui, og, o4, iz = _axes(
        -(-depth // rule.depth_micro),
        -(-channels // layout.micro),
        ys.size,
        rule.depth_micro // rule.inner_step,
        groups,
        _INTERLEAVE,
        rule.inner_step,
    )
    channel = out + ou * layout.micro + _INTERLEAVE * (layout.stream + og * layout.streams) + o4
    depth_index = inner + iu * rule.depth_micro + ui * rule.inner_step + iz
    return _places(layout, channel, corner[0] + ys[e], corner[1] + xs[e], depth_index, inside[e])


def _walk(high: int, wide: int, stride: tuple[int, int]) -> tuple[Ints, Ints]:
    """Taps (y, x) of a kernel part: by stride phase, rows in order, columns back and forth."""
    taps = []
    for phase_y in range(stride[0]):
        for phase_x in range(stride[1]):
            columns = list(range(phase_x, wide, stride[1]))
            for number, y in enumerate(range(phase_y, high, stride[0])):
                taps += [(y, x) for x in (columns if number % 2 == 0 else reversed(columns))]
    pairs = np.array(taps, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]


def _filled(layout: Layout, rule: _Rule, ys: Ints, xs: Ints) -> tuple[Ints, Ints, Array]:
    """Fill taps up to the rounding; depthwise adds taps of zeros after every rounded group."""
    total = _round_up(ys.size, rule.round)
    inside = np.arange(total) < ys.size
    y, x = np.zeros(total, np.int64), np.zeros(total, np.int64)
    y[: ys.size], x[: xs.size] = ys, xs
    if layout.traversal != DEPTHWISE or not rule.extra:
        return y, x, inside
    shape = (total // rule.round, rule.round)

    def widen(values: Array) -> Array:
        grid = np.zeros((shape[0], rule.round + rule.extra), values.dtype)
        grid[:, : rule.round] = values.reshape(shape)
        return grid.reshape(-1)

    return widen(y), widen(x), widen(inside)


def _fast_order(layout: Layout) -> Ints:
    """FWD with several streams: blocks of each stream's order in turn."""
    rule = _rule(layout)
    block = layout.micro * rule.depth_micro * rule.round // layout.streams
    plain = [
        _one_stream(Layout(**{**layout.__dict__, "fast": False, "stream": stream})).reshape(-1, block)
        for stream in range(layout.streams)
    ]
    merged: Ints = np.stack(plain, axis=1).reshape(-1)
    return merged


def _interleaved(layout: Layout) -> Ints:
    return _fast_order(layout) if layout.fast and layout.streams > 1 else _one_stream(layout)


_ORDERS = {WeightOrder.DEALT: _dealt, WeightOrder.INTERLEAVED: _interleaved}
