"""Random small networks: a chain of operators over one feature map, shapes and scales drawn from a seed.

What is drawn on purpose: odd channel counts around 8, 16 and 32, strides and paddings that do not divide, kernels
larger than 8, dilation, broadcasts in every axis, scales far from 1, tables, and data with the extremes forced in.
Leaves out networks whose TOSA result is unpredictable where that can be seen here; the rest is discarded by the
reference model's status.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from corstone.emulator.npu.fuzz.graph import NUMPY, Graph, Tensor
from corstone.emulator.npu.types import Array

_CHANNELS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 65)
_MOST = 1 << 15


@dataclass
class Network:
    """A graph with inputs for it. ``operators`` names what was drawn, in order."""

    graph: bytes
    inputs: list[Array]
    operators: list[str] = field(default_factory=list)


class Draw:
    """A network being drawn."""

    def __init__(self, seed: int, product: str) -> None:
        self.product = product
        self.rng = np.random.default_rng(seed)
        self.g = Graph()

    def integer(self, low: int, high: int) -> int:
        """One of ``low`` to ``high`` inclusive."""
        return int(self.rng.integers(low, high + 1))

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self.rng.random() < probability)

    def pick(self, *choices: int) -> int:
        """One of the choices."""
        return int(choices[self.integer(0, len(choices) - 1)])

    def scale(self, typical: float) -> float:
        """A scale around a typical one, now and then far from it."""
        spread = 8.0 if self.chance(0.15) else 1.0
        return float(typical * 2.0 ** self.rng.uniform(-spread, min(spread, 3.0)))

    def zero(self, x: Tensor) -> int:
        """A zero point: any code for int8, 0 for everything else."""
        return self.integer(-128, 127) if x.dtype == "i8" and self.chance(0.7) else 0

    def data(self, shape: tuple[int, ...], dtype: str) -> Array:
        """Codes of a type, extremes forced in; int32 stays small enough not to overflow later."""
        limits = np.iinfo(NUMPY["i16" if dtype == "i32" else dtype])
        values = self.rng.integers(limits.min, int(limits.max) + 1, shape)
        if self.chance(0.3):
            values //= self.pick(2, 8, 50)
        flat = values.reshape(-1)
        flat[self.integer(0, flat.size - 1)] = limits.min
        flat[self.integer(0, flat.size - 1)] = limits.max
        return values.astype(NUMPY[dtype])

    def weights(self, shape: tuple[int, ...]) -> Array:
        """int8 weights of several kinds: dense, sparse, few values, extremes."""
        kind = self.integer(0, 4)
        if kind == 0:
            return self.rng.integers(-127, 128, shape)
        if kind == 1:
            return np.where(self.rng.random(shape) < 0.7, 0, self.rng.integers(-127, 128, shape))
        if kind == 2:
            return self.rng.choice(self.rng.integers(-127, 128, self.integer(1, 6)), shape)
        if kind == 3:
            return np.clip(np.rint(self.rng.normal(0, 20, shape)), -127, 127)
        return self.rng.choice([-128, -127, 0, 127], shape)

    def out_type(self, x: Tensor) -> str:
        """The type a quantized operator ends in."""
        return x.dtype

    def quantize(self, x: Tensor, dtype: str, typical: float, zero_out: int = 0, *, channels: bool = False) -> Tensor:
        """Rescale an accumulator to a stored type."""
        count = x.shape[-1] if channels and self.chance(0.6) else 1
        scales = [self.scale(typical) for _ in range(count)]
        zero = 0 if dtype == "i16" else zero_out
        return self.g.rescale(x, dtype, scales, 0, zero, double_round=x.dtype == "i32" and self.chance(0.2))


def draw(seed: int, product: str) -> Network:
    """The network of a seed for a product."""
    d = Draw(seed, product)
    shape = (1, d.integer(1, 14), d.integer(1, 14), d.pick(*_CHANNELS))
    x = d.g.input(shape, "i8" if d.chance(0.7) else "i16")
    names: list[str] = []
    for _ in range(d.integer(1, 4)):
        fitting = [step for step in STEPS if step.fits(x, product)]
        weights = np.array([step.weight for step in fitting])
        step = fitting[int(d.rng.choice(len(fitting), p=weights / weights.sum()))]
        x = step.build(d, x)
        names.append(step.name)
        if int(np.prod(x.shape)) > _MOST or len(x.shape) != 4 or x.dtype not in ("i8", "i16"):
            break
    inputs = [d.data(t.shape, t.dtype) for t in d.g.inputs]
    return Network(d.g.finish([x]), inputs, names)


def _convolution(d: Draw, x: Tensor, *, depthwise: bool = False, multiplier: int = 1, apart: bool = False) -> Tensor:
    """``apart``: strides and dilations that Vela takes apart into several operations."""
    kernel = [d.pick(1, 1, 2, 3, 3, 5, d.integer(1, 11)) for _ in range(2)]
    dilation = [d.pick(1, 1, d.integer(3, 7) if apart else 2) for _ in range(2)]
    stride = [d.pick(1, 1, 2, d.integer(4, 9) if apart else 3) for _ in range(2)]
    pad, kernel = _padding(d, x, kernel, dilation, stride)
    zero = d.zero(x)
    if depthwise:
        weights = d.weights((*kernel, x.shape[3], multiplier))
        channels = x.shape[3] * multiplier
    else:
        channels = d.pick(*_CHANNELS)
        weights = d.weights((channels, *kernel, x.shape[3]))
    taps = kernel[0] * kernel[1] * (1 if depthwise else x.shape[3])
    bias = d.rng.integers(-5000, 5000, channels)
    acc = d.g.conv2d(x, weights, bias, pad, stride, dilation, zero, depthwise=depthwise)
    reach = 70 if x.dtype == "i8" else 18000
    typical = (60 if x.dtype == "i8" else 15000) / (reach * 50 * taps**0.5)
    return d.quantize(acc, d.out_type(x), typical, d.integer(-128, 127), channels=True)


def _padding(
    d: Draw, x: Tensor, kernel: list[int], dilation: list[int], stride: list[int]
) -> tuple[list[int], list[int]]:
    """Padding below the kernel's size that makes the strides come out even, as TOSA demands."""
    pad, sizes = [], []
    for axis in (0, 1):
        size, step = x.shape[1 + axis], dilation[axis]
        taps = min(kernel[axis], (size - 1) // step + 1) if d.chance(0.5) else kernel[axis]
        reach = (taps - 1) * step
        before, behind = (d.integer(0, min(reach, 6)), d.integer(0, min(reach, 6))) if d.chance(0.6) else (0, 0)
        short = reach + 1 - size - before - behind
        if short > 0:
            before, behind = before + short // 2, behind + short - short // 2
        behind += -(size - 1 + before + behind - reach) % stride[axis]
        pad += [before, behind]
        sizes.append(taps)
    return pad, sizes


def _transposed(d: Draw, x: Tensor) -> Tensor:
    kernel = [d.integer(1, 4) for _ in range(2)]
    stride = [d.pick(1, 2) for _ in range(2)]
    channels = d.pick(*_CHANNELS[:10])
    pad = [-d.integer(0, min(1, kernel[n // 2] - 1)) for n in range(4)]
    if any((x.shape[1 + a] - 1) * stride[a] + pad[2 * a] + pad[2 * a + 1] + kernel[a] < 1 for a in (0, 1)):
        pad = [0] * 4
    bias = d.rng.integers(-500, 500, channels)
    acc = d.g.transpose_conv2d(x, d.weights((channels, *kernel, x.shape[3])), bias, pad, stride, d.zero(x))
    reach = 70 if x.dtype == "i8" else 18000
    typical = (60 if x.dtype == "i8" else 15000) / (reach * 50 * (kernel[0] * kernel[1] * x.shape[3]) ** 0.5)
    return d.quantize(acc, x.dtype, typical, d.integer(-128, 127), channels=True)


def _pool(d: Draw, x: Tensor, op: str) -> Tensor:
    most = 8
    kernel = [min(d.integer(1, most), x.shape[1 + a] + 2) for a in (0, 1)]
    stride = [d.pick(1, 2, 3) for _ in range(2)]
    pad = []
    for axis in (0, 1):
        size, reach = x.shape[1 + axis], kernel[axis] - 1
        before = d.integer(0, reach) if d.chance(0.5) else 0
        behind = d.integer(0, reach) if d.chance(0.5) else 0
        short = reach + 1 - size - before - behind
        if short > 0:
            before += min(short, reach - before)
            behind += max(reach + 1 - size - before - behind, 0)
        behind += -(size + before + behind - kernel[axis]) % stride[axis]
        if behind > reach:
            stride[axis] = 1
            behind = min(behind, reach)
        pad += [before, behind]
    zeros = (d.zero(x), d.zero(x))
    return d.g.pool(x, op, kernel, stride, pad, zeros)


def _broadcast(d: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape, with some axes 1."""
    return tuple(1 if d.chance(0.35) else size for size in shape)


def _second(d: Draw, x: Tensor, dtype: str) -> Tensor:
    """Another operand: an input, a constant, or the same tensor."""
    kind = d.integer(0, 3)
    if kind == 0:
        return x if dtype == x.dtype else d.g.const(d.data(_broadcast(d, x.shape), dtype), dtype)
    shape = _broadcast(d, x.shape) if d.chance(0.6) else x.shape
    if kind == 1:
        return d.g.const(d.data(shape, dtype), dtype)
    return d.g.input(shape, dtype)


def _arithmetic(d: Draw, x: Tensor, op: str) -> Tensor:
    other = _second(d, x, x.dtype)
    if op == "MUL":
        a, b = (d.g.rescale(t, "i32", [1.0], d.zero(t)) for t in (x, other))
        product = d.g.mul(a, b, x.shape)
        typical = 1 / 100 if x.dtype == "i8" else 1 / 20000
        return d.quantize(product, x.dtype, typical, d.integer(-128, 127))
    # As ExecuTorch does it: both operands to a common finer scale, then back.
    shift = 20 if x.dtype == "i8" else 12
    scales = [min(d.scale(0.5), 1.0) * (1 << shift) for _ in range(2)]
    a, b = (d.g.rescale(t, "i32", [s], d.zero(t)) for t, s in zip((x, other), scales, strict=True))
    total = d.g.op(op, (a, b), x.shape, "i32")
    return d.quantize(total, x.dtype, 1.0 / (1 << shift), d.integer(-128, 127))


def _extreme(d: Draw, x: Tensor, op: str) -> Tensor:
    import tosa_serializer as ts

    other = _second(d, x, x.dtype)
    if d.chance(0.5):
        a, b = (d.g.rescale(t, "i32", [d.scale(1.0)], d.zero(t)) for t in (x, other))
        found = d.g.op(op, (a, b), x.shape, "i32", nan_mode=ts.NanPropagationMode.PROPAGATE)
        return d.quantize(found, x.dtype, 1.0, d.integer(-128, 127))
    a, b = (d.g.rescale(t, "i32", [1.0], 0) for t in (x, other))
    found = d.g.op(op, (a, b), x.shape, "i32", nan_mode=ts.NanPropagationMode.PROPAGATE)
    return d.g.rescale(found, x.dtype, [1.0])


def _table(d: Draw, x: Tensor) -> Tensor:
    if x.dtype == "i8":
        return d.g.op("TABLE", (x, d.g.const(d.rng.integers(-128, 128, 256), "i8")), x.shape, "i8")
    steps = np.clip(np.cumsum(d.rng.normal(0, 400, 513)), -32768, 32767)
    wide = d.g.op("TABLE", (x, d.g.const(np.rint(steps), "i16")), x.shape, "i32")
    return d.g.rescale(wide, "i16", [2.0**-7 if d.chance(0.7) else d.scale(2.0**-7)])


def _requantize(d: Draw, x: Tensor) -> Tensor:
    to = x.dtype if d.chance(0.6) else ("i16" if x.dtype == "i8" else "i8")
    typical = {"i8i8": 1.0, "i16i16": 1.0, "i8i16": 200.0, "i16i8": 1 / 200}[x.dtype + to]
    zero_out = d.integer(-128, 127) if to == "i8" else 0
    return d.g.rescale(x, to, [d.scale(typical)], d.zero(x), zero_out)


def _clamp(d: Draw, x: Tensor) -> Tensor:
    limits = np.iinfo(NUMPY[x.dtype])
    low, high = sorted(d.rng.integers(limits.min, int(limits.max) + 1, 2))
    return d.g.clamp(x, int(low), int(high))


def _reduce_sum(d: Draw, x: Tensor) -> Tensor:
    axis = d.integer(1, 3)
    wide = d.g.rescale(x, "i32", [1.0], d.zero(x))
    total = d.g.reduce(wide, "REDUCE_SUM", axis)
    return d.quantize(total, x.dtype, 1.0 / x.shape[axis] ** 0.5, d.integer(-128, 127))


def _reduce_extreme(d: Draw, x: Tensor) -> Tensor:
    return d.g.reduce(x, "REDUCE_MAX" if d.chance(0.5) else "REDUCE_MIN", d.integer(1, 3))


def _transpose(d: Draw, x: Tensor) -> Tensor:
    order = [int(n) for n in d.rng.permutation(3)]
    return d.g.transpose(x, [0, *(n + 1 for n in order)])


def _reshape(d: Draw, x: Tensor) -> Tensor:
    total = int(np.prod(x.shape))
    divisors = [n for n in range(1, min(total, 200) + 1) if total % n == 0]
    last = d.pick(*divisors)
    rest = total // last
    middle = d.pick(*[n for n in range(1, min(rest, 200) + 1) if rest % n == 0])
    return d.g.reshape(x, (1, rest // middle, middle, last))


def _slice(d: Draw, x: Tensor) -> Tensor:
    start = [0] + [d.integer(0, size - 1) for size in x.shape[1:]]
    size = [1] + [d.integer(1, total - begin) for total, begin in zip(x.shape[1:], start[1:], strict=True)]
    return d.g.slice(x, start, size)


def _concat(d: Draw, x: Tensor) -> Tensor:
    axis = d.integer(1, 3)
    shape = list(x.shape)
    shape[axis] = d.integer(1, 9)
    other = d.g.input(shape, x.dtype) if d.chance(0.5) else d.g.const(d.data(tuple(shape), x.dtype), x.dtype)
    pair = (x, other) if d.chance(0.5) else (other, x)
    shape[axis] += x.shape[axis]
    return d.g.op("CONCAT", pair, shape, x.dtype, axis=axis)


def _pad(d: Draw, x: Tensor) -> Tensor:
    padding = [0, 0] + [d.integer(0, 3) for _ in range(6)]
    limits = np.iinfo(NUMPY[x.dtype])
    return d.g.pad(x, padding, d.integer(int(limits.min), int(limits.max)))


def _reverse(d: Draw, x: Tensor) -> Tensor:
    return d.g.op("REVERSE", (x,), x.shape, x.dtype, axis=d.integer(1, 3))


def _tile(d: Draw, x: Tensor) -> Tensor:
    counts = [1] + [d.pick(1, 1, 2, 3) for _ in range(3)]
    shape = [size * n for size, n in zip(x.shape, counts, strict=True)]
    return d.g.op("TILE", (x, d.g.shape_const(counts)), shape, x.dtype)


def _resize(d: Draw, x: Tensor, mode: str) -> Tensor:
    scale: list[int] = []
    offset, border = [], []
    for axis in (0, 1):
        size = x.shape[1 + axis]
        n = 2 * d.pick(1, 2, 4)
        if axis and d.product != "U85":
            # Vela 5.1.0 doubles both axes of a nearest resize when one asks for more (docs: known divergences).
            n = scale[0]
        step = 2 if d.chance(0.7) else d.pick(1, n)
        start = d.pick(0, -(n // 2) + 1) if n > 2 else 0
        # Beyond the last sample's own cell Vela 5.1.0 averages an empty window on U55 (docs: known divergences).
        end = d.integer(0, n - 1) if d.product == "U85" else n - step + start
        reach = (size - 1) * n - start + end
        end -= reach % step
        scale += [n, step]
        offset.append(start)
        border.append(end)
    big = d.g.resize(x, scale, offset, border, mode)
    if mode == "NEAREST":
        return big
    return d.quantize(big, x.dtype, 1.0 / (scale[0] * scale[2]))


def _matmul(d: Draw, x: Tensor) -> Tensor:
    rows, depth = x.shape[1] * x.shape[2], x.shape[3]
    a = d.g.reshape(x, (1, rows, depth))
    columns = d.pick(*_CHANNELS)
    b = d.g.input((1, depth, columns), x.dtype)
    acc = d.g.matmul(a, b, d.zero(a), d.zero(b))
    reach = 70 if x.dtype == "i8" else 18000
    out = d.quantize(acc, x.dtype, 1.0 / (reach * depth**0.5), d.integer(-128, 127))
    return d.g.reshape(out, (1, x.shape[1], x.shape[2], columns))


def _compare(d: Draw, x: Tensor) -> Tensor:
    op = ("EQUAL", "GREATER", "GREATER_EQUAL")[d.integer(0, 2)]
    a, b = (d.g.rescale(t, "i32", [1.0], d.zero(t)) for t in (x, _second(d, x, x.dtype)))
    found = d.g.op(op, (a, b), x.shape, "bool")
    other = _second(d, x, x.dtype)
    return d.g.op("SELECT", (found, x, other), x.shape, x.dtype)


def _bitwise(d: Draw, x: Tensor) -> Tensor:
    if d.chance(0.25):
        return d.g.op("BITWISE_NOT", (x,), x.shape, x.dtype)
    op = ("BITWISE_AND", "BITWISE_OR", "BITWISE_XOR")[d.integer(0, 2)]
    return d.g.op(op, (x, _second(d, x, x.dtype)), x.shape, x.dtype)


def _shift(d: Draw, x: Tensor) -> Tensor:
    bits = 8 if x.dtype == "i8" else 16
    amounts = d.g.const(d.rng.integers(0, bits, _broadcast(d, x.shape)), x.dtype)
    if d.chance(0.4):
        return d.g.op("LOGICAL_LEFT_SHIFT", (x, amounts), x.shape, x.dtype)
    if d.chance(0.3):
        return d.g.op("LOGICAL_RIGHT_SHIFT", (x, amounts), x.shape, x.dtype)
    return d.g.op("ARITHMETIC_RIGHT_SHIFT", (x, amounts), x.shape, x.dtype, round=d.chance(0.5))


def _wide_unary(d: Draw, x: Tensor, op: str) -> Tensor:
    wide = d.g.rescale(x, "i32", [d.scale(3.0)], d.zero(x))
    found = d.g.op(op, (wide,), x.shape, "i32")
    return d.quantize(found, x.dtype, 1.0 if op == "CLZ" else 0.3, d.integer(-128, 127))


def _argmax(d: Draw, x: Tensor) -> Tensor:
    return d.g.argmax(x, d.integer(1, 3))


def _wide_end(d: Draw, x: Tensor) -> Tensor:
    """End in int32: arithmetic on wide values that are stored as they are."""
    wide = d.g.rescale(x, "i32", [d.scale(5.0)], d.zero(x))
    other = d.g.input(_broadcast(d, x.shape), "i32")
    op = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "BITWISE_XOR", "INTDIV", "LOGICAL_LEFT_SHIFT")[d.integer(0, 7)]
    if op == "MUL":
        return d.g.mul(wide, other, x.shape, d.pick(0, 0, 7))
    if op == "INTDIV":
        other = d.g.const(d.rng.integers(1, 1000, _broadcast(d, x.shape)), "i32")
    if op == "LOGICAL_LEFT_SHIFT":
        other = d.g.const(d.rng.integers(0, 32, _broadcast(d, x.shape)), "i32")
    if op in ("MAXIMUM", "MINIMUM"):
        import tosa_serializer as ts

        return d.g.op(op, (wide, other), x.shape, "i32", nan_mode=ts.NanPropagationMode.PROPAGATE)
    return d.g.op(op, (wide, other), x.shape, "i32")


@dataclass(frozen=True)
class Step:
    """One kind of operator: its name, how often it is drawn, how it is built, on which products."""

    name: str
    weight: float
    build: Callable[[Draw, Tensor], Tensor]
    products: tuple[str, ...] = ("U55", "U65", "U85")
    types: tuple[str, ...] = ("i8", "i16")

    def fits(self, x: Tensor, product: str) -> bool:
        """Whether it can follow ``x``."""
        return product in self.products and x.dtype in self.types


_U85 = ("U85",)
STEPS = (
    Step("conv", 6, _convolution),
    Step("depthwise", 3, lambda d, x: _convolution(d, x, depthwise=True)),
    Step("depthwise_multiplier", 1, lambda d, x: _convolution(d, x, depthwise=True, multiplier=2)),
    Step("conv_apart", 1, lambda d, x: _convolution(d, x, apart=True)),
    Step("depthwise_apart", 0.7, lambda d, x: _convolution(d, x, depthwise=True, apart=True)),
    Step("transpose_conv", 2, _transposed),
    Step("max_pool", 1.5, lambda d, x: _pool(d, x, "MAX_POOL2D")),
    Step("avg_pool", 2, lambda d, x: _pool(d, x, "AVG_POOL2D")),
    Step("add", 2, lambda d, x: _arithmetic(d, x, "ADD")),
    Step("sub", 2, lambda d, x: _arithmetic(d, x, "SUB")),
    Step("mul", 2, lambda d, x: _arithmetic(d, x, "MUL")),
    Step("maximum", 1, lambda d, x: _extreme(d, x, "MAXIMUM")),
    Step("minimum", 1, lambda d, x: _extreme(d, x, "MINIMUM")),
    Step("table", 2, _table),
    Step("rescale", 1.5, _requantize),
    Step("clamp", 1, _clamp),
    Step("reduce_sum", 1.5, _reduce_sum),
    Step("reduce_extreme", 1, _reduce_extreme),
    Step("transpose", 1.5, _transpose),
    Step("reshape", 1, _reshape),
    Step("slice", 1, _slice),
    Step("concat", 1.5, _concat),
    Step("pad", 1, _pad),
    Step("reverse", 0.7, _reverse),
    Step("tile", 0.7, _tile),
    Step("resize_nearest", 1, lambda d, x: _resize(d, x, "NEAREST")),
    Step("resize_bilinear", 1, lambda d, x: _resize(d, x, "BILINEAR")),
    Step("matmul", 1.5, _matmul),
    Step("compare", 1, _compare, products=_U85),
    Step("bitwise", 1, _bitwise, products=_U85),
    Step("shift", 1, _shift),
    Step("abs", 0.7, lambda d, x: _wide_unary(d, x, "ABS")),
    Step("clz", 0.7, lambda d, x: _wide_unary(d, x, "CLZ")),
    Step("argmax", 0.5, _argmax),
    Step("wide", 1, _wide_end),
)
