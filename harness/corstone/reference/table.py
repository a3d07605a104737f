"""``table``: a whole TOSA graph of TABLE, RESCALE and data movement, interpreted one operator at a time.

The plain definition that everything else is compared with. A graph with any other operator is not its business: it says
so by name, and ``tosa`` answers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.reference.graph import Graph
from corstone.reference.operators import CONSTANTS, OPERATORS

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class GraphRun:
    """Outputs of a graph, and every tensor on the way by its TOSA name."""

    outputs: tuple[Array, ...]
    tensors: dict[str, Array]


def unsupported(graph: Graph) -> tuple[str, ...]:
    """Names of operators that ``run`` does not interpret, each once."""
    return tuple(dict.fromkeys(op.name for op in graph.ops if op.name not in OPERATORS and op.name not in CONSTANTS))


def run(graph: Graph, inputs: Sequence[Array]) -> GraphRun:
    """Interpret the graph.

    Parameters
    ----------
    inputs: in the graph's order; any shape of the right size, the dtype of the tensor.

    Raises
    ------
    ConfigError: an operator that is not interpreted (cause ``unsupported``), or inputs that do not fit.
    Unpredictable: the specification leaves the answer open for these inputs.
    """
    if names := unsupported(graph):
        raise ConfigError(
            f"the table reference does not interpret {', '.join(names)}",
            cause=Cause.UNSUPPORTED,
            hint="the TOSA reference model answers for such graphs",
        )
    values = graph_inputs(graph, inputs)
    for op in graph.ops:
        if op.name in CONSTANTS:
            values |= {name: graph.constant(name) for name in op.outputs if name in graph.tensors}
            continue
        # Shapes are compile-time names and carry no tensor.
        operands = [values[name] for name in op.inputs if name not in graph.shapes]
        values[op.outputs[0]] = OPERATORS[op.name](graph, op, operands)
    return GraphRun(tuple(values[name] for name in graph.outputs), values)


def graph_inputs(graph: Graph, inputs: Sequence[Array]) -> dict[str, Array]:
    """The inputs by tensor name, in the shapes of the graph.

    Raises
    ------
    ConfigError: count, dtype or size differ.
    """
    if len(inputs) != len(graph.inputs):
        raise ConfigError(f"the TOSA graph has {len(graph.inputs)} inputs, {len(inputs)} were given")
    found = {}
    for name, array in zip(graph.inputs, inputs, strict=True):
        tensor = graph.tensors[name]
        if array.dtype != np.dtype(tensor.dtype) or array.size != int(np.prod(tensor.shape)):
            raise ConfigError(
                f"input {name} of the TOSA graph is {tensor.dtype} {list(tensor.shape)}, "
                f"got {array.dtype} {list(array.shape)}"
            )
        found[name] = np.ascontiguousarray(array).reshape(tensor.shape)
    return found
