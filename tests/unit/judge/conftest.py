"""Captures of an int8 acos made by numpy: the reference table, float64 and a device that can be told to be wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
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
from corstone.program import Program, QParams, TensorSpec

Array = npt.NDArray[Any]
OUT = QParams(float(np.float32(np.pi / 255)), -128, -128, 127, "int8")
FIXED = QParams(2 / 256, 0, -128, 127, "int8")
OBSERVER = QParams(0.007839, 0, -128, 127, "int8")


@dataclass
class Case:
    """Everything ``judge`` takes, ready to be changed by a test."""

    capture: Capture
    program: Program
    references: list[ReferenceResult]
    budgets: tuple[Budget, ...]
    domain: Domain = field(default_factory=lambda: Domain(-1.0, 1.0))


def acos_table(x: Array, qparams: QParams) -> Array:
    """The lowered network: quantize, table (0 where acos has no value), dequantize; float32."""
    codes = quantize(x, qparams)
    with np.errstate(invalid="ignore"):
        y = np.arccos(dequantize(codes, qparams).astype(np.float64))
    table = np.where(np.isnan(y), 0, quantize(np.nan_to_num(y), OUT))
    return dequantize(table, OUT)


MakeCase = Callable[..., Case]


@pytest.fixture
def make_case(tmp_path: Path) -> MakeCase:
    def make(
        x: Array | None = None,
        qparams: QParams = FIXED,
        change: Callable[[Array], Array] = lambda y: y,
        ending: Ending | None = None,
        evidence: dict[str, str] | None = None,
    ) -> Case:
        x = dequantize(np.arange(-128, 128), qparams) if x is None else x.astype(np.float32)
        y = acos_table(x, qparams)
        (tmp_path / "in-0.bin").write_bytes(x.tobytes())
        (tmp_path / "out-0.bin").write_bytes(np.ascontiguousarray(change(y.copy())).tobytes())
        (tmp_path / "p.pte").write_bytes(b"program")
        program = Program(
            tmp_path / "p.pte",
            "ethos-u55-128",
            (TensorSpec("x", "float32", x.shape),),
            (TensorSpec("y", "float32", x.shape),),
            input_qparams=(qparams,),
            output_qparams=(OUT,),
            network="acos",
            bits=8,
        )
        capture = Capture(
            tmp_path,
            Executor("emulator", "corstone-emulator", "0.1.0"),
            "corstone-300",
            "ethos-u55-128",
            "mlek",
            "00",
            ending or Ending(Outcome.PASSED, Cause.NONE, "finished"),
            outputs=("out-0.bin",),
            inputs=("in-0.bin",),
            evidence=evidence or {},
        )
        with np.errstate(invalid="ignore"):
            real = np.arccos(x.astype(np.float64))
        references = [
            ReferenceResult("table", (y,)),
            ReferenceResult("tosa", (y.copy(),)),
            ReferenceResult("float", (real,)),
        ]
        budgets = (
            Budget(Region(0.98, 1.0, "edge"), 10.5, "+1 is clipped to code 127"),
            Budget(Region(-1.0, 0.98, "interior"), 1.0, "rounding of one table"),
        )
        capture.save()
        program.save(tmp_path / "program.json")
        return Case(capture, program, references, budgets)

    return make


@pytest.fixture
def observer() -> QParams:
    return OBSERVER


@pytest.fixture
def fixed() -> QParams:
    return FIXED
