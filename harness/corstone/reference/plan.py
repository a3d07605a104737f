"""Runs a PTE's instruction plan in numpy; whoever answers for the delegates is given in.

Values are arrays in torch's logical shape. A delegate gets and returns them as they lie in memory (flat, in the
tensor's dimension order), since the runtime only copies bytes. Leaves out control flow between delegates that loops
for ever: the number of steps is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.pte import (
    BOXED,
    DelegateCall,
    FreeCall,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    PteFile,
    TensorValue,
)
from corstone.reference.kernels import KERNELS
from corstone.reference.kernels.unknown import unknown

Array = npt.NDArray[Any]
MAX_STEPS = 100_000


@dataclass(frozen=True)
class CallRecord:
    """One delegate call: its number in order, the delegate's index, and its tensors as flat memory, integer domain."""

    number: int
    delegate: int
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


@dataclass(frozen=True)
class PlanRun:
    """Outputs of the whole program, and what went into and out of each delegate."""

    outputs: tuple[Array, ...]
    calls: tuple[CallRecord, ...]


# (number of the call, delegate index, inputs) -> outputs, all flat; the number of inputs is the delegate's own.
Answerer = Callable[[int, int, Sequence[Array]], Sequence[Array]]


def to_memory(array: Array, dim_order: Sequence[int]) -> Array:
    """Flat, in memory order: dimensions outermost first as ``dim_order`` lists them."""
    order = tuple(dim_order) if len(dim_order) == array.ndim else tuple(range(array.ndim))
    return np.ascontiguousarray(array.transpose(order)).reshape(-1)


def from_memory(flat: Array, shape: Sequence[int], dim_order: Sequence[int]) -> Array:
    """Inverse of ``to_memory``."""
    order = tuple(dim_order) if len(dim_order) == len(shape) else tuple(range(len(shape)))
    stored = flat.reshape([shape[axis] for axis in order])
    return np.ascontiguousarray(stored.transpose(np.argsort(order))) if shape else stored


def run_plan(pte: PteFile, inputs: Sequence[Array], answer: Answerer, input_counts: Sequence[int]) -> PlanRun:
    """Interpret the plan.

    Parameters
    ----------
    inputs: program inputs in logical shape and dtype.
    answer: computes a delegate call.
    input_counts: number of inputs of each delegate call, in order.

    Raises
    ------
    ConfigError: inputs that do not fit, a kernel that is not in ``KERNELS``, or a plan that does not end.
    """
    return _Machine(pte, answer, input_counts).run(inputs)


class _Machine:
    def __init__(self, pte: PteFile, answer: Answerer, input_counts: Sequence[int]) -> None:
        self.pte = pte
        self.answer = answer
        self.input_counts = input_counts
        self.values: dict[int, Any] = {}
        self.written: dict[tuple[int, int], int] = {}  # planned memory -> the tensor last written there
        self.calls: list[CallRecord] = []

    def run(self, inputs: Sequence[Array]) -> PlanRun:
        self._set_inputs(inputs)
        position, steps = 0, 0
        while position < len(self.pte.instructions):
            steps += 1
            if steps > MAX_STEPS:
                raise ConfigError(f"the plan does not end within {MAX_STEPS} instructions", cause=Cause.BAD_PROGRAM)
            position = self._step(position)
        return PlanRun(tuple(self._get(index) for index in self.pte.outputs), tuple(self.calls))

    def _set_inputs(self, inputs: Sequence[Array]) -> None:
        # An argument that was None at export stays an input without bytes; nobody passes it.
        taken = tuple(index for index in self.pte.inputs if self.pte.values[index].kind != "null")
        if len(inputs) != len(taken):
            raise ConfigError(f"the program takes {len(taken)} inputs, {len(inputs)} were given", cause=Cause.BAD_INPUT)
        for index, spec, array in zip(taken, self.pte.specs(taken, "in"), inputs, strict=True):
            if tuple(array.shape) != spec.shape or array.dtype != np.dtype(spec.dtype):
                raise ConfigError(
                    f"input {spec.name} of the program is {spec.dtype} {list(spec.shape)}, "
                    f"got {array.dtype} {list(array.shape)}",
                    cause=Cause.BAD_INPUT,
                )
            self._set(index, array if isinstance(self.pte.values[index].value, TensorValue) else array.item())

    def _step(self, position: int) -> int:
        match self.pte.instructions[position]:
            case KernelCall(op, args):
                self._kernel(op, args)
            case DelegateCall(delegate, args):
                self._delegate(delegate, args)
            case MoveCall(source, destination):
                self._set(destination, self._get(source))
            case JumpFalseCall(condition, destination):
                if not bool(np.all(self._get(condition))):
                    return destination
            case FreeCall(value):
                self.values.pop(value, None)
        return position + 1

    def _kernel(self, op: str, args: tuple[int, ...]) -> None:
        kernel = KERNELS.get(op)
        if kernel is None:
            raise unknown(op)
        # Operands, out arguments, and the value returned: a tensor, or a list of all that were written.
        operands = args[: len(args) - 1 - kernel.out_args]
        targets = self._targets(args[-1])
        outs = [self.pte.tensor(index) for index in targets]
        try:
            made = kernel.compute([self._get(index) for index in operands], outs)
        except (IndexError, TypeError, ValueError, AttributeError) as error:
            raise _misused(op, str(error)) from error
        if len(made) != len(outs):
            raise _misused(op, f"it gives {len(made)} tensors, the program takes {len(outs)}")
        for index, out, array in zip(targets, outs, made, strict=True):
            if array.shape != out.shape or array.dtype != np.dtype(out.dtype):
                gives = f"{array.dtype} {list(array.shape)}, the program takes {out.dtype} {list(out.shape)}"
                raise _misused(op, f"it gives {gives}")
            self._set(index, array)

    def _targets(self, returned: int) -> tuple[int, ...]:
        value = self.pte.values[returned]
        return tuple(value.value) if isinstance(value.value, tuple) else (returned,)

    def _delegate(self, delegate: int, args: tuple[int, ...]) -> None:
        number = len(self.calls)
        if number >= len(self.input_counts):
            raise ConfigError(
                f"the program calls a delegate more often than there are TOSA graphs ({len(self.input_counts)})",
                cause=Cause.BAD_PROGRAM,
            )
        count = self.input_counts[number]
        inputs = tuple(to_memory(self._get(i), self.pte.tensor(i).dim_order) for i in args[:count])
        outputs = tuple(np.asarray(a).reshape(-1) for a in self.answer(number, delegate, inputs))
        targets = args[count:]
        if len(outputs) != len(targets):
            raise ConfigError(
                f"delegate call {number} has {len(targets)} outputs, its TOSA graph {len(outputs)}",
                cause=Cause.BAD_PROGRAM,
            )
        for index, flat in zip(targets, outputs, strict=True):
            tensor = self.pte.tensor(index)
            if flat.size * flat.dtype.itemsize != tensor.size_bytes:
                raise ConfigError(
                    f"an output of delegate call {number} is {tensor.dtype} {list(tensor.shape)}, "
                    f"its TOSA graph gives {flat.dtype} with {flat.size} elements",
                    cause=Cause.BAD_PROGRAM,
                )
            self._set(index, from_memory(flat.view(np.dtype(tensor.dtype)), tensor.shape, tensor.dim_order))
        self.calls.append(CallRecord(number, delegate, inputs, outputs))

    def _get(self, index: int) -> Any:
        if index in self.values:
            return self.values[index]
        value = self.pte.values[index]
        if isinstance(value.value, tuple) and value.kind in BOXED:
            return tuple(None if item < 0 else self._get(item) for item in value.value)
        if not isinstance(value.value, TensorValue):
            return value.value
        tensor = value.value
        if tensor.data is None:
            return self._view(index, tensor)
        flat = np.frombuffer(tensor.data or b"", np.dtype(tensor.dtype), int(np.prod(tensor.shape)))
        return from_memory(flat, tensor.shape, tensor.dim_order)

    def _set(self, index: int, value: Any) -> None:
        self.values[index] = value
        tensor = self.pte.values[index].value
        if isinstance(tensor, TensorValue) and tensor.memory is not None:
            self.written[tensor.memory] = index

    def _view(self, index: int, tensor: TensorValue) -> Array:
        """A view of known shape has no instruction: it is a tensor in the memory of another."""
        source = None if tensor.memory is None else self.written.get(tensor.memory)
        if source is not None and source in self.values:
            found = self.pte.tensor(source)
            if (found.dtype, found.size_bytes) == (tensor.dtype, tensor.size_bytes):
                return from_memory(to_memory(self.values[source], found.dim_order), tensor.shape, tensor.dim_order)
        raise ConfigError(f"the plan reads value {index} before anything wrote it", cause=Cause.BAD_PROGRAM)


def _misused(op: str, what: str) -> ConfigError:
    return ConfigError(f"the CPU kernel {op} does not fit its operands: {what}", cause=Cause.BAD_PROGRAM)
