"""The TABLE operators of a program, each with the operator it was made from and its quantization parameters.

A table is found in the TOSA graph; what it is a table *of* is in ``operators.json``, which the lowering writes. The two
are joined by the order of the operators, checked by the constants' names. Also says what each entry should be. Leaves
out judging them (``guard``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.program import Program, QParams
from corstone.quantize.domains import UNARY, WITH_CONSTANTS, Unary, operator_name, unary
from corstone.reference.graph import Graph, read_graph

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ENTRIES_8, NODES_16 = 256, 513
STATED = "table16"
"""The operator of ``corstone.quantize.table16``: its nodes are stated, there is no function behind them."""


@dataclass(frozen=True)
class TableUse:
    """One TABLE. ``entries``: its constant, int64. ``input`` and ``output``: None when nothing is known of its origin.

    ``tensor`` is the TOSA name of its input, ``delegate`` the graph it is in. ``operator`` is the aten name, ``node``
    the operator's name in the exported graph.
    """

    delegate: int
    tensor: str
    constant: str
    entries: Ints
    bits: int
    node: str = ""
    operator: str = ""
    constants: tuple[Any, ...] = ()
    input: QParams | None = None
    output: QParams | None = None

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"{self.operator} ({self.node})" if self.node else f"TABLE of {self.constant}"

    @property
    def function(self) -> Unary | None:
        """What it is a table of, None where that is not known, or where the nodes are stated."""
        return unary(self.operator, self.constants)


def tables_of(program: Program) -> tuple[TableUse, ...]:
    """Every TABLE of a program's TOSA graphs, in order."""
    path = program.pte.parent / "operators.json"
    rows = json.loads(path.read_text()) if path.is_file() else []
    return tables_in([read_graph(file) for file in program.tosa], rows)


def tables_in(graphs: Sequence[Graph], rows: Sequence[dict[str, Any]] = ()) -> tuple[TableUse, ...]:
    """Every TABLE of graphs, joined with the rows of ``operators.json``."""
    found = []
    for number, graph in enumerate(graphs):
        for op in graph.ops:
            if op.name == "TABLE":
                entries = graph.constant(op.inputs[1]).reshape(-1).astype(np.int64)
                bits = 8 if graph.tensors[op.inputs[0]].dtype == "int8" else 16
                found.append(TableUse(number, op.inputs[0], op.inputs[1], entries, bits))
    return tuple(_joined(use, row) for use, row in zip(found, _origins(found, rows), strict=True))


def _is_table(row: dict[str, Any]) -> bool:
    name = operator_name(row["target"])
    quantized = row["output"] is not None and row["inputs"] and row["inputs"][0] is not None
    return bool(quantized) and (name in UNARY or name in WITH_CONSTANTS or name == STATED)


def _origins(uses: Sequence[TableUse], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any] | None]:
    candidates = [row for row in rows if _is_table(row)]
    if len(candidates) == len(uses) and all(_agree(u, r) for u, r in zip(uses, candidates, strict=True)):
        return list(candidates)
    # Some operators became no table, or several: a constant's name says which operator of its kind it was. An operator
    # on constants is folded away and leaves a gap in that count, so the one whose table it is comes first.
    return [next(iter([*_fitting(use, candidates), *_numbered(use, rows)]), None) for use in uses]


def _name_and_number(constant: str) -> tuple[str, int] | None:
    """``b_aten_acos_default_2_table_constant`` as (acos, 2); tables that were merged have lost their name."""
    match = re.fullmatch(
        r"b_(?:aten|corstone)_(\w+?)_(?:default|Tensor_Scalar|Scalar)(?:_(\d+))?_table_constant", constant
    )
    return (match[1], int(match[2] or 0)) if match else None


def _agree(use: TableUse, row: dict[str, Any]) -> bool:
    named = _name_and_number(use.constant)
    return named is None or named[0] == operator_name(row["target"])


def _fitting(use: TableUse, candidates: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the operator that the constant is named after, whose right entries are these."""
    named = _name_and_number(use.constant)
    if named is None:
        return []
    alike = [row for row in candidates if operator_name(row["target"]) == named[0]]
    return [row for row in alike if len(alike) > 1 and _fits(_joined(use, row))]


def _fits(use: TableUse) -> bool:
    known = (ENTRIES_8 if use.bits == 8 else NODES_16) == use.entries.size and use.function is not None
    return known and bool((np.abs(expected_entries(use) - use.entries) <= 1).all())


def _numbered(use: TableUse, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    named = _name_and_number(use.constant)
    if named is None:
        return []
    name, number = named
    alike = [row for row in rows if operator_name(row["target"]) == name and _is_table(row)]
    return alike[number : number + 1]


def _joined(use: TableUse, row: dict[str, Any] | None) -> TableUse:
    if row is None:
        return use
    return TableUse(
        use.delegate,
        use.tensor,
        use.constant,
        use.entries,
        use.bits,
        node=str(row["name"]),
        operator=operator_name(row["target"]),
        constants=tuple(row.get("constants", ())),
        input=QParams(**row["inputs"][0]),
        output=QParams(**row["output"]),
    )


def table_codes(bits: int) -> Ints:
    """The code each entry stands for: -128..127, or the nodes -32768, -32640, ... 32768."""
    return np.arange(-128, 128) if bits == 8 else np.arange(NODES_16) * 128 - 32768


def values_of(codes: npt.ArrayLike, qparams: QParams) -> Floats:
    """What codes stand for, as a table's builder and the program's kernels compute it: one float32 product."""
    steps = (np.asarray(codes, np.int64) - qparams.zero_point).astype(np.float32)
    return np.asarray((steps * np.float32(qparams.scale)).astype(np.float64))


def used_codes(use: TableUse) -> Ints:
    """The codes at which the builder evaluates each entry: int8 clamps them to qmin..qmax, int16 does not need to."""
    codes = table_codes(use.bits)
    if use.bits == 8 and use.input is not None:
        codes = np.clip(codes, use.input.qmin, use.input.qmax)
    return codes


def exact_entries(use: TableUse) -> Floats:
    """What each entry should hold before rounding and clamping, in output codes; NaN and infinities stay.

    ``use`` must have its function and both parameters.
    """
    assert use.function is not None
    assert use.input is not None
    assert use.output is not None
    values = use.function(values_of(used_codes(use), use.input))
    with np.errstate(over="ignore"):
        return np.asarray(values / use.output.scale + use.output.zero_point)


def expected_entries(use: TableUse) -> Ints:
    """``quantize(f(dequantize(clamp(code))))`` for each entry; NaN is 0, as it was on every host tried."""
    assert use.output is not None
    rounded = np.rint(np.nan_to_num(exact_entries(use), nan=0.0, posinf=1e9, neginf=-1e9))
    return np.asarray(np.clip(rounded, use.output.qmin, use.output.qmax).astype(np.int64))


def evaluate(use: TableUse, codes: npt.ArrayLike) -> Ints:
    """What the device answers for input codes, as output codes before saturation."""
    x = np.asarray(codes, np.int64)
    if use.bits == 8:
        return np.asarray(use.entries[x + 128])
    index = (x + 32768) >> 7
    left, right = use.entries[index], use.entries[np.minimum(index + 1, use.entries.size - 1)]
    return np.asarray(((left << 7) + (right - left) * (x & 127) + 64) >> 7)
