"""One fuzz case: draw, run the TOSA reference model, compile with Vela, run the NPU model, compare every byte.

A case is told by its seed and its target. What cannot be judged is named: the reference calls the graph unpredictable,
Vela refuses it, or the stream asks for what is not modelled.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.fuzz.compiler import SYSTEMS, CompileFailed, Compiler
from corstone.emulator.npu.fuzz.known import known_divergence
from corstone.emulator.npu.fuzz.networks import Network, draw
from corstone.emulator.npu.offline import run_delegate
from corstone.emulator.npu.types import Array
from corstone.formats.vela import VelaBlob


@dataclass(frozen=True)
class Outcome:
    """What became of one case. ``kind``: equal, different, stopped, refused or unpredictable.

    ``known`` names the compiler's divergence that explains a difference or a stop (``known``), where one does.
    """

    seed: int
    target: str
    operators: tuple[str, ...]
    kind: str
    detail: str = ""
    operations: tuple[str, ...] = ()

    @property
    def known(self) -> str:
        """The compiler's divergence behind a difference or a stop, empty where there is none."""
        if self.kind not in ("different", "stopped"):
            return ""
        return known_divergence(self.operators, self.target, self.detail)


@contextmanager
def _quiet() -> Iterator[None]:
    """The reference model writes to the process's own outputs, through C's buffers; not here."""
    sys.stdout.flush()
    sys.stderr.flush()
    c = ctypes.CDLL(None)
    null = os.open(os.devnull, os.O_WRONLY)
    kept = [(stream, os.dup(stream)) for stream in (1, 2)]
    for stream, _ in kept:
        os.dup2(null, stream)
    try:
        yield
    finally:
        c.fflush(None)
        for stream, copy in kept:
            os.dup2(copy, stream)
            os.close(copy)
        os.close(null)


def reference(network: Network) -> list[Array] | None:
    """The TOSA reference model's outputs; None where it calls the graph erroneous or unpredictable."""
    import tosa_reference_model

    with _quiet():
        outputs, status = tosa_reference_model.run(network.graph, network.inputs, verbosity="NONE")
    return list(outputs) if status == tosa_reference_model.GraphStatus.TOSA_VALID else None


def mode_of(seed: int, target: str) -> tuple[str, tuple[str, ...]]:
    """Memory mode and flags of a case: both change how Vela splits work over time and memory."""
    modes = SYSTEMS[target.split("-")[1].upper()][1]
    flags = ((), ("--optimise=Size",), ("--arena-cache-size=16384",))[seed // 2 % 3]
    return modes[seed % len(modes)], flags


def run_case(seed: int, target: str, compiler: Compiler) -> Outcome:
    """One case."""
    network = draw(seed, target.split("-")[1].upper())
    names = tuple(network.operators)
    expected = reference(network)
    if expected is None:
        return Outcome(seed, target, names, "unpredictable")
    try:
        blob = compiler.compile(network.graph, target, *mode_of(seed, target))
    except CompileFailed as error:
        return Outcome(seed, target, names, "refused", str(error))
    return judge(seed, target, names, blob, network.inputs, expected)


def judge(
    seed: int, target: str, names: tuple[str, ...], blob: VelaBlob, inputs: list[Array], expected: list[Array]
) -> Outcome:
    """Run a compiled case and compare."""
    if len(blob.inputs) != len(inputs):
        return Outcome(seed, target, names, "refused", "Vela dropped an input that no output depends on")
    try:
        run = run_delegate(blob, [np.ascontiguousarray(data).tobytes() for data in inputs])
    except NpuError as error:
        return Outcome(seed, target, names, "stopped", str(error))
    for number, (got, want) in enumerate(zip(run.outputs, expected, strict=True)):
        wanted = np.ascontiguousarray(want).tobytes()
        if got != wanted:
            values = np.frombuffer(got, want.dtype) if len(got) == len(wanted) else np.zeros(0, want.dtype)
            wrong = np.flatnonzero(values != want.reshape(-1)) if values.size else np.zeros(0, np.int64)
            detail = f"output {number}: {wrong.size} of {want.size} elements"
            if wrong.size:
                where = int(wrong[0])
                detail += f", first at {where}: {values[where]} for {want.reshape(-1)[where]}"
            return Outcome(seed, target, names, "different", detail, tuple(run.stats.operations))
    return Outcome(seed, target, names, "equal", "", tuple(run.stats.operations))
