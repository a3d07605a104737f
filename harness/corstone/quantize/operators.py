"""Operators with a bounded input domain, and the input quantization that keeps every code inside it.

One row an operator. The fixed parameters are those of ExecuTorch's Arm quantizer since pull request 18288
(``quantization_annotator.py``: span of the domain over 2^bits, zero point 0; for atanh, whose ends are poles, a span
just inside). ``edge_exact`` puts both ends of the domain, and 0, on codes. Leaves out how they reach a graph
(``annotator``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.domain import Domain


@dataclass(frozen=True)
class FixedInput:
    """Input parameters stated in advance: ``value = code * scale``; ``qmin``/``qmax`` None: as the activation's."""

    scale: float
    qmin: int | None = None
    qmax: int | None = None


@dataclass(frozen=True)
class Operator:
    """``name`` is the aten name without overload; ``fixed`` and ``edge_exact`` map bits to parameters.

    ``segmented`` is for int16, whose tables then have a node at every code near an end: the ends may be codes, and
    ``output_scale`` is that of the answers there. An observer's histogram would cut them off (acos(-1) by 16 steps).
    """

    name: str
    domain: Domain
    fixed: Mapping[int, FixedInput]
    edge_exact: Mapping[int, FixedInput]
    segmented: FixedInput
    output_scale: float


_CLOSED = Domain(-1.0, 1.0)
_OPEN = Domain(-1.0, 1.0, lo_open=True, hi_open=True)
_UNIT_FIXED = {8: FixedInput(2.0 / (1 << 8)), 16: FixedInput(2.0 / (1 << 16))}
_UNIT_EDGE = {8: FixedInput(1.0 / 127.0, -127, 127)}
_UNIT_SEGMENTED = FixedInput(1.0 / 32767.0)

_ROWS = (
    Operator("acos", _CLOSED, _UNIT_FIXED, _UNIT_EDGE, _UNIT_SEGMENTED, math.pi / 32767),
    Operator("asin", _CLOSED, _UNIT_FIXED, _UNIT_EDGE, _UNIT_SEGMENTED, math.pi / 2 / 32767),
    # The expressions, not their decimal values, are upstream's: the same float64 must come out.
    Operator(
        "atanh",
        _OPEN,
        {8: FixedInput((0.999 - (-0.999)) / (1 << 8)), 16: FixedInput((0.99999 - (-0.99999)) / (1 << 16))},
        # The open-domain counterpart: +-0.999 on codes, so that both ends reach equally far (upstream's do not).
        {8: FixedInput(0.999 / 127.0, -127, 127)},
        FixedInput((0.99999 - (-0.99999)) / (1 << 16)),
        math.atanh(0.99999) / 32767,
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
