"""The benchmarks of ``scripts/bench``: each yields figures with all their samples."""

from __future__ import annotations

import importlib.util
import os
import re
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


@dataclass(frozen=True)
class Spent:
    """Seconds of a whole process and of all it waited for: by the clock, and of processors (user and system)."""

    wall: float
    cpu: float
    # Tests that pytest says have run; ExecuTorch's end as expected failures where there is no FVP.
    tests: int = 0


def spent(command: list[str], environment: dict[str, str] | None = None, cwd: Path | None = None) -> Spent:
    """Run a command to its end, its output thrown away. Processor time also holds where others load the machine."""
    began, before = time.perf_counter(), os.times()
    done = subprocess.run(
        command,
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        cwd=cwd,
    )
    seconds, after = time.perf_counter() - began, os.times()
    if done.returncode:
        sys.exit(
            f"error: {' '.join(command)} ended with {done.returncode}:\n{done.stdout.decode(errors='replace')[-2000:]}"
        )
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    tests = re.findall(rb"(\d+) (?:passed|xfailed)", done.stdout)
    return Spent(seconds, cpu, sum(map(int, tests)))


def wall(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Wall-clock seconds of ``spent``."""
    return spent(command, environment).wall


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
    plugins = ("corstone", "corstone_ledger", "hydra_pytest", "anyio", "kgb", "hypothesispytest")
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder) / "test_empty.py"
        empty.write_text("def test_nothing(): pass\n")
        bare = [sys.executable, "-m", "pytest", "-c", os.devnull, "--collect-only", "-q", str(empty)]
        bare += [word for name in plugins for word in ("-p", f"no:{name}")]
        pairs = [(spent(collect), spent(bare, cwd=Path(folder))) for _ in range(runs)]
    yield Figure("pytest -m fvp --collect-only", "s", [a.wall for a, _ in pairs], "< 0.5 s")
    yield Figure("same / pytest on an empty test, processor time", "x", [a.cpu / b.cpu for a, b in pairs])


def upstream(runs: int) -> Iterator[Figure]:
    """ExecuTorch's own tests of the same cases, which stop before a device: warm, cold, and a case of several, cold."""
    # By its path: importing the package here would import torch.
    found = importlib.util.find_spec("executorch")
    folders = found.submodule_search_locations if found else None
    tests = Path(next(iter(folders or [""]))) / "backends/arm/test/ops"
    if not (tests / "test_acos.py").is_file():
        sys.exit("error: there is no ExecuTorch here that brings the tests of its Arm backend")
    pytest = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "-p", "no:corstone"]
    pytest += ["-p", "no:corstone_ledger", "--import-mode=importlib", "-k"]
    theirs = [*pytest, "u55_INT and ones", str(tests / "test_acos.py")]
    several = [
        *pytest,
        "u55_INT and (ones or ramp)",
        *(str(tests / f"test_{name}.py") for name in ("acos", "asin", "atanh")),
    ]
    with tempfile.TemporaryDirectory() as out:
        ours = [CORSTONE, "check", "acos", "--provider", "emulator", "--out", out]
        spent(ours)
        pairs = [(spent(ours), spent(theirs, cwd=Path(out))) for _ in range(max(2, runs // 2))]
        yield Figure("ours, warm, with a boot: processor time", "s", [a.cpu for a, _ in pairs])
        yield Figure("theirs, no device: processor time", "s", [b.cpu for _, b in pairs])
        yield Figure("theirs / ours, whole process, processor time", "x", [b.cpu / a.cpu for a, b in pairs], "> 10")
        yield Figure("theirs / ours, whole process, by the clock", "x", [b.wall / a.wall for a, b in pairs], "> 10")
        cold = [(_cold(ours), spent(theirs, cwd=Path(out))) for _ in range(runs)]
        yield Figure("ours / theirs, cold, processor time", "x", [a.cpu / b.cpu for a, b in cold], "< 0.5")
        yield Figure("ours / theirs, cold, by the clock", "x", [a.wall / b.wall for a, b in cold], "< 0.5")
        six = [(_cold([*MAIN_JOB, "--out", out]), spent(several, cwd=Path(out))) for _ in range(max(2, runs // 2))]
        name = "a case of ours (of six, cold, with boots) / of theirs"
        yield Figure(f"{name}, processor time", "x", [a.cpu / 6 * b.tests / b.cpu for a, b in six], "< 0.5")
        yield Figure(f"{name}, by the clock", "x", [a.wall / 6 * b.tests / b.wall for a, b in six], "< 0.5")


def _cold(command: list[str]) -> Spent:
    """What a command takes with nothing compiled yet."""
    with tempfile.TemporaryDirectory() as folder:
        return spent(command, nothing_compiled(Path(folder)))


def warm(runs: int) -> Iterator[Figure]:
    """A boot forked by the warm server against one of a new process, in turn; and QEMU with an empty board."""
    from corstone.boards import warm as server
    from corstone.pipeline import CheckRequest, check_one

    qemu = ["qemu-system-arm", "-M", "mps3-an547", "-nodefaults", "-display", "none", "-monitor", "stdio", "-S"]
    samples: dict[str, list[float]] = {"0": [], "1": []}
    floor = []
    before = os.environ.get(server.ENVIRONMENT)
    try:
        with tempfile.TemporaryDirectory() as out:
            request = CheckRequest("acos", provider="emulator", out=Path(out))
            check_one(request)
            for _ in range(runs):
                for mode, row in samples.items():
                    os.environ[server.ENVIRONMENT] = mode
                    began = time.perf_counter()
                    check_one(request)
                    row.append(time.perf_counter() - began)
                began = time.perf_counter()
                subprocess.run(qemu, input=b"quit\n", capture_output=True, check=False)
                floor.append(time.perf_counter() - began)
    finally:
        os.environ.pop(server.ENVIRONMENT, None)
        if before is not None:
            os.environ[server.ENVIRONMENT] = before
    yield Figure("acos int8 to verdict, a new process", "s", samples["0"])
    yield Figure("acos int8 to verdict, warm server", "s", samples["1"], "< 0.5 s")
    yield Figure("new process / warm server", "x", [a / b for a, b in zip(samples["0"], samples["1"], strict=True)])
    yield Figure("QEMU alone, started and stopped", "s", floor)
    yield Figure("warm server / QEMU alone", "x", [b / q for b, q in zip(samples["1"], floor, strict=True)])


def sweep(runs: int) -> Iterator[Figure]:
    """Every code of three int16 networks on three NPUs, warm: curves and a page; then a row for every code too."""
    command = [CORSTONE, "sweep", "acos,asin,atanh", "--bits", "16", "--policy", "fixed", "--quiet"]
    command += ["--target", "ethos-u55-128,ethos-u65-256,ethos-u85-256", "--provider", "emulator"]
    with tempfile.TemporaryDirectory() as out:
        page = [*command, "--no-codes", "--out", out]
        wall(page)
        yield Figure("sweep, 9 x 65,536 codes, warm", "s", [wall(page) for _ in range(runs)], "< 5 s")
        yield Figure("the same with codes.csv", "s", [wall([*command, "--out", out])])


def nightly(runs: int) -> Iterator[Figure]:
    """Ledger, merge, report and dashboard of very many cases."""
    import benchmarks_nightly

    yield from benchmarks_nightly.nightly(runs)


def npu(runs: int) -> Iterator[Figure]:
    """The NPU model: MobileNetV2 at 224 pixels, half a million operations, cost over size."""
    import benchmarks_npu

    yield from benchmarks_npu.figures(runs)


def heavy(runs: int) -> Iterator[Figure]:
    """Networks that take the TOSA reference model over 10 ms: how many times faster the NPU model is."""
    import benchmarks_heavy

    yield from benchmarks_heavy.figures(runs)


def corpus(runs: int) -> Iterator[Figure]:
    """Different programs with a boot each, in shared boots, and in two processes (CORSTONE_CORPUS names them)."""
    import benchmarks_corpus

    yield from benchmarks_corpus.figures(runs)


BENCHMARKS: dict[str, Benchmark] = {
    "boot": boot,
    "warm": warm,
    "main": main_job,
    "start": start,
    "sweep": sweep,
    "upstream": upstream,
    "nightly": nightly,
    "npu": npu,
    "heavy": heavy,
    "corpus": corpus,
}
