"""Networks of the kinds that take the TOSA reference model over 10 ms in ExecuTorch's suite: the model on each.

A permutation that U55 does with 17,162 pools, batch normalization of large planes, and a convolution with it; all
seeded, with the shapes of that suite. Reference, first run and later run take turns in one process; processor time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from benchmarks import Figure
from benchmarks_npu import compiled, cpu_seconds

from corstone.emulator.npu.blas import one_thread
from corstone.emulator.npu.fuzz.compiler import Compiler
from corstone.emulator.npu.fuzz.differential import reference
from corstone.emulator.npu.fuzz.graph import Graph, Tensor
from corstone.emulator.npu.fuzz.networks import Network
from corstone.emulator.npu.interpreter import forget_plans
from corstone.emulator.npu.offline import run_delegate
from corstone.emulator.npu.weights.source import forget_weights

Make = Callable[[Graph, Tensor, np.random.Generator], Tensor]


def _network(shape: tuple[int, ...], make: Make) -> Network:
    g, rng = Graph(), np.random.default_rng(7)
    x = g.input(shape, "i8")
    return Network(g.finish([make(g, x, rng)]), [rng.integers(-128, 128, shape).astype(np.int8)])


def _permutation(g: Graph, x: Tensor, _rng: np.random.Generator) -> Tensor:
    """As ExecuTorch lowers it for U55: in two slices."""
    n, c, d, h, w = x.shape
    most = 38
    parts = [
        g.transpose(g.slice(x, (0, 0, first, 0, 0), (n, c, size, h, w)), (0, 2, 3, 4, 1))
        for first, size in ((0, most), (most, d - most))
    ]
    return g.op("CONCAT", parts, (n, d, h, w, c), "i8", axis=1)


def _batch_norm(channel: int) -> Make:
    """Minus the mean, divided, times the weight, plus the bias, each of its own int8 scale; ``channel`` is the axis."""

    def make(g: Graph, x: Tensor, rng: np.random.Generator) -> Tensor:
        shape = [size if axis == channel else 1 for axis, size in enumerate(x.shape)]
        for op in ("SUB", "MUL", "MUL", "ADD"):
            other = g.rescale(
                g.const(rng.integers(1, 100, shape), "i8"), "i32", [1.0 if op == "MUL" else float(1 << 20)]
            )
            if op == "MUL":
                x = g.rescale(g.mul(g.rescale(x, "i32", [1.0]), other, x.shape), "i8", [0.01])
            else:
                wide = g.rescale(x, "i32", [float(1 << 20)])
                x = g.rescale(g.op(op, [wide, other], x.shape, "i32"), "i8", [0.6 / (1 << 20)])
        return x

    return make


def _convolution(g: Graph, x: Tensor, rng: np.random.Generator) -> Tensor:
    channels = x.shape[-1]
    weights = rng.integers(-100, 100, (channels, 3, 3, channels))
    made = g.conv2d(x, weights, np.zeros(channels), (1, 1, 1, 1), (1, 1), (1, 1), 0)
    return _batch_norm(3)(g, g.rescale(made, "i8", [0.0003]), rng)


BOTH = ("ethos-u55-128", "ethos-u85-128")
NETWORKS = (
    ("permutation 2x2x41x41x41", (2, 2, 41, 41, 41), _permutation, ("ethos-u55-128",)),
    ("batch norm 32x112x112", (1, 32, 112, 112), _batch_norm(1), BOTH),
    ("batch norm 3x254x254", (1, 3, 254, 254), _batch_norm(1), BOTH),
    ("convolution and batch norm 112x112x32", (1, 112, 112, 32), _convolution, BOTH),
)


def figures(runs: int) -> Iterator[Figure]:
    """Reference over model, later runs (goal: never slower) and first runs."""
    with Compiler(600.0) as compiler:
        for name, shape, make, targets in NETWORKS:
            network = _network(shape, make)
            for target in targets:
                case = compiled(network, target, compiler)
                first, later = [], []
                with one_thread():
                    for _ in range(max(runs, 3)):
                        theirs = cpu_seconds(lambda: reference(network))  # noqa: B023 - called at once
                        forget_plans()
                        forget_weights()
                        for ratios in (first, later):
                            ours = cpu_seconds(lambda: run_delegate(case.blob, case.inputs))  # noqa: B023
                            ratios.append(theirs / ours)
                if run_delegate(case.blob, case.inputs).outputs != case.outputs:
                    raise SystemExit(f"error: {name} on {target} differs from the reference")
                yield Figure(f"{name}: reference / model, {target}", "x", later, "> 1")
                yield Figure(f"{name}: reference / model, {target}, first run", "x", first)
