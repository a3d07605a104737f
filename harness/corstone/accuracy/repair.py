"""How each kind of finding is repaired, in words a user can act on."""

from __future__ import annotations

import math

from corstone.quantize.domains import Unary
from corstone.quantize.operators import OPERATORS

REBUILD = "the table itself is wrong: lower again with the ExecuTorch version this environment pins, and report it"
RANGES = "calibrate with inputs that cover the operator's range: its input or output scale does not fit it"
OUTPUT_RANGE = "calibrate the output on inputs over the whole range, or state its scale"
CLAMP = "put torch.clamp(x, {lo}, {hi}) before it, or calibrate with inputs inside the domain"
POLE = "clamp the input off the pole, or use the policy 'segmented'"
SEGMENTED = "use the policy 'segmented': tables with a node at every code where the function is steep"


def for_domain(function: Unary, bits: int) -> str:
    """For codes outside the domain that inputs inside it become."""
    policies = "'fixed' or 'edge_exact'" if bits == 8 else "'fixed' or 'segmented'"
    words = f"use the policy {policies}, which puts the ends of {function.domain} on codes"
    if bits == 8 and not math.isfinite(function.domain.hi):
        words = f"use the policy 'fixed', which puts {function.domain.lo:g} on a code"
    return f"{words}; or clamp the input"


def for_nodes(function: Unary) -> str:
    """For int16 nodes outside the domain."""
    if 0.0 in function.poles:
        return (
            "use the policy 'segmented', or clamp the input at least 128 codes off the pole: a node always lies on it"
        )
    if function.name in OPERATORS:
        return "use the policy 'fixed', whose outermost nodes lie inside, or 'segmented', which has no such node"
    return "use the policy 'segmented', which has no such node, or 'fixed', which puts the end of the domain on a node"


def for_ends(operator: str, bits: int) -> str:
    """For ends of the domain that no code stands for."""
    policy = "edge_exact" if bits == 8 else "segmented"
    if operator in OPERATORS:
        return f"use the policy {policy!r}, where both ends are codes"
    return "use the policy 'fixed', which puts the end of the domain on a code"
