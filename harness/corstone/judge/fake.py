"""The fake-quantized answer of a network of one operator, in numpy: quantize(f(dequantize(code))), step by step.

A program whose graph holds one elementwise operator with a known function needs no torch for it, so every verdict of
one has this stage. Any other program has it when it is among the references asked for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy.tables import TableUse, tables_of, values_of
from corstone.judge.codes import quantize
from corstone.program import Program, QParams

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


def one_operator(program: Program) -> TableUse | None:
    """The one TABLE of a program that computes nothing else, with its function and parameters; else None.

    ``segmented`` splits one operator into many tables: its one row has many, and is not one of these.
    """
    path = program.pte.parent / "operators.json"
    if len(program.tosa) != 1 or len(program.inputs) != 1 or len(program.outputs) != 1 or not path.is_file():
        return None
    if len(json.loads(path.read_text())) != 1 or program.inputs[0].count != program.outputs[0].count:
        return None
    uses = tables_of(program)
    if len(uses) != 1 or uses[0].function is None or uses[0].input is None or uses[0].output is None:
        return None
    return uses[0]


def fake_quantized(program: Program, inputs: Sequence[Array]) -> Array | None:
    """Real values in the output's shape, float64; None when the program is not one operator on real inputs."""
    use = one_operator(program)
    if use is None or len(inputs) != 1 or inputs[0].dtype.kind != "f":
        return None
    given = program.input_qparams[0] if program.input_qparams else None
    output = program.output_qparams[0] if program.output_qparams else None
    x = inputs[0].reshape(-1)
    if given is not None:
        x = values_of(quantize(x, given), given)
    assert use.input is not None
    codes = quantize(x.astype(np.float32), use.input)
    values = answers(use, codes)
    if output is not None and output != use.output:
        values = values_of(quantize(values.astype(np.float32), output), output)
    return np.asarray(values.reshape(program.outputs[0].shape))


def answers(use: TableUse, codes: npt.NDArray[np.int64]) -> Floats:
    """quantize(f(dequantize(code))) of codes at the operator, as real values; NaN is the code 0, as in its table."""
    assert use.function is not None
    assert use.input is not None
    assert use.output is not None
    return values_of(rounded(exact_codes(use, codes), use.output), use.output)


def exact_codes(use: TableUse, codes: npt.NDArray[np.int64]) -> Floats:
    """f(dequantize(code)) in output codes, before rounding and clamping; NaN and infinities stay."""
    assert use.function is not None
    assert use.input is not None
    assert use.output is not None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return np.asarray(use.function(values_of(codes, use.input)) / use.output.scale + use.output.zero_point)


def rounded(exact: Floats, output: QParams) -> npt.NDArray[np.int64]:
    """Output codes of exact ones."""
    whole = np.rint(np.nan_to_num(exact, nan=0.0, posinf=1e9, neginf=-1e9))
    return np.asarray(np.clip(whole, output.qmin, output.qmax).astype(np.int64))
