"""A MobileNetV2 as a TOSA graph with seeded weights, for measurements: the shapes of the network, no trained values.

Source: the table of inverted residuals of the MobileNetV2 paper (Sandler et al. 2018, table 2), width 1.0.
"""

from __future__ import annotations

import numpy as np

from corstone.emulator.npu.fuzz.graph import Graph, Tensor
from corstone.emulator.npu.fuzz.networks import Network
from corstone.emulator.npu.types import Array

# expansion, channels, blocks, first stride
_BLOCKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class _Builder:
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.g = Graph()
        self._rectified: set[str] = set()

    def conv(self, x: Tensor, channels: int, kernel: int, stride: int, *, relu: bool = True) -> Tensor:
        weights = self._weights((channels, kernel, kernel, x.shape[3]))
        return self._finish(x, weights, kernel, stride, kernel * kernel * x.shape[3], relu=relu, depthwise=False)

    def depthwise(self, x: Tensor, stride: int) -> Tensor:
        return self._finish(x, self._weights((3, 3, x.shape[3], 1)), 3, stride, 9, relu=True, depthwise=True)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        wide = [self.g.rescale(t, "i32", [float(1 << 20)]) for t in (a, b)]
        total = self.g.op("ADD", wide, a.shape, "i32")
        return self.g.rescale(total, "i8", [0.7 / (1 << 20)])

    def _weights(self, shape: tuple[int, ...]) -> Array:
        return np.clip(np.rint(self.rng.normal(0, 30, shape)), -127, 127)

    def _finish(
        self, x: Tensor, weights: Array, kernel: int, stride: int, taps: int, *, relu: bool, depthwise: bool
    ) -> Tensor:
        size = x.shape[1]
        total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        pad = (total // 2, total - total // 2) * 2
        channels = weights.shape[2] if depthwise else weights.shape[0]
        bias = self.rng.integers(-2000, 2000, channels)
        # Symmetric zero points for the projections, -128 behind a ReLU6.
        zero = -128 if size != 224 and x.name in self._rectified else 0
        acc = self.g.conv2d(x, weights, bias, pad, (stride, stride), (1, 1), zero, depthwise=depthwise)
        scales = (1.2 / (30 * taps**0.5) * self.rng.uniform(0.5, 1.5, channels)).tolist()
        out = self.g.rescale(acc, "i8", scales, 0, -128 if relu else 0)
        if relu:
            self._rectified.add(out.name)
        return out


def mobilenet_v2(size: int = 224, seed: int = 0) -> Network:
    """The network for ``[1, size, size, 3]`` int8 images, 1000 classes, with one seeded image."""
    b = _Builder(seed)
    x = b.g.input((1, size, size, 3), "i8")
    y = b.conv(x, 32, 3, 2)
    for expansion, channels, count, first in _BLOCKS:
        for number in range(count):
            stride = first if number == 0 else 1
            wide = b.conv(y, y.shape[3] * expansion, 1, 1) if expansion > 1 else y
            narrow = b.conv(b.depthwise(wide, stride), channels, 1, 1, relu=False)
            y = b.add(y, narrow) if stride == 1 and y.shape[3] == channels else narrow
    y = b.conv(y, 1280, 1, 1)
    y = b.g.pool(y, "AVG_POOL2D", y.shape[1:3], (1, 1), (0, 0, 0, 0), (-128, -128))
    y = b.conv(y, 1000, 1, 1, relu=False)
    image = b.rng.integers(-128, 128, x.shape).astype(np.int8)
    return Network(b.g.finish([y]), [image], ["mobilenet_v2"])


def shapes(size: int = 224) -> list[tuple[int, int, int]]:
    """(rows, depth, columns) of the network's matrix products: all its convolutions but the depthwise ones."""
    size = -(-size // 2)
    found, depth = [(size * size, 27, 32)], 32
    for expansion, channels, count, first in _BLOCKS:
        for number in range(count):
            if expansion > 1:
                found.append((size * size, depth, depth * expansion))
            size = -(-size // first) if number == 0 else size
            found.append((size * size, depth * expansion, channels))
            depth = channels
    return [*found, (size * size, depth, 1280), (1, 1280, 1000)]
