"""Which NPU operation makes a command stream another network than its TOSA graph, and which tensor it should have made.

The feature map of every operation is compared with the tensors of the graph on the same inputs. The first map that is
not its tensor is named; when it is the map of a TABLE, so is what its entries are instead. Leaves out running the
stream (``looking.walk``) and saying whether stream or device is at fault (``first``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy.tables import TableUse, expected_entries, tables_of
from corstone.errors import HarnessError
from corstone.judge.first import Why
from corstone.looking.matching import Match, inner_tensors, match
from corstone.looking.walk import Command, Walk
from corstone.program import Program
from corstone.quantize.domains import UNARY, unary
from corstone.reference.graph import Graph, read_graph

Array = npt.NDArray[Any]
_MOVES = frozenset({"CONCAT", "RESHAPE", "TRANSPOSE", "SLICE", "IDENTITY", "PAD", "TILE", "GATHER", "REVERSE"})
_FUSED = frozenset({"RESCALE", "CLAMP", "RESHAPE", "TRANSPOSE", "CAST"})
"""Operations that Vela fuses into the one before: the operator that a tensor is the answer of lies behind them."""
_DISTINCT = 4
"""Values below which a line through two feature maps says nothing."""


def wrong_operation(program: Program, walked: Walk) -> tuple[Why, str] | None:
    """Cause and sentence of the first operation that is wrong; None when every delegate's outputs are the graph's."""
    try:
        tensors = inner_tensors(program, walked)
    except HarnessError as error:
        return Why.UNKNOWN, f"the tensors of the TOSA graph are not there: {error}"
    if not tensors:
        return Why.UNKNOWN, "the program came without its TOSA graph"
    wrong = False
    for number, (commands, made) in enumerate(zip(walked.commands, tensors, strict=False)):
        graph = read_graph(program.tosa[number])
        if _same_outputs(walked.calls[number].outputs, [made[n] for n in graph.outputs if n in made]):
            continue
        wrong = True
        written = [c for c in commands if c.ofm is not None]
        hits = match([c.ofm for c in written], made)
        for at, (command, hit) in enumerate(zip(written, hits, strict=True)):
            if (hit is None and not _internal(written, hits, at)) or (hit is not None and not hit.equal):
                return _named(program, number, graph, made, command, hit, hits[:at], hits)
    if wrong:
        return Why.UNKNOWN, "every feature map is a tensor of the TOSA graph: the outputs were taken from elsewhere"
    return None


def _same_outputs(got: Sequence[Array], wanted: Sequence[Array]) -> bool:
    return len(got) == len(wanted) and all(g.tobytes() == w.tobytes() for g, w in zip(got, wanted, strict=True))


def _internal(written: Sequence[Command], hits: Sequence[Match | None], at: int) -> bool:
    """Whether a map that is no tensor is one of Vela's own: what is computed from it is a tensor all the same."""
    start = _address(written[at], "OFM")
    for command, hit in zip(written[at + 1 :], hits[at + 1 :], strict=True):
        if start is not None and start in (_address(command, "IFM"), _address(command, "IFM2")):
            return hit is not None and hit.equal
        if start is not None and _address(command, "OFM") == start:
            break
    return False


def _address(command: Command, which: str) -> int | None:
    found: Any = command.tensors.get(which, {}).get("address")
    return int(found[0]) if found else None


def _named(
    program: Program,
    number: int,
    graph: Graph,
    made: Mapping[str, Array],
    command: Command,
    hit: Match | None,
    before: Sequence[Match | None],
    hits: Sequence[Match | None],
) -> tuple[Why, str]:
    """What one operation did instead of its tensor."""
    where = f"NPU operation {command.number} ({command.name}, stream offset {command.offset:#x})"
    assert command.ofm is not None
    chain = [hit.tensor] if hit is not None else _next(graph, made, command.ofm, before, hits)
    if not chain:
        return Why.WRONG_OPERATOR, f"{where} writes no tensor of the TOSA graph"
    for name in chain:
        if _origin(name, graph) == "TABLE" and (found := _table(program, number, graph, made, name, command.ofm)):
            if hit is None and found[0] is Why.WRONG_ENTRY:
                continue  # most entries wrong: it may as well be another tensor
            return found[0], f"{where} should write tensor {name} of TABLE: {found[1]}"
    for name in chain:
        if (ratio := _times(command.ofm, made[name])) is not None:
            return Why.WRONG_SCALE, f"{where} writes tensor {name} of {_origin(name, graph)} times {ratio:.4g}"
    if hit is None:
        names = ", or fused with it ".join(f"{name} of {_origin(name, graph)}" for name in chain)
        return Why.WRONG_OPERATOR, f"{where} writes no tensor of the TOSA graph; the next one is {names}"
    name, origin = hit.tensor, _origin(hit.tensor, graph)
    detail = (
        f"{where} differs from tensor {name} of {origin} in {hit.differing} "
        f"elements, first {list(hit.first)}: expected {hit.expected}, got {hit.got}"
    )
    return (Why.WRONG_ENTRY if origin == "TABLE" else Why.WRONG_OPERATOR), detail


def _next(
    graph: Graph,
    made: Mapping[str, Array],
    got: Array,
    before: Sequence[Match | None],
    hits: Sequence[Match | None],
) -> list[str]:
    """The next tensor that a strange map can be, and those that may be fused with it, in their order.

    Next: the first of its size and type that no map is, after those that maps before it are, else the first at all.
    """
    maker = {name: op for op in graph.ops for name in op.outputs}
    order = {name: number for number, name in enumerate(made)}
    taken = {made[h.tensor].tobytes() for h in hits if h is not None and h.equal}
    fits = [
        name
        for name, array in made.items()
        if name in maker
        and maker[name].name not in _MOVES
        and (array.size, array.dtype) == (got.size, got.dtype)
        and array.tobytes() not in taken
    ]
    reached = max((order[h.tensor] for h in before if h is not None and h.equal), default=-1)
    first = next((n for n in fits if order[n] > reached), None) or next(iter(fits), None)
    chain = [] if first is None else [first]
    while chain and (after := next((n for n in fits if maker[n].inputs[:1] == (chain[-1],)), None)):
        chain.append(after)
    return chain


def _origin(name: str, graph: Graph) -> str:
    """The operator that a tensor is the answer of, behind what is fused with it."""
    maker = {tensor: op for op in graph.ops for tensor in op.outputs}
    op = maker.get(name)
    kind = op.name if op else "the graph"
    while op is not None and op.name in _FUSED and op.inputs and op.inputs[0] in maker:
        op = maker[op.inputs[0]]
        kind = op.name if op.name not in _MOVES and not op.name.startswith("CONST") else kind
    return kind


def _times(got: Array, wanted: Array) -> float | None:
    """The factor by which a map is its tensor, about any zero point and within a step; None when it is no multiple."""
    a, b = wanted.reshape(-1).astype(np.float64), got.reshape(-1).astype(np.float64)
    if a.size != b.size or wanted.dtype != got.dtype or wanted.dtype.kind not in "iu":
        return None
    room = np.iinfo(wanted.dtype)
    free = (a > room.min) & (a < room.max) & (b > room.min) & (b < room.max)
    a, b = a[free], b[free]
    if np.unique(a).size < _DISTINCT or np.unique(b).size < _DISTINCT:
        return None
    ratio, offset = np.polyfit(a, b, 1)
    if ratio <= 0 or abs(ratio - 1) < 1e-2 or np.abs(b - ratio * a - offset).max() > 1.1 * max(1.0, ratio):
        return None
    return float(ratio)


def _table(
    program: Program, number: int, graph: Graph, made: Mapping[str, Array], name: str, got: Array
) -> tuple[Why, str] | None:
    """What the entries behind an int8 TABLE's map are instead, from the codes that went in."""
    op = next(op for op in graph.ops if name in op.outputs) if name in made else None
    uses = {(u.delegate, u.tensor, u.constant): u for u in tables_of(program)}
    use = None if op is None else uses.get((number, op.inputs[0], op.inputs[1] if len(op.inputs) > 1 else ""))
    if op is None or use is None or use.bits != 8 or made[op.inputs[0]].size != got.size:
        return None
    at = made[op.inputs[0]].reshape(-1).astype(np.int64) + 128
    have, wanted = got.reshape(-1).astype(np.int64), use.entries[at]
    wrong = np.unique(at[have != wanted])
    met = np.unique(at).size
    if not wrong.size:
        return None
    if 4 * wrong.size >= met >= _DISTINCT:
        if (ratio := _times(got, wanted.astype(got.dtype))) is not None:
            return Why.WRONG_SCALE, f"the entries are those of {use.label} times {ratio:.4g}"
        if other := _other_operator(use, at, have):
            return Why.WRONG_OPERATOR, f"the table of {use.operator} holds {other}"
    first = int(wrong[0])
    value = int(have[np.flatnonzero(at == first)[0]])
    detail = f"entry {first} of {use.label} gave {value}, expected {int(use.entries[first])}"
    return Why.WRONG_ENTRY, f"{detail}; {wrong.size} of the {met} entries used are wrong"


def _other_operator(use: TableUse, at: npt.NDArray[np.int64], have: npt.NDArray[np.int64]) -> str:
    """The operator whose entries were met instead, "" when it is none that is known."""
    if use.input is None or use.output is None:
        return ""
    for name in UNARY:
        if name != use.operator and unary(name, ()) is not None:
            other = TableUse(
                use.delegate, use.tensor, use.constant, use.entries, use.bits, use.node, name, (), use.input, use.output
            )
            if np.abs(expected_entries(other)[at] - have).max() <= 1:
                return name
    return ""
