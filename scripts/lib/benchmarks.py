"""The benchmarks of ``scripts/bench``: each yields figures with all their samples."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

BIN = Path(sys.executable).parent
CORSTONE = str(BIN / "corstone")
MAIN_JOB = [CORSTONE, "check", "acos,asin,atanh", "--bits", "8,16", "--provider", "emulator"]


@dataclass
class Figure:
    """One measured quantity: ``samples`` in ``unit``; ``goal`` in words, empty when there is none."""

    name: str
    unit: str
    samples: list[float] = field(default_factory=list)
    goal: str = ""


Benchmark = Callable[[int], Iterator[Figure]]


def wall(command: list[str], environment: dict[str, str] | None = None, *, check: bool = True) -> float:
    """Wall-clock seconds of a whole process, its output thrown away."""
    began = time.perf_counter()
    done = subprocess.run(
        command, env=os.environ | (environment or {}), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    seconds = time.perf_counter() - began
    if check and done.returncode:
        sys.exit(
            f"error: {' '.join(command)} ended with {done.returncode}:\n{done.stdout.decode(errors='replace')[-2000:]}"
        )
    return seconds


def nothing_compiled(folder: Path) -> dict[str, str]:
    """Environment with an empty cache, but for the runner images, which are no compiler's work."""
    from corstone.paths import cache_dir

    cache = folder / "cache"
    cache.mkdir()
    for part in ("runners", "firmware", "wheels"):
        if (cache_dir() / part).is_dir():
            (cache / part).symlink_to(cache_dir() / part)
    return {"CORSTONE_CACHE": str(cache)}


def boot(runs: int) -> Iterator[Figure]:
    """Boot to verdict on Arm's image, warm, and where the time goes."""
    from corstone.pipeline import CheckRequest, check_one

    for bits, goal in ((8, "< 0.5 s"), (16, "< 1.5 s")):
        parts: dict[str, list[float]] = {}
        with tempfile.TemporaryDirectory() as out:
            request = CheckRequest("acos", bits=bits, provider="emulator", out=Path(out))
            check_one(request)
            totals = []
            for _ in range(runs):
                began = time.perf_counter()
                record = check_one(request)
                totals.append(time.perf_counter() - began)
                if record.verdict.exit_code:
                    sys.exit(f"error: {record.case_id}: {record.verdict.reason}")
                for name, seconds in record.seconds.items():
                    parts.setdefault(name, []).append(seconds)
        yield Figure(f"acos int{bits}, all codes: request to verdict", "s", totals, goal)
        for name, samples in parts.items():
            yield Figure(f"acos int{bits}: {name}", "s", samples)


def main_job(runs: int) -> Iterator[Figure]:
    """The six cases of scripts/run as one process, warm, then cold."""
    with tempfile.TemporaryDirectory() as out:
        command = [*MAIN_JOB, "--out", out]
        wall(command)
        yield Figure("six cases, warm", "s", [wall(command) for _ in range(runs)], "< 8 s")
    with tempfile.TemporaryDirectory() as out:
        environment = nothing_compiled(Path(out))
        yield Figure("six cases, nothing compiled yet", "s", [wall([*MAIN_JOB, "--out", out], environment)])


def start(runs: int) -> Iterator[Figure]:
    """Starting up: the command's help, and collecting the device tests."""
    yield Figure("corstone --help", "s", [wall([CORSTONE, "--help"]) for _ in range(runs)], "< 0.15 s")
    collect = [sys.executable, "-m", "pytest", "-m", "fvp", "--collect-only", "-q", "tests/fvp/test_networks.py"]
    yield Figure("pytest -m fvp --collect-only", "s", [wall(collect) for _ in range(runs)], "< 0.5 s")


def upstream(runs: int) -> Iterator[Figure]:
    """One case against ExecuTorch's own test of the same case, which stops before a device."""
    test = "executorch.backends.arm.test.ops.test_acos"
    theirs = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:corstone", "--pyargs", test]
    theirs += ["-k", "test_acos_u55_INT and ones"]
    with tempfile.TemporaryDirectory() as out:
        ours = [CORSTONE, "check", "acos", "--provider", "emulator", "--out", out]
        wall(ours)
        pairs = [(wall(ours), wall(theirs)) for _ in range(max(2, runs // 2))]
        yield Figure("ours, warm, with a boot", "s", [a for a, _ in pairs])
        yield Figure("theirs, no device", "s", [b for _, b in pairs])
        yield Figure("theirs / ours, warm process", "x", [b / a for a, b in pairs], "> 10")
        environment = nothing_compiled(Path(out))
        cold = wall(ours, environment)
        yield Figure("theirs / ours, cold", "x", [statistics.median(b for _, b in pairs) / cold])


def nightly(runs: int) -> Iterator[Figure]:
    """Ledger, merge of 100,000 cases, report of 3,000, dashboard of a year; once each, whatever --runs says."""
    from benchmarks_nightly import nightly as figures

    yield from figures(runs)


def npu(runs: int) -> Iterator[Figure]:
    """The NPU model: MobileNetV2 at 224 pixels, half a million operations, cost over size."""
    import benchmarks_npu

    yield from benchmarks_npu.figures(runs)


BENCHMARKS: dict[str, Benchmark] = {
    "boot": boot,
    "main": main_job,
    "start": start,
    "upstream": upstream,
    "nightly": nightly,
    "npu": npu,
}
