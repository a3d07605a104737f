"""Figures of the NPU model: a MobileNetV2 at 224 pixels, a stream of half a million operations, cost over size.

Everything that a ratio compares runs in turn in one process. Steps that must have a process of their own, for their
memory, are ``python benchmarks_npu.py STEP``. Leaves out the emulator around the model.
"""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks import Figure

from corstone.emulator.npu import ArrayMemory, NpuConfig, execute
from corstone.emulator.npu.assemble import Assembler
from corstone.emulator.npu.fuzz.compiler import SYSTEMS, Compiler
from corstone.emulator.npu.fuzz.differential import reference
from corstone.emulator.npu.fuzz.graph import Graph
from corstone.emulator.npu.fuzz.mobilenet import mobilenet_v2
from corstone.emulator.npu.fuzz.networks import Network
from corstone.emulator.npu.fuzz.store import StoredCase, load, save
from corstone.emulator.npu.interpreter import forget_plans
from corstone.emulator.npu.offline import run_delegate
from corstone.paths import cache_dir

TOP = Path(__file__).resolve().parents[2]
TARGETS = ("ethos-u55-128", "ethos-u85-256")
PLOT = TOP / "docs" / "npu-cost.svg"
BASE = 0x8000_0000


def seconds(function: Callable[[], object]) -> float:
    """Wall-clock seconds of a call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def cpu_seconds(function: Callable[[], object]) -> float:
    """Seconds of this process's CPU time in a call, which a busy machine disturbs least."""
    began = time.process_time()
    function()
    return time.process_time() - began


def compiled(network: Network, target: str, compiler: Compiler) -> StoredCase:
    """A network for a target, with the reference's outputs."""
    blob = compiler.compile(network.graph, target, SYSTEMS[target.split("-")[1].upper()][1][0])
    outputs = reference(network)
    assert outputs is not None
    inputs, wanted = (tuple(np.ascontiguousarray(x).tobytes() for x in side) for side in (network.inputs, outputs))
    return StoredCase(target, blob, inputs, wanted)


def mobilenet_cases() -> list[StoredCase]:
    """MobileNetV2 at 224 for each target; compiled once, as that takes a minute."""
    path = cache_dir() / "bench" / "mobilenet_v2_224.npz"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with Compiler(600.0) as compiler:
            save(path, [compiled(mobilenet_v2(224), target, compiler) for target in TARGETS])
    return load(path)


def gemms() -> Callable[[], None]:
    """The convolutions of MobileNetV2 at 224 as bare float64 matrix products, one a pointwise or first layer."""
    from corstone.emulator.npu.fuzz.mobilenet import shapes

    pairs = [(np.ones((m, k)), np.ones((k, n))) for m, k, n in shapes(224)]

    def products() -> None:
        for a, b in pairs:
            a @ b

    return products


def mobilenet(runs: int) -> Iterator[Figure]:
    """MobileNetV2 at 224: model, reference and bare matrix products in turn."""
    from corstone.emulator.npu.blas import one_thread

    network, cases, bare = mobilenet_v2(224), mobilenet_cases(), gemms()
    forget_plans()
    cold = {case.name: seconds(lambda case=case: run_delegate(case.blob, case.inputs)) for case in cases}  # type: ignore[misc]
    samples: dict[str, list[float]] = {name: [] for name in ("reference", "products", *TARGETS)}
    with one_thread():
        for _ in range(runs):
            samples["reference"].append(seconds(lambda: reference(network)))
            samples["products"].append(seconds(bare))
            for case in cases:
                samples[case.name].append(seconds(lambda case=case: run_delegate(case.blob, case.inputs)))  # type: ignore[misc]
                if run_delegate(case.blob, case.inputs).outputs != case.outputs:
                    sys.exit(f"error: MobileNetV2 on {case.name} differs from the reference")
    yield Figure("MobileNetV2 224: TOSA reference model", "s", samples["reference"])
    yield Figure("MobileNetV2 224: bare float64 products", "s", samples["products"])
    for target in TARGETS:
        yield Figure(f"MobileNetV2 224: NPU model, {target}, first run", "s", [cold[target]])
        yield Figure(f"MobileNetV2 224: NPU model, {target}, again", "s", samples[target])
        faster = [a / b for a, b in zip(samples["reference"], samples[target], strict=True)]
        yield Figure(f"MobileNetV2 224: reference / model, {target}", "x", faster, "> 5")
        slower = [b / a for a, b in zip(samples["products"], samples[target], strict=True)]
        yield Figure(f"MobileNetV2 224: model / bare products, {target}", "x", slower, "< 5")
    done = subprocess.run([sys.executable, __file__, "memory"], capture_output=True, text=True, check=True)
    yield Figure("MobileNetV2 224: peak memory of the process", "MiB", [float(done.stdout)], "< 1024")


def _memory() -> None:
    for case in mobilenet_cases():
        run_delegate(case.blob, case.inputs)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def tiny_stream(count: int, *, even: bool) -> bytes:
    """A stream of ``count`` 2x3 pools that copy, each with addresses of its own, evenly spaced or not."""
    a = Assembler("U55")
    for name in ("IFM", "OFM"):
        a.set(f"{name}_REGION", 0).set(
            f"{name}_PRECISION", signed=1, bits="8", **({"scale": 1} if name == "OFM" else {})
        )
        for tile in range(4):
            a.set(f"{name}_BASE{tile}", 0)
        a.set(f"{name}_HEIGHT0_M1", 0).set(f"{name}_HEIGHT1_M1", 0).set(f"{name}_WIDTH0_M1", 1)
        a.set(f"{name}_STRIDE_Y", 6).set(f"{name}_STRIDE_X", 3).set(f"{name}_STRIDE_C", 1).set(f"{name}_ZERO_POINT", 0)
    a.set("IFM_DEPTH_M1", 2).set("OFM_DEPTH_M1", 2).set("OFM_HEIGHT_M1", 0).set("OFM_WIDTH_M1", 1)
    for side in ("TOP", "LEFT", "RIGHT", "BOTTOM"):
        a.set(f"IFM_PAD_{side}", 0)
    a.set("IFM_UPSCALE", 0).set("KERNEL_HEIGHT_M1", 0).set("KERNEL_WIDTH_M1", 0).set("KERNEL_STRIDE")
    a.set("ACTIVATION", function="NONE").set("ACTIVATION_MIN", -128).set("ACTIVATION_MAX", 127)
    a.set("OFM_SCALE", 1, shift=0).set("ACC_FORMAT", format="I32")
    head = a.stream()
    step = Assembler("U55").set("IFM_BASE0", 0).set("OFM_BASE0", 0).op("POOL", mode="AVERAGE").stream()
    words = np.tile(np.frombuffer(step, "<u4"), (count, 1))
    place = np.arange(count) if even else np.random.default_rng(0).permutation(count)
    words[:, 1] = 6 * np.arange(count)
    words[:, 3] = 6 * count + 6 * place
    return head + words.tobytes() + struct.pack("<I", 0xFFFF << 16)


def tiny(runs: int) -> Iterator[Figure]:
    """Half a million tiny operations in one stream, with addresses that are evenly spaced, and that are not."""
    count = 563_000
    data = np.random.default_rng(1).integers(0, 256, 12 * count).astype(np.uint8)
    memory = ArrayMemory()
    memory.add(BASE, data)
    config = NpuConfig.for_target("ethos-u55-128")
    for even, words in ((True, "evenly spaced"), (False, "anywhere")):
        stream = tiny_stream(count, even=even)
        samples = []
        for _ in range(max(1, runs // 2)):
            forget_plans()
            samples.append(seconds(partial(execute, stream, [BASE], memory, config)))
        yield Figure(f"{count} pools in {len(stream) / 1e6:.1f} MB, {words}", "s", samples, "< 60")


def _conv_network(size: int, channels: int) -> tuple[Network, float]:
    g, rng = Graph(), np.random.default_rng(size)
    x = g.input((1, size, size, channels), "i8")
    weights = rng.integers(-100, 100, (channels, 3, 3, channels))
    out = g.conv2d(x, weights, np.zeros(channels), (1, 1, 1, 1), (1, 1), (1, 1), 0)
    y = g.rescale(out, "i8", [0.0003])
    return Network(g.finish([y]), [rng.integers(-128, 128, x.shape).astype(np.int8)]), size * size * 9.0 * channels**2


def _move_network(size: int, channels: int) -> tuple[Network, float]:
    g, rng = Graph(), np.random.default_rng(size)
    x, y = (g.input((1, size, size, channels), "i8") for _ in range(2))
    wide = [g.rescale(t, "i32", [float(1 << 20)]) for t in (x, y)]
    z = g.rescale(g.op("ADD", wide, x.shape, "i32"), "i8", [0.6 / (1 << 20)])
    data = [rng.integers(-128, 128, x.shape).astype(np.int8) for _ in range(2)]
    return Network(g.finish([z]), data), 3.0 * size * size * channels


SWEEPS: dict[str, tuple[str, Callable[[int, int], tuple[Network, float]], Sequence[tuple[int, int]]]] = {
    "3x3 convolutions": (
        "MACs",
        _conv_network,
        ((8, 16), (16, 16), (16, 32), (32, 32), (32, 64), (64, 64), (96, 96), (128, 128)),
    ),
    "int8 additions": (
        "bytes",
        _move_network,
        ((8, 16), (16, 16), (32, 16), (32, 32), (64, 32), (128, 32), (128, 64), (224, 64)),
    ),
}


def scaling(runs: int) -> Iterator[Figure]:
    """CPU time over MACs and over bytes moved, for a sweep of sizes; writes the plot of docs/npu.md."""
    curves: dict[str, list[tuple[float, float]]] = {}
    with Compiler() as compiler:
        for title, (unit, make, sizes) in SWEEPS.items():
            points = []
            for size, channels in sizes:
                network, work = make(size, channels)
                blob = compiler.compile(network.graph, "ethos-u85-256", "Sram_Only")
                run = partial(run_delegate, blob, [np.ascontiguousarray(x).tobytes() for x in network.inputs])
                run()
                run()
                best = min(cpu_seconds(run) for _ in range(max(5, runs)))
                points.append((work, best))
            curves[f"{title} ({unit})"] = points
            (work0, t0), (work1, t1) = points[-3], points[-1]
            exponent = float(np.log(t1 / t0) / np.log(work1 / work0))
            yield Figure(f"{title}: exponent of time over {unit}, top of the sweep", "", [exponent], "about 1")
            yield Figure(f"{title}: time of one {unit[:-1]}, largest", "ns", [t1 / work1 * 1e9])
    PLOT.write_text(plot(curves))


def plot(curves: dict[str, list[tuple[float, float]]]) -> str:
    """Time over work, both logarithmic, as an SVG; the dashed line through each last point is exact proportion."""
    width, height, left, bottom = 640, 400, 60, 40
    every = [point for points in curves.values() for point in points]
    low, high = (np.floor(np.log10(min(p[0] for p in every))), np.ceil(np.log10(max(p[0] for p in every))))
    down, up = (np.floor(np.log10(min(p[1] for p in every))), np.ceil(np.log10(max(p[1] for p in every))))

    def at(point: tuple[float, float]) -> tuple[float, float]:
        x = left + (np.log10(point[0]) - low) / (high - low) * (width - left - 10)
        y = height - bottom - (np.log10(point[1]) - down) / (up - down) * (height - bottom - 10)
        return round(float(x), 1), round(float(y), 1)

    font = 'font-family="sans-serif" font-size="12"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font}>']
    out.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for power in range(int(low), int(high) + 1):
        x, _ = at((10.0**power, 10.0**down))
        out.append(f'<path d="M{x} 10V{height - bottom}" stroke="#ddd"/>')
        out.append(f'<text x="{x}" y="{height - bottom + 16}" text-anchor="middle">1e{power}</text>')
    for power in range(int(down), int(up) + 1):
        _, y = at((10.0**low, 10.0**power))
        out.append(f'<path d="M{left} {y}H{width - 10}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{1000 * 10.0**power:g} ms</text>')
    for number, (name, points) in enumerate(curves.items()):
        colour = ("#1f77b4", "#d62728")[number]
        line = " ".join(f"{x},{y}" for x, y in map(at, points))
        work, last = points[-1]
        first = max(points[0][0], work * 10.0**down / last)
        (x0, y0), (x1, y1) = at((first, last * first / work)), at(points[-1])
        out.append(f'<path d="M{x0} {y0}L{x1} {y1}" stroke="{colour}" stroke-dasharray="4 4"/>')
        out.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in map(at, points)]
        out.append(f'<text x="{left + 12}" y="{28 + 18 * number}" fill="{colour}">{name}</text>')
    out.append(
        f'<text x="{(left + width) / 2}" y="{height - 6}" text-anchor="middle">MACs, or bytes read and written</text>'
    )
    return "\n".join([*out, "</svg>", ""])


STEPS: dict[str, Callable[[], None]] = {"memory": _memory}


def figures(runs: int) -> Iterator[Any]:
    """All figures of the model."""
    yield from mobilenet(runs)
    yield from tiny(runs)
    yield from scaling(runs)


if __name__ == "__main__":
    STEPS[sys.argv[1]]()
