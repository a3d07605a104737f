"""Captured programs as test material: what goes into their delegates, and what must come out.

A folder has ``index.json`` and a folder a program with ``program.pte``, delegate inputs ``tosa-in-0-<m>.bin`` and
outputs ``tosa-<j>.bin`` of the TOSA reference model. Where a program has none, its float inputs are quantized as the
program's own quantize calls say, and the output must have the codes of ``expected-<i>.bin``.
Leaves out CPU operators other than quantize, dequantize and casts.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.offline import run_delegate
from corstone.emulator.npu.types import Array
from corstone.formats.pte import DelegateCall, KernelCall, PteFile, read_pte
from corstone.formats.vela import VelaBlob, read_vela

_QUANTIZE = "quantized_decomposed::quantize_per_tensor.out"
_CAST = "dim_order_ops::_to_dim_order_copy.out"
_DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor.out"


@dataclass(frozen=True)
class Case:
    """One captured program; ``reference`` says that the TOSA reference model answered for it."""

    id: str
    target: str
    operator: str
    folder: Path
    core: bool
    reference: bool


def cases(folder: Path) -> list[Case]:
    """All programs of a folder, in the order of its index."""
    rows = json.loads((folder / "index.json").read_text())["cases"]
    return [
        Case(row["id"], row["target"], row["operator"], folder / row["dir"], row["core"], row["tosa"] == "ok")
        for row in rows
    ]


def load(case: Case) -> tuple[PteFile, VelaBlob]:
    """The program and its first delegate."""
    pte = read_pte(case.folder / "program.pte")
    return pte, read_vela(pte.ethos_u[0].data)


def check(case: Case) -> str:
    """Run a program's delegate; empty when every output is equal, else what is wrong."""
    pte, blob = load(case)
    try:
        if case.reference:
            inputs = [(case.folder / f"tosa-in-0-{m}.bin").read_bytes() for m in range(len(blob.inputs))]
            expected = [(case.folder / f"tosa-{j}.bin").read_bytes() for j in range(len(blob.outputs))]
            return _compare(run_delegate(blob, inputs).outputs, expected)
        outputs = run_delegate(blob, _quantized_inputs(case, pte)).outputs
        return _compare(outputs, _expected_codes(case, pte))
    except NpuError as error:
        return f"stopped: {error}"


def _compare(outputs: tuple[bytes, ...], expected: list[bytes]) -> str:
    for number, (got, want) in enumerate(zip(outputs, expected, strict=True)):
        if got != want:
            wrong = sum(a != b for a, b in zip(got, want, strict=False))
            return f"different: output {number}, {wrong} of {len(want)} bytes"
    return ""


def _tensor_dtype(pte: PteFile, index: int) -> np.dtype[np.generic]:
    return np.dtype(pte.tensor(index).dtype)


def _numbers(pte: PteFile, args: tuple[int, ...]) -> list[float]:
    return [float(str(pte.values[index].value)) for index in args]


def _quantized_inputs(case: Case, pte: PteFile) -> list[bytes]:
    """Delegate inputs from the program's inputs, through its quantize calls."""
    known: dict[int, Array] = {}
    for number, index in enumerate(pte.inputs):
        if pte.values[index].kind == "tensor":
            known[index] = np.fromfile(case.folder / f"input-{number}.bin", _tensor_dtype(pte, index))
    for step in pte.instructions:
        if isinstance(step, KernelCall) and step.op == _QUANTIZE:
            scale, zero, low, high = _numbers(pte, step.args[1:5])
            out = step.args[-1]
            # The kernel multiplies by the reciprocal in float32 (kernels/quantized/cpu/op_quantize.cpp).
            codes = np.rint(known[step.args[0]] * np.float32(1.0 / scale)) + np.float32(zero)
            known[out] = np.clip(codes, low, high).astype(_tensor_dtype(pte, out))
        elif isinstance(step, KernelCall) and step.op == _CAST:
            known[step.args[-1]] = known[step.args[0]].astype(_tensor_dtype(pte, step.args[-1]))
        elif isinstance(step, DelegateCall):
            return [known[index].tobytes() for index in step.args if index in known]
        else:
            raise ValueError(f"{case.id}: {step} before the delegate")
    raise ValueError(f"{case.id}: no delegate call")


def _expected_codes(case: Case, pte: PteFile) -> list[bytes]:
    """What the delegate must write for the program to give its expected outputs."""
    produced = {step.args[-1]: step for step in pte.instructions if isinstance(step, KernelCall)}
    call = next(step for step in pte.instructions if isinstance(step, DelegateCall))
    wanted: dict[int, bytes] = {}
    for number, index in enumerate(pte.outputs):
        values = np.fromfile(case.folder / f"expected-{number}.bin", _tensor_dtype(pte, index))
        step = produced.get(index)
        if step is not None and step.op == _DEQUANTIZE:
            scale, zero = _numbers(pte, step.args[1:3])
            source = step.args[0]
            codes = np.rint(values.astype(np.float64) / scale) + zero
            wanted[source] = codes.astype(_tensor_dtype(pte, source)).tobytes()
        else:
            wanted[index] = values.tobytes()
    return [wanted[index] for index in call.args if index in wanted]
