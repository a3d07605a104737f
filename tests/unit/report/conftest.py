"""Records with real capture folders: an int8 acos made by numpy, right or wrong as a test asks, judged for real."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from corstone.capture import Capture, Ending, Executor
from corstone.causes import Cause, Outcome
from corstone.judge.budget import Budget, Region
from corstone.judge.codes import dequantize, quantize
from corstone.judge.domain import Domain
from corstone.judge.reference import ReferenceResult
from corstone.judge.stored import Question, judge_folder, store
from corstone.program import Program, QParams, TensorSpec
from corstone.report.record import CaseRecord

Array = npt.NDArray[Any]
MakeRecord = Callable[..., CaseRecord]
VERSIONS = {"torch": "2.13.0", "executorch": "1.5.1", "vela": "5.1.0", "tosa": "2026.5.0", "corstone": "0.1.0"}


def write_capture(
    folder: Path, bits: int, change: Callable[[Array], Array], ending: Ending, executor: Executor, console: bytes
) -> None:
    """A capture folder with everything a judgement and a page need."""
    span = 2**bits
    scale_in, scale_out = 2 / span, float(np.float32(np.pi / (span - 1)))
    low, high, dtype = -span // 2, span // 2 - 1, f"int{bits}"
    q_in, q_out = QParams(scale_in, 0, low, high, dtype), QParams(scale_out, low, low, high, dtype)
    x = dequantize(np.arange(low, high + 1), q_in)
    real = np.arccos(x.astype(np.float64))
    y = dequantize(quantize(real, q_out), q_out)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in-0.bin").write_bytes(x.tobytes())
    (folder / "console.log").write_bytes(console)
    outputs: tuple[str, ...] = ()
    if ending.outcome is Outcome.PASSED:
        (folder / "out-0.bin").write_bytes(np.ascontiguousarray(change(y.copy())).tobytes())
        outputs = ("out-0.bin",)
    spec = TensorSpec("x", "float32", x.shape)
    (folder / "p.pte").write_bytes(b"program")
    Program(folder / "p.pte", "ethos-u55-128", (spec,), (spec,), input_qparams=(q_in,), output_qparams=(q_out,)).save(
        folder / "program.json"
    )
    Capture(
        folder,
        executor,
        "corstone-300",
        "ethos-u55-128",
        "arm-executorch-u55",
        "59dd86b8",
        ending,
        outputs=outputs,
        inputs=("in-0.bin",),
        counters={"NPU ACTIVE": 33074, "NPU TOTAL": 33408},
    ).save()
    budgets = (
        Budget(Region(0.98, 1.0, "edge"), 1.5, "steep"),
        Budget(Region(-1.0, 0.98, "interior"), 1.0, "rounding of one table"),
    )
    references = [ReferenceResult("table", (y,)), ReferenceResult("tosa", (y,)), ReferenceResult("float", (real,))]
    store(folder, Question(budgets, "codes", 0, Domain(-1, 1)), references)


def judged(
    base: Path,
    name: str = "acos",
    *,
    bits: int = 8,
    policy: str = "fixed",
    target: str = "ethos-u55-128",
    change: Callable[[Array], Array] = lambda y: y,
    ending: Ending | None = None,
    executor: Executor | None = None,
    console: bytes = b"INFO - Inference completed.\n\x04",
) -> CaseRecord:
    """The record of a capture written below ``base`` and judged there."""
    executor = executor or Executor("emulator", "corstone-emulator", "0.1.0 (QEMU 7.2.22)")
    case = f"{name}-int{bits}-{policy}-{target}-corstone-300-codes"
    folder = base / "cases" / case
    write_capture(folder, bits, change, ending or Ending(Outcome.PASSED, Cause.NONE, "finished"), executor, console)
    capture, _, question, verdict = judge_folder(folder)
    record = CaseRecord(
        case,
        name,
        bits,
        policy,
        target,
        "corstone-300",
        question.stimulus,
        verdict,
        capture.executor,
        capture.runner,
        capture.runner_sha256,
        0,
        str(folder),
        capture.counters,
        VERSIONS,
        {"lower": 0.01, "boot": 0.3},
        f"corstone check {name} --bits {bits}",
    )
    record.save(folder / "record.json")
    return record


@pytest.fixture
def make_record(tmp_path: Path) -> MakeRecord:
    return functools.partial(judged, tmp_path)
