"""What is checked before any value: count, byte size, dtype and shape of the outputs, and that they were written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause, Outcome
from corstone.judge.hints import untouched
from corstone.judge.reference import ReferenceResult
from corstone.judge.verdict import Verdict
from corstone.program import TensorSpec

Array = npt.NDArray[Any]
_WIDTHS = {1: "int8 or bool", 2: "int16", 4: "int32 or float32", 8: "int64 or float64"}


def check_bytes(outputs: Sequence[bytes], specs: Sequence[TensorSpec], canary: bytes) -> Verdict | None:
    """None when the raw outputs can be read as the program's outputs, else the verdict that says why not."""
    if len(outputs) != len(specs):
        return Verdict(
            Outcome.NO_OUTPUT,
            Cause.OUTPUT_COUNT,
            f"the program has {len(specs)} outputs ({_describe(specs)}), the device gave {len(outputs)}",
            hint="look for a runner that ends early, or for outputs of another program",
        )
    for i, (raw, spec) in enumerate(zip(outputs, specs, strict=True)):
        if len(raw) != spec.size_bytes:
            return Verdict(
                Outcome.NO_OUTPUT,
                Cause.OUTPUT_SIZE,
                f"output {i} ({_describe([spec])}) should have {spec.size_bytes} bytes, the device gave {len(raw)}",
                hint=_size_hint(len(raw), spec),
            )
        if untouched(raw, canary) == "all":
            return Verdict(
                Outcome.NO_OUTPUT,
                Cause.CANARY,
                f"output {i} ({_describe([spec])}) still holds the pattern that was there before the boot: "
                "the device wrote nothing",
                hint="the NPU wrote elsewhere or did not run: look at the transcript and at --trace",
            )
    return None


def check_reference(reference: ReferenceResult, specs: Sequence[TensorSpec]) -> Verdict | None:
    """None when a reference's outputs have the program's count, shapes and, if exact, dtypes."""
    exact = reference.name not in ("float", "fake-quantized")
    if len(reference.outputs) != len(specs):
        return Verdict(
            Outcome.FAILED,
            Cause.SHAPE,
            f"{reference.name} has {len(reference.outputs)} outputs, the program {len(specs)} ({_describe(specs)})",
            hint="the network returns other outputs than the program that was made of it",
        )
    for i, (array, spec) in enumerate(zip(reference.outputs, specs, strict=True)):
        if tuple(array.shape) != tuple(spec.shape):
            return Verdict(
                Outcome.FAILED,
                Cause.SHAPE,
                f"output {i}: {reference.name} has shape {list(array.shape)}, the program {list(spec.shape)}",
            )
        if exact and array.dtype != np.dtype(spec.dtype):
            return Verdict(
                Outcome.FAILED,
                Cause.SHAPE,
                f"output {i}: {reference.name} is {array.dtype}, the program's output is {spec.dtype}",
            )
    return None


def arrays(raw: Sequence[bytes], specs: Sequence[TensorSpec]) -> list[Array]:
    """Raw tensors as arrays of their dtype and logical shape; ``check_bytes`` has made sure that they fit.

    A tensor with another dimension order (channels last) is laid out so in memory and turned to torch's order here.
    """
    result = []
    for data, spec in zip(raw, specs, strict=True):
        flat = np.frombuffer(data, np.dtype(spec.dtype))
        order = spec.dim_order
        if order and tuple(order) != tuple(range(len(spec.shape))):
            stored = flat.reshape([spec.shape[axis] for axis in order])
            result.append(np.ascontiguousarray(stored.transpose(np.argsort(order))))
        else:
            result.append(flat.reshape(spec.shape))
    return result


def _describe(specs: Sequence[TensorSpec]) -> str:
    return ", ".join(f"{s.name or 'unnamed'}: {s.dtype} {list(s.shape)}" for s in specs)


def _size_hint(size: int, spec: TensorSpec) -> str:
    if size == 0:
        return "nothing was written: look at the end of the transcript"
    if spec.count and size % spec.count == 0 and (width := size // spec.count) in _WIDTHS:
        return (
            f"the size fits {spec.count} elements of {width} bytes ({_WIDTHS[width]}): another dtype than the program's"
        )
    short = size < spec.size_bytes
    return "the output was cut short" if short else "more bytes came than the program has: another program's output?"
