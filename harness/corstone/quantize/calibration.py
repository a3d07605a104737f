"""Shows calibration inputs to a prepared graph, and names the operator that has no finite answer to them. Needs torch.

Observers cannot take NaN: torch ends in a histogram's error that names neither the operator nor the input. Here a
failed pass is run once more on the float graph, node by node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from corstone.causes import Cause
from corstone.errors import ConfigError


def calibrate(prepared: Any, graph: Any, calibration: Sequence[tuple[Any, ...]]) -> None:
    """One forward pass of ``prepared`` per input set; ``graph`` is the float graph it was made of.

    Raises
    ------
    ConfigError: an operator answers NaN or infinity to finite inputs.
    """
    for number, inputs in enumerate(calibration):
        try:
            answers = prepared(*inputs)
        except RuntimeError:
            _explain(graph, inputs, number)
            raise
        if any(_not_finite(x).any() for x in _floats(answers)):
            _explain(graph, inputs, number)


def _explain(graph: Any, inputs: tuple[Any, ...], number: int) -> None:
    with torch.no_grad():
        _Finder(graph, f"calibration input set {number}").run(*inputs)


class _Finder(torch.fx.Interpreter):  # type: ignore[misc]  # torch is untyped here
    """Stops at the first node whose answer is not finite although all it was given is."""

    def __init__(self, graph: Any, what: str) -> None:
        super().__init__(graph)
        self.what = what

    def run_node(self, n: torch.fx.Node) -> Any:
        answer = super().run_node(n)
        if n.op in ("call_function", "call_module"):
            arguments = [*_floats(self.fetch_args_kwargs_from_env(n))]
            bad = [x for x in _floats(answer) if _not_finite(x).any()]
            if bad and not any(_not_finite(x).any() for x in arguments):
                raise self._error(n, bad[0], arguments)
        return answer

    def _error(self, n: torch.fx.Node, answer: Any, arguments: Sequence[Any]) -> ConfigError:
        where = _not_finite(answer)
        first = [int(i) for i in where.nonzero()[0]]
        given = next((x for x in arguments if x.shape == answer.shape), None)
        came = f", where its input is {given[tuple(first)].item():g}" if given is not None else ""
        operator = str(getattr(n.target, "__name__", n.target)).partition(".")[0]
        return ConfigError(
            f"{self.what}: {operator} answers {answer[tuple(first)].item():g} at {first}{came} "
            f"({int(where.sum())} of {answer.numel()} elements): the values lie outside its domain",
            cause=Cause.BAD_INPUT,
            hint="calibrate with inputs inside the domain (they are the example inputs where nothing else is given); "
            "a clamp in the network holds its inputs there for good",
            evidence={"stage": "quantize", "node": n.name},
        )


def _floats(values: Any) -> Iterator[Any]:
    return (x for x in tree_leaves(values) if isinstance(x, torch.Tensor) and x.is_floating_point())


def _not_finite(x: Any) -> Any:
    return ~torch.isfinite(x)
