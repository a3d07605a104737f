"""Policies: where the input parameters of an operator with a restricted domain come from.

``observer``    the observed range, as before ExecuTorch's pull request 18288; can reach outside the domain
``fixed``       stated in advance, the domain's span over 2^bits; for all but acos, asin and atanh derived (``derived``)
``edge_exact``  int8 only: the ends of the domain and 0 are codes, and so are the answers there
``segmented``   int16 only: the same, and steep operators become tables that follow them (``segments``)
``upstream``    ExecuTorch's own annotator, untouched

Operators without a restricted domain are ExecuTorch's in every policy; ``segmented`` observes their ranges whole, where
ExecuTorch's histogram observer cuts the ends off. Plain data; the graph work is in ``annotator``.
"""

from __future__ import annotations

from enum import StrEnum

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.quantize.operators import OPERATORS, FixedQParams, check_bits, operator

# ExecuTorch's default of 2^-12 for 16a8w is coarser than the scale of [-1, 1] in 16 bits, 2^-15: observers would be
# clamped to it. Its own operator tests pass this value, too. For int8 it is the default.
OBSERVER_EPS = 2.0**-16

# Raise when ``segments`` plans other tables for the same function or ``flow`` observes in another way; DERIVED when
# ``derived`` makes other parameters for the same domain.
PLANNER = 2
DERIVED = 1


class Policy(StrEnum):
    """The name of a policy."""

    OBSERVER = "observer"
    FIXED = "fixed"
    EDGE_EXACT = "edge_exact"
    SEGMENTED = "segmented"
    UPSTREAM = "upstream"


def policy(name: str, bits: int) -> Policy:
    """The policy of that name, when it exists for this width.

    Raises
    ------
    ConfigError: unknown name or width, ``edge_exact`` at 16 bits, or ``segmented`` at 8.
    """
    check_bits(bits)
    try:
        chosen = Policy(name)
    except ValueError:
        raise ConfigError(
            f"no such quantization policy: {name!r}", hint=f"use one of {', '.join(p.value for p in Policy)}"
        ) from None
    if chosen is Policy.EDGE_EXACT and bits != 8:
        raise ConfigError(
            "the policy 'edge_exact' is for int8 only: an int16 TABLE has nodes at codes -32768 and 32768, which a "
            "scale of 1/32767 puts outside [-1, 1]; they hold NaN stored as 0, and interpolation carries that into the "
            "outermost 128 codes of each end",
            cause=Cause.UNSUPPORTED,
            hint="use the policy 'segmented' for int16 accuracy at the edge, or 'fixed' (its error there is in the "
            "network's budget)",
        )
    if chosen is Policy.SEGMENTED and bits != 16:
        raise ConfigError(
            "the policy 'segmented' is for int16 only: an int8 TABLE has an entry for every code, and nothing in it is "
            "interpolated",
            cause=Cause.UNSUPPORTED,
            hint="use the policy 'edge_exact' for int8",
        )
    return chosen


def input_parameters(op: str, bits: int, chosen: Policy) -> FixedQParams | None:
    """The stated input parameters of operator ``op``; None where the policy observes instead.

    Raises
    ------
    ConfigError: unknown operator, width, or combination.
    """
    row = operator(op)
    chosen = policy(chosen, bits)
    if chosen is Policy.OBSERVER:
        return None
    if chosen is Policy.SEGMENTED:
        return row.segmented
    return row.edge_exact[bits] if chosen is Policy.EDGE_EXACT else row.fixed[bits]


def output_parameters(op: str, bits: int, chosen: Policy) -> FixedQParams | None:
    """The stated output parameters of operator ``op``; None where the policy observes instead.

    Raises
    ------
    ConfigError: unknown operator, width, or combination.
    """
    row = operator(op)
    return row.output[bits] if policy(chosen, bits) in (Policy.EDGE_EXACT, Policy.SEGMENTED) else None


def fingerprint(chosen: Policy, bits: int) -> str:
    """All numbers the policy decides, as text: part of a cache key, so that another scale is another program."""
    rows = (f"{name}:{input_parameters(name, bits, chosen)!r}" for name in sorted(OPERATORS))
    outputs = (f"{name}:{output_parameters(name, bits, chosen)!r}" for name in sorted(OPERATORS))
    derived = f"/derived={DERIVED}" if chosen in (Policy.FIXED, Policy.EDGE_EXACT) else ""
    planner = f"/segments={PLANNER}" if chosen is Policy.SEGMENTED else ""
    return f"{chosen.value}/{bits}/eps={OBSERVER_EPS!r}{derived}{planner}/" + ";".join(rows) + "/" + ";".join(outputs)
