"""Every unary operator that becomes a TABLE: where it is defined, where its poles are, and its float64 function.

Without torch, so that a guard can look at stored programs. The functions are references to judge tables by, not those
that made them (ExecuTorch computes entries in float32). Leaves out how a domain becomes quantization parameters
(``derived``) and what the guard makes of it (``corstone.accuracy.guard``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.domain import Domain

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]

REALS = Domain()
_UNIT = Domain(-1.0, 1.0)
_OPEN_UNIT = Domain(-1.0, 1.0, lo_open=True, hi_open=True)
_POSITIVE = Domain(lo=0.0, lo_open=True)
_NOT_NEGATIVE = Domain(lo=0.0)


@dataclass(frozen=True)
class Unary:
    """One operator with its constant arguments.

    ``name`` is the aten name without overload. ``poles`` are real inputs where it goes to infinity, ends included;
    ``steep`` are ends with an infinite slope but a finite value.
    """

    name: str
    function: Function
    domain: Domain = REALS
    poles: tuple[float, ...] = ()
    steep: tuple[float, ...] = ()

    def __call__(self, x: npt.ArrayLike) -> Floats:
        """The function, NaN outside its domain and infinite at poles; no warnings."""
        values = np.asarray(x, np.float64)
        with np.errstate(all="ignore"):
            return np.asarray(self.function(values), np.float64)

    @property
    def restricted(self) -> bool:
        """Whether some real input has no finite answer."""
        return self.domain != REALS or bool(self.poles)


def _elementwise(function: Callable[[float], float]) -> Function:
    return np.vectorize(function, otypes=[np.float64])


def _erfinv(x: float) -> float:
    """By the normal quantile (Wichura's AS 241, about 1e-16); the smaller tail is used, where it is exact."""
    if math.isnan(x) or abs(x) > 1:
        return math.nan
    if abs(x) == 1:
        return math.copysign(math.inf, x)
    tail = NormalDist().inv_cdf((1.0 - abs(x)) / 2)
    return math.copysign(tail / math.sqrt(2), x)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


_erf = _elementwise(math.erf)


def _gelu(x: Floats) -> Floats:
    return np.asarray(0.5 * x * (1 + _erf(x / math.sqrt(2))))


def _round(x: Floats) -> Floats:
    return np.asarray(np.rint(x))


_ROWS = (
    Unary("acos", np.arccos, _UNIT, steep=(-1.0, 1.0)),
    Unary("acosh", np.arccosh, Domain(lo=1.0), steep=(1.0,)),
    Unary("asin", np.arcsin, _UNIT, steep=(-1.0, 1.0)),
    Unary("asinh", np.arcsinh),
    Unary("atan", np.arctan),
    Unary("atanh", np.arctanh, _OPEN_UNIT, poles=(-1.0, 1.0)),
    Unary("ceil", np.ceil),
    Unary("cos", np.cos),
    Unary("cosh", np.cosh),
    Unary("erf", _erf),
    Unary("erfinv", _elementwise(_erfinv), _OPEN_UNIT, poles=(-1.0, 1.0)),
    Unary("exp", np.exp),
    Unary("expm1", np.expm1),
    Unary("floor", np.floor),
    Unary("gelu", _gelu),
    Unary("hardsigmoid", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    Unary("hardswish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    Unary("log", np.log, _POSITIVE, poles=(0.0,)),
    Unary("log10", np.log10, _POSITIVE, poles=(0.0,)),
    Unary("log1p", np.log1p, Domain(lo=-1.0, lo_open=True), poles=(-1.0,)),
    Unary("reciprocal", lambda x: 1 / x, poles=(0.0,)),
    Unary("round", _round),
    Unary("rsqrt", lambda x: 1 / np.sqrt(x), _POSITIVE, poles=(0.0,)),
    Unary("sigmoid", _sigmoid),
    Unary("silu", lambda x: x * _sigmoid(x)),
    Unary("sin", np.sin),
    Unary("sinh", np.sinh),
    Unary("sqrt", np.sqrt, _NOT_NEGATIVE, steep=(0.0,)),
    Unary("tan", np.tan),
    Unary("tanh", np.tanh),
)
UNARY: Mapping[str, Unary] = {row.name: row for row in _ROWS}
WITH_CONSTANTS = ("pow", "leaky_relu", "elu", "remainder")
"""Operators whose function depends on a constant; ``unary`` makes their rows."""

RESTRICTED: tuple[str, ...] = tuple(sorted(row.name for row in _ROWS if row.restricted))


def operator_name(target: object) -> str:
    """``acos`` of the node target ``aten.acos.default``; "" of what is neither aten's nor ours, such as ``getitem``."""
    namespace, _, rest = str(target).partition(".")
    return rest.partition(".")[0] if namespace in ("aten", "corstone") else ""


def unary(name: str, constants: Sequence[Any] = ()) -> Unary | None:
    """The row of an operator; None for one that is unknown, or whose constants are not given.

    Parameters
    ----------
    name: aten name without overload.
    constants: the arguments after the input: the exponent of ``pow``, the slope of ``leaky_relu``, ...
    """
    if name in UNARY:
        if name == "gelu" and "tanh" in constants:
            return Unary(name, lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))
        return UNARY[name]
    numbers = [float(c) for c in constants if isinstance(c, int | float)]
    if name == "leaky_relu":
        slope = numbers[0] if numbers else 0.01
        return Unary(name, lambda x: np.where(x >= 0, x, slope * x))
    if name == "elu":
        alpha, scale, input_scale = (*numbers, 1.0, 1.0, 1.0)[:3] if numbers else (1.0, 1.0, 1.0)
        return Unary(name, lambda x: scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0) * input_scale)))
    if not numbers:
        return None
    if name == "remainder":
        divisor = numbers[0]
        return Unary(name, lambda x: np.mod(x, divisor))
    if name == "pow":
        return _power(numbers[0])
    return None


def _power(exponent: float) -> Unary:
    def function(x: Floats) -> Floats:
        return np.asarray(np.power(x, exponent))

    whole = exponent == int(exponent) if math.isfinite(exponent) else False
    if whole:
        return Unary("pow", function, poles=(0.0,) if exponent < 0 else ())
    if exponent < 0:
        return Unary("pow", function, _POSITIVE, poles=(0.0,))
    return Unary("pow", function, _NOT_NEGATIVE, steep=(0.0,) if exponent < 1 else ())
