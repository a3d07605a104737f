"""Networks that are not drawn: control flow, and the small ones that each once showed an error of the model.

A loop iterates as often as its input says, a condition has two sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from corstone.emulator.npu.fuzz.graph import Graph, Tensor
from corstone.emulator.npu.fuzz.networks import Network

_SHAPE = (1, 4, 4, 8)
_LIMIT = 5


class _Regions(Graph):
    """A graph with regions that WHILE_LOOP and COND_IF name."""

    def control(self, op: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], **regions: str) -> None:
        attribute = self._ts.TosaSerializerAttribute()
        kind = {"WHILE_LOOP": "WhileLoopAttribute", "COND_IF": "CondIfAttribute"}[op]
        getattr(attribute, kind)(*regions.values())
        names = [[tensor.name for tensor in side] for side in (inputs, outputs)]
        self._out.addOperator(getattr(self._ts.Op, op), *names, attribute)
        self.outputs(outputs)

    def empty(self, like: Tensor) -> Tensor:
        made: Any = self._out.addIntermediate(list(like.shape), self._dtype(like.dtype))
        return Tensor(made.name, like.shape, like.dtype)

    def region(self, name: str, inputs: Sequence[Tensor]) -> list[Tensor]:
        self._out.startRegion(name)
        self._out.currRegion.addBasicBlock(name)
        made = [Tensor(f"{name}_{n}", t.shape, t.dtype) for n, t in enumerate(inputs)]
        for t in made:
            self._out.addInputTensor(self._ts.TosaSerializerTensor(t.name, list(t.shape), self._dtype(t.dtype)))
        return made

    def outputs(self, tensors: Sequence[Tensor]) -> None:
        block = self._out.currRegion.currBasicBlock
        for tensor in tensors:
            self._out.addOutputTensor(block.tensors[tensor.name])

    def table(self, x: Tensor, factor: int) -> Tensor:
        entries = (np.arange(256) * factor + 7) % 256 - 128
        return self.op("TABLE", (x, self.const(entries, "i8")), x.shape, "i8")


def loop(start: int) -> Network:
    """Look an int8 map up in a table while a counter that begins at ``start`` is below five."""
    g = _Regions()
    carried = [g.input((1,), "i32"), g.input(_SHAPE, "i8")]
    g.control("WHILE_LOOP", carried, [g.empty(t) for t in carried], cond="cond", body="body")
    count, _ = g.region("cond", carried)
    g.outputs([g.op("GREATER", (g.const(np.array([_LIMIT]), "i32"), count), (1,), "bool")])
    count, x = g.region("body", carried)
    g.outputs([g.op("ADD", (count, g.const(np.array([1]), "i32")), (1,), "i32"), g.table(x, 3)])
    return Network(g.finish([]), [np.array([start], np.int32), _image()], ["while_loop"])


def condition(value: bool) -> Network:
    """Look an int8 map up in one table or another."""
    g = _Regions()
    inputs = [g.input((1,), "bool"), g.input(_SHAPE, "i8")]
    g.control("COND_IF", inputs, [g.empty(inputs[1])], then="then", other="else")
    for name, factor in (("then", 3), ("else", 5)):
        (x,) = g.region(name, inputs[1:])
        g.outputs([g.table(x, factor)])
    return Network(g.finish([]), [np.array([value]), _image()], ["cond_if"])


def _image() -> np.ndarray:  # type: ignore[type-arg]
    return np.random.default_rng(0).integers(-128, 128, _SHAPE).astype(np.int8)


def scaled_clz() -> Network:
    """CLZ behind a rescale that U85 fuses into the operation's input scale."""
    g = Graph()
    x = g.input((1, 2, 3, 15), "i8")
    wide = g.op("CLZ", (g.rescale(x, "i32", [5.3], -3),), x.shape, "i32")
    return _network(g, g.rescale(wide, "i8", [0.94], 0, -64), "clz")


def scaled_not() -> Network:
    """BITWISE_NOT behind a rescale, likewise."""
    g = Graph()
    x = g.input((1, 2, 3, 15), "i8")
    return _network(g, g.op("BITWISE_NOT", (g.rescale(x, "i16", [124.2], -40),), x.shape, "i16"), "not")


def stale_broadcast() -> Network:
    """A broadcast product, then a resize whose rescale is a pool that loads its accumulator from IFM2."""
    g = Graph()
    x, y = g.input((1, 4, 5, 7), "i8"), g.input((1, 4, 5, 1), "i8")
    a, b = (g.rescale(t, "i32", [1.0]) for t in (x, y))
    product = g.mul(a, b, x.shape)
    big = g.resize(g.rescale(product, "i8", [0.007], 0, 20), (8, 2, 8, 2), (0, 0), (0, 4), "BILINEAR")
    return _network(g, g.rescale(big, "i8", [0.0081], double_round=True), "mul+resize")


def wrapped_product() -> Network:
    """An int32 product beyond 32 bits, of which TOSA keeps the low half."""
    g = Graph()
    x, y = g.input((1, 2, 2, 8), "i32"), g.input((1, 2, 2, 8), "i32")
    rng = np.random.default_rng(5)
    data = [rng.integers(-(1 << 20), 1 << 20, x.shape).astype(np.int32) for _ in range(2)]
    return Network(g.finish([g.mul(x, y, x.shape)]), list(data), ["mul"])


def strided(dtype: str = "i8", *, depthwise: bool = False, padded: bool = False) -> Network:
    """A convolution with a stride beyond 3, which U85 adds up in the accumulators over several operations."""
    g = Graph()
    x = g.input((1, 6, 14, 9), dtype)
    rng = np.random.default_rng(9)
    weights = rng.integers(-127, 128, (3, 4, 9, 1) if depthwise else (17, 3, 4, 9))
    channels = 9 if depthwise else 17
    pad = (1, 1, 1, 4) if padded else (1, 1, 0, 0)
    acc = g.conv2d(x, weights, rng.integers(-500, 500, channels), pad, (1, 5), (1, 1), -3, depthwise=depthwise)
    scale = 0.004 if dtype == "i8" else 0.00002
    out = g.rescale(acc, dtype, [scale * (1 + n / 20) for n in range(channels)], 0, 11)
    limits = np.iinfo(np.int8 if dtype == "i8" else np.int16)
    data = rng.integers(limits.min, limits.max + 1, x.shape).astype(limits.dtype)
    return Network(g.finish([out]), [data], ["strided"])


FOUND = {
    "strided conv": (strided, ("ethos-u85-128", "ethos-u85-256", "ethos-u85-2048")),
    "strided depthwise": (partial(strided, depthwise=True, padded=True), ("ethos-u85-256", "ethos-u85-512")),
    "clz": (scaled_clz, ("ethos-u85-128", "ethos-u85-2048")),
    "not": (scaled_not, ("ethos-u85-256",)),
    "stale broadcast": (stale_broadcast, ("ethos-u85-128", "ethos-u85-1024")),
    "wrapped product": (wrapped_product, ("ethos-u55-128", "ethos-u85-256")),
}
"""Networks that once showed an error, with the targets they showed it on."""


def _network(g: Graph, out: Tensor, name: str) -> Network:
    rng = np.random.default_rng(7)
    return Network(g.finish([out]), [rng.integers(-128, 128, t.shape).astype(np.int8) for t in g.inputs], [name])
