"""Findings about operators with a restricted domain, from a program's quantization parameters alone.

A code outside the domain holds a NaN stored as some code; so does a *node* of an int16 table, which spoils the 127
codes on its inner side, too. Looks at the operators of ``corstone.quantize.operators``; a scan of every TABLE is the
guard's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.codes import quantize
from corstone.judge.domain import Domain, codes_of_domain
from corstone.judge.finding import GraphFinding
from corstone.program import Program, QParams
from corstone.quantize.domains import REALS, operator_name, unary
from corstone.quantize.operators import OPERATORS
from corstone.reference.graph import read_graph

Array = npt.NDArray[Any]
_HINT = "quantize it with the policy 'fixed', or 'edge_exact' at int8, which keep every code inside"


def operators_of(program: Program) -> tuple[tuple[str, str], ...]:
    """(TOSA operator, dtype of its first input) of all delegates, each once; they find known divergences."""
    pairs = (pair for path in program.tosa for pair in read_graph(path).operators)
    return tuple(dict.fromkeys(pairs))


def domain_findings(program: Program, inputs: Sequence[Array] = ()) -> tuple[GraphFinding, ...]:
    """One finding an operator whose codes or table nodes lie outside its domain.

    With ``inputs`` (real values of a program whose single input feeds the operator directly) a finding is fatal only
    when these inputs reach a spoilt code; without, when any input could.
    """
    path = program.pte.parent / "operators.json"
    if not path.is_file():
        return ()
    findings = []
    for row in json.loads(path.read_text()):
        name = operator_name(row["target"])
        if not row["inputs"] or row["inputs"][0] is None:
            continue
        qparams = QParams(**row["inputs"][0])
        if name in OPERATORS:
            domain = OPERATORS[name].domain
            spoilt = spoilt_by_table(domain, qparams)
        elif (function := unary(name, row.get("constants", ()))) is not None and function.domain != REALS:
            domain = function.domain
            spoilt = np.intersect1d(spoilt_by_table(domain, qparams, function.poles), codes_of_domain(domain, qparams))
        else:
            continue
        if spoilt.size:
            findings.append(_finding(str(row["name"]), name, domain, qparams, spoilt, program, inputs))
    return tuple(findings)


def spoilt_by_table(domain: Domain, qparams: QParams, poles: Sequence[float] = ()) -> npt.NDArray[np.int64]:
    """Codes between ``qmin`` and ``qmax`` whose table answer is not the operator's, int64, ascending.

    int8: the code's own value is outside the domain. int16: the value is, or a node that interpolation takes in. An end
    of the domain among ``poles`` counts as inside: infinity is stored as the end of the output's range.
    """

    def holds(codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        values = _value(codes, qparams)
        return np.asarray(domain.holds(values) | np.isin(values, poles))

    codes = np.arange(qparams.qmin, qparams.qmax + 1, dtype=np.int64)
    inside = holds(codes)
    if qparams.dtype == "int16":
        # Node i is code 128 i - 32768; code c lies between nodes at c & ~127 and 128 above it, and takes the upper
        # one in only when it is not on the lower.
        lower = codes & ~np.int64(127)
        inside &= holds(lower)
        inside &= (codes == lower) | holds(lower + 128)
    return codes[~inside]


def _value(codes: npt.NDArray[np.int64], qparams: QParams) -> npt.NDArray[np.float64]:
    """As the table's builder computes it: float32."""
    steps = (codes - qparams.zero_point).astype(np.float32)
    return (steps * np.float32(qparams.scale)).astype(np.float64)


def _finding(
    node: str,
    name: str,
    domain: Domain,
    qparams: QParams,
    spoilt: npt.NDArray[np.int64],
    program: Program,
    inputs: Sequence[Array],
) -> GraphFinding:
    first, last = int(spoilt[0]), int(spoilt[-1])
    reached = _reached(program, qparams, inputs)
    hit = spoilt.size if reached is None else int(np.isin(spoilt, reached).sum())
    ends = _value(np.array([first, last], np.int64), qparams)
    message = (
        f"{name} ({node}): {spoilt.size} input codes from {first} ({ends[0]:.6g}) to {last} ({ends[1]:.6g}) have wrong "
        f"answers: at scale {qparams.scale:.7g} they, or a table node beside them, lie outside the domain {domain} and "
        f"hold NaN stored as a code"
    )
    if reached is not None:
        message += f"; these inputs reach {hit} of them"
    return GraphFinding(message, _HINT, fatal=hit > 0)


def _reached(program: Program, qparams: QParams, inputs: Sequence[Array]) -> npt.NDArray[np.int64] | None:
    """The operator's input codes that the inputs become, None when that cannot be told from outside."""
    direct = len(program.inputs) == 1 and program.input_qparams[:1] == (qparams,)
    if not inputs or not direct:
        return None
    return np.unique(quantize(np.asarray(inputs[0]), qparams))
