"""The references of a whole program on given inputs, each as a result that the judge takes; none of them raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError
from corstone.formats.pte import read_pte
from corstone.judge.reference import FAKE_QUANTIZED, FLOAT, ReferenceResult, Status
from corstone.lowering.keys import tool_versions
from corstone.program import Program
from corstone.reference import floating, table, tosa
from corstone.reference.graph import read_graph
from corstone.reference.kept import kept
from corstone.reference.operators import Unpredictable
from corstone.reference.plan import CallRecord, PlanRun, run_plan
from corstone.reference.table import graph_inputs

Array = npt.NDArray[Any]
DEFAULT = ("table", "tosa", FLOAT, FAKE_QUANTIZED)
_ABSENT = frozenset({Cause.UNSUPPORTED, Cause.MISSING_TOOL})


@dataclass(frozen=True)
class Answer:
    """One reference's result, and the delegate calls behind it (empty for ``float`` and ``fake-quantized``)."""

    result: ReferenceResult
    calls: tuple[CallRecord, ...] = ()


def references(program: Program, inputs: Sequence[Array], names: Sequence[str] = DEFAULT) -> dict[str, ReferenceResult]:
    """``answers`` without the delegate calls."""
    return {name: answer.result for name, answer in answers(program, inputs, names).items()}


def answers(program: Program, inputs: Sequence[Array], names: Sequence[str] = DEFAULT) -> dict[str, Answer]:
    """The answers of the named references.

    Parameters
    ----------
    inputs: one array per program input, its dtype and logical shape.
    names: of table, tosa, vgf, float, fake-quantized.

    Raises
    ------
    ConfigError: a name that is none of these. What a reference itself meets becomes the status of its result.
    """
    if unknown := set(names) - set(NAMES):
        raise ConfigError(f"no such reference: {sorted(unknown)}", hint=f"use {', '.join(NAMES)}")
    # Both kinds of real values come out of one child.
    real = floating.run_all(program, inputs, [n for n in names if n in (FLOAT, FAKE_QUANTIZED)])
    return {name: _guarded(name, program, inputs, real.get(name)) for name in names}


def _guarded(name: str, program: Program, inputs: Sequence[Array], real: list[Array] | HarnessError | None) -> Answer:
    try:
        if isinstance(real, HarnessError):
            raise real
        if real is not None:
            return Answer(ReferenceResult(name, tuple(real), version=_made_by(name, program)))
        return _through_plan(name, program, inputs)
    except Unpredictable as left_open:
        return Answer(ReferenceResult(name, (), Status.UNPREDICTABLE, str(left_open), _version(name)))
    except HarnessError as error:
        status = Status.UNAVAILABLE if error.cause in _ABSENT else Status.ERROR
        return Answer(ReferenceResult(name, (), status, str(error), _version(name)))


def _version(name: str) -> str:
    versions = tool_versions()
    return {"table": f"numpy {np.__version__}", "tosa": f"tosa-tools {versions['tosa']}"}.get(
        name, f"torch {versions['torch']}"
    )


def _made_by(name: str, program: Program) -> str:
    """Who made an answer of real values: numpy where it can (``floating.without_torch``), else torch."""
    from corstone.judge.fake import one_operator

    alone = program.source.startswith("network:") if name == FLOAT else one_operator(program) is not None
    return f"numpy {np.__version__}" if alone else _version(name)


def _through_plan(name: str, program: Program, inputs: Sequence[Array]) -> Answer:
    run = _run_plan(program, inputs, _DELEGATES[name])
    return Answer(ReferenceResult(name, run.outputs, version=_version(name)), run.calls)


def _run_plan(program: Program, inputs: Sequence[Array], delegate: Callable[..., Sequence[Array]]) -> PlanRun:
    if not program.tosa:
        raise ConfigError(
            f"the program {program.pte.name} came without its TOSA graph: there is no exact reference",
            cause=Cause.UNSUPPORTED,
            hint="lower the network with this harness, or judge by stored outputs",
        )
    graphs = [read_graph(path) for path in program.tosa]

    def answer(number: int, _delegate: int, given: Sequence[Array]) -> Sequence[Array]:
        # Memory is bytes: a flat tensor of the plan is the graph's tensor in the same order.
        shaped = [
            flat.view(np.dtype(graphs[number].tensors[tensor].dtype))
            for flat, tensor in zip(given, graphs[number].inputs, strict=True)
        ]
        return delegate(program, number, shaped)

    return run_plan(read_pte(program.pte), list(inputs), answer, [len(graph.inputs) for graph in graphs])


def _table_call(program: Program, number: int, inputs: Sequence[Array]) -> Sequence[Array]:
    return table.run(read_graph(program.tosa[number]), inputs).outputs


def _tosa_call(program: Program, number: int, inputs: Sequence[Array]) -> Sequence[Array]:
    return tosa.run(program.tosa[number], inputs)


def _vgf_call(program: Program, number: int, inputs: Sequence[Array]) -> Sequence[Array]:
    from corstone.vgf import TensorType, run_graph

    path = program.tosa[number]
    graph = read_graph(path)
    shaped = tuple(graph_inputs(graph, inputs).values())
    tensors = [graph.tensors[name] for name in graph.outputs]
    types = [TensorType(t.shape, t.dtype) for t in tensors]
    return kept("vgf", path, shaped, tool_versions()["tosa"], lambda: run_graph(path, shaped, types))


_DELEGATES: dict[str, Callable[..., Sequence[Array]]] = {
    "table": _table_call,
    "tosa": _tosa_call,
    "vgf": _vgf_call,
}
NAMES = (*_DELEGATES, FLOAT, FAKE_QUANTIZED)
