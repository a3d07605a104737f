"""What a row of the table of CPU kernels is, and the dtypes in which the portable kernels compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.formats.pte import TensorValue

Array = npt.NDArray[Any]
# (operands, the output's tensor) -> the output; operands are those of the schema without its out arguments: arrays in
# torch's logical shape, Python numbers, None, tuples of numbers (int[]) or of arrays (Tensor[]).
OneOutput = Callable[[Sequence[Any], TensorValue], Array]


@dataclass(frozen=True)
class Kernel:
    """A CPU kernel.

    ``compute`` takes the operands and the tensors of all outputs, and returns an array for each output in its dtype and
    logical shape. ``out_args`` counts the schema's out arguments: 1 (a tensor, or one list of tensors), 2 for
    ``(values, indices)``, 0 where the value is only returned. In a plan they follow the operands, and the returned
    value comes last.
    """

    compute: Callable[[Sequence[Any], Sequence[TensorValue]], Sequence[Array]]
    out_args: int = 1


def one(function: OneOutput, out_args: int = 1) -> Kernel:
    """A kernel with a single output."""
    return Kernel(lambda operands, outs: (function(operands, outs[0]),), out_args)


def common_dtype(*operands: Any) -> np.dtype[Any]:
    """The dtype to which operands are promoted (``promoteTypes``, ``promote_type_with_scalar``).

    Arrays count by their dtype alone, whatever their rank. A Python float takes integers to float32, a Python int takes
    bool to int64; otherwise a number follows the arrays.
    """
    arrays = [x.dtype for x in operands if isinstance(x, np.ndarray)]
    numbers = [x for x in operands if isinstance(x, bool | int | float)]
    floats = [d for d in arrays if d.kind == "f"]
    if floats:
        return max(floats, key=lambda d: d.itemsize)
    if any(isinstance(x, float) for x in numbers):
        return np.dtype(np.float32)
    integers = [d for d in arrays if d.kind != "b"]
    if not integers and any(not isinstance(x, bool) for x in numbers):
        return np.dtype(np.int64)
    return np.result_type(*arrays)


def compute_dtype(*operands: Any) -> np.dtype[Any]:
    """The dtype in which elements are computed: the common one, float32 for half precision."""
    common = common_dtype(*operands)
    return np.dtype(np.float32) if common == np.float16 else common


def promoted(*operands: Any) -> tuple[Array, ...]:
    """Operands as arrays in the dtype in which they are computed."""
    dtype = compute_dtype(*operands)
    return tuple(np.asarray(x).astype(dtype) for x in operands)


def elementwise(function: Callable[..., Any], operands: int = 2) -> Kernel:
    """A kernel of numpy's ``function`` of the first operands, promoted; the result is cast to the output's dtype."""

    def compute(args: Sequence[Any], out: TensorValue) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(*promoted(*args[:operands]))).astype(np.dtype(out.dtype))

    return one(compute)
