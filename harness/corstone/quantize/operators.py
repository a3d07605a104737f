"""Operators with a bounded input domain, and the input quantization that keeps every code inside it.

One row an operator. The fixed parameters are those of ExecuTorch's Arm quantizer since pull request 18288
(``quantization_annotator.py``: span of the domain over 2^bits, zero point 0; for atanh, whose ends are poles, a span
just inside). ``edge_exact`` puts both ends of the domain, and 0, on codes, and the answers there, too. Leaves out how
they reach a graph (``annotator``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.domain import Domain


@dataclass(frozen=True)
class FixedQParams:
    """Parameters stated in advance: ``value = (code - zero_point) * scale``; limits of None are the activation's."""

    scale: float
    qmin: int | None = None
    qmax: int | None = None
    zero_point: int = 0


@dataclass(frozen=True)
class Operator:
    """``name`` is the aten name without overload; ``fixed`` and ``edge_exact`` map bits to parameters.

    ``segmented`` is for int16, whose tables then have a node at every code near an end: the ends may be codes.
    ``output`` maps bits to the parameters that the answers at both ends have codes of, for ``edge_exact`` and
    ``segmented``. An observer's histogram would cut them off (acos(-1) by 16 steps of int16), and 255 steps between
    -pi/2 and pi/2 have a code for one end alone.
    """

    name: str
    domain: Domain
    fixed: Mapping[int, FixedQParams]
    edge_exact: Mapping[int, FixedQParams]
    segmented: FixedQParams
    output: Mapping[int, FixedQParams]


_CLOSED = Domain(-1.0, 1.0)
_OPEN = Domain(-1.0, 1.0, lo_open=True, hi_open=True)
_UNIT_FIXED = {8: FixedQParams(2.0 / (1 << 8)), 16: FixedQParams(2.0 / (1 << 16))}
_UNIT_EDGE = {8: FixedQParams(1.0 / 127.0, -127, 127)}
_UNIT_SEGMENTED = FixedQParams(1.0 / 32767.0)


def _odd(largest8: float, largest16: float) -> Mapping[int, FixedQParams]:
    """The output of an odd function: its largest answer and the negative of it are codes."""
    return {8: FixedQParams(largest8 / 127), 16: FixedQParams(largest16 / 32767)}


# Ends at codes -128 and 127 at int8; at int16 ExecuTorch's activations have the zero point 0.
_ACOS_OUTPUT = {8: FixedQParams(math.pi / 255, zero_point=-128), 16: FixedQParams(math.pi / 32767)}

_ROWS = (
    Operator("acos", _CLOSED, _UNIT_FIXED, _UNIT_EDGE, _UNIT_SEGMENTED, _ACOS_OUTPUT),
    Operator("asin", _CLOSED, _UNIT_FIXED, _UNIT_EDGE, _UNIT_SEGMENTED, _odd(math.pi / 2, math.pi / 2)),
    # The expressions, not their decimal values, are upstream's: the same float64 must come out.
    Operator(
        "atanh",
        _OPEN,
        {8: FixedQParams((0.999 - (-0.999)) / (1 << 8)), 16: FixedQParams((0.99999 - (-0.99999)) / (1 << 16))},
        # The open-domain counterpart: +-0.999 on codes, so that both ends reach equally far (upstream's do not).
        {8: FixedQParams(0.999 / 127.0, -127, 127)},
        FixedQParams((0.99999 - (-0.99999)) / (1 << 16)),
        _odd(math.atanh(0.999), math.atanh(0.99999)),
    ),
)

OPERATORS: Mapping[str, Operator] = {row.name: row for row in _ROWS}
RESTRICTED_DOMAIN: frozenset[str] = frozenset(OPERATORS)
BIT_WIDTHS: frozenset[int] = frozenset({8, 16})


def operator(name: str) -> Operator:
    """The row of that operator.

    Raises
    ------
    ConfigError: no such row; the message lists those there are.
    """
    try:
        return OPERATORS[name]
    except KeyError:
        raise ConfigError(
            f"no input domain is known for the operator {name!r}",
            cause=Cause.UNSUPPORTED,
            hint=f"operators with one: {', '.join(sorted(OPERATORS))}",
        ) from None


def check_bits(bits: int) -> None:
    """Refuse a bit width that is neither int8 (8) nor 16a8w (16).

    Raises
    ------
    ConfigError: any other width.
    """
    if bits not in BIT_WIDTHS:
        raise ConfigError(
            f"no such activation width: {bits!r} bits", hint="use 8 (int8) or 16 (int16 activations, int8 weights)"
        )
