"""Fixed input parameters derived from an operator's domain, for every operator that has one.

What decides is where the ends of the domain fall. A finite end must be a code (int8) or a table node (int16), so that
no input inside the domain rounds to a code outside it, and no node outside it is interpolated with. An open end is a
pole: there the outermost code or node lies just inside. The other end comes from calibration where the domain has none.
Plain arithmetic; ``domain_observer`` uses it in a quantizer.
"""

from __future__ import annotations

import math

import numpy as np

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.domain import Domain
from corstone.program import QParams

NODE = 128
INSIDE = {8: 1e-3, 16: 1e-5}
"""How far from an open end the outermost code stays, relative to the end; upstream's choices for atanh."""


def derive(domain: Domain, bits: int, lo: float, hi: float) -> QParams:
    """Input parameters for an operator with that domain, calibrated on inputs from ``lo`` to ``hi``.

    int8 leaves codes outside the domain out through ``qmin`` and ``qmax``. int16 does not: ExecuTorch 1.5.1 spreads the
    nodes of an int16 table over qmin..qmax, so that a raised ``qmin`` gives the table of another function.

    Raises
    ------
    ConfigError: the calibrated range has nothing of the domain in it.
    """
    lo, hi = max(lo, _inside(domain.lo, domain.lo_open, bits)), min(hi, _inside(domain.hi, domain.hi_open, bits))
    if not lo < hi:
        raise ConfigError(
            f"calibration inputs from {lo:g} to {hi:g} have nothing in common with the domain {domain}",
            cause=Cause.OUT_OF_DOMAIN,
            hint="calibrate with inputs inside the domain",
        )
    return _int8(domain, lo, hi) if bits == 8 else _int16(domain, lo, hi)


def _inside(end: float, opened: bool, bits: int) -> float:
    """The outermost value that a code may stand for."""
    if not opened or math.isinf(end):
        return end
    return end * (1 - INSIDE[bits])


def _int8(domain: Domain, lo: float, hi: float) -> QParams:
    """Affine: zero is always a code, so the range holds it; an end of the domain that is not zero becomes a code."""
    low, high = min(lo, 0.0), max(hi, 0.0)
    ends = [e for e in (_inside(domain.lo, domain.lo_open, 8), _inside(domain.hi, domain.hi_open, 8)) if _fixes(e)]
    if len(ends) == 2 and ends[0] == -ends[1]:
        return QParams(ends[1] / 127, 0, -127, 127, "int8")
    scale = (high - low) / 255
    if ends:
        # The end nearest to zero has the fewest codes, and decides; the range may only grow.
        end = min(ends, key=abs)
        steps = max(1, math.floor(abs(end) / scale))
        scale = _on_step(domain, end, steps)
    zero = -128 + math.ceil(-low / scale - 1e-9)
    return QParams(scale, zero, *_inside_codes(domain, scale, zero, -128, 127), "int8")


def _int16(domain: Domain, lo: float, hi: float) -> QParams:
    """Symmetric: an end that is not zero becomes a node; both ends of an open domain become the outermost ones."""
    reach = max(abs(lo), abs(hi))
    ends = [e for e in (_inside(domain.lo, domain.lo_open, 16), _inside(domain.hi, domain.hi_open, 16)) if _fixes(e)]
    scale = reach / 32767
    if ends:
        end = min(ends, key=abs)
        # Node 512 is code 32768: an end there is a node, too.
        nodes = min(32768, math.floor(abs(end) / scale / NODE) * NODE) or NODE
        if abs(end) >= reach * (1 - 1e-9):
            nodes = 32768
        scale = _on_step(domain, end, nodes)
    return QParams(scale, 0, -32767, 32767, "int16")


def _on_step(domain: Domain, end: float, steps: int) -> float:
    """The scale at which ``steps`` steps are ``end``, as float32 multiplies: rounded to the side that is inside."""
    scale = np.float32(abs(end) / steps)
    signed = np.float32(math.copysign(steps, end))
    for direction in (np.float32(np.inf), np.float32(0)):
        for nudged in (scale, np.nextafter(scale, direction)):
            if domain.holds(np.array([signed * nudged], np.float64)).all():
                return abs(end) / steps if nudged == scale else float(nudged)
    return abs(end) / steps


def _fixes(end: float) -> bool:
    return math.isfinite(end) and end != 0


def _inside_codes(domain: Domain, scale: float, zero: int, qmin: int, qmax: int) -> tuple[int, int]:
    """The codes of the domain: those outside are left out, and with them a pole at an open end."""
    if math.isfinite(domain.lo):
        first = round(domain.lo / scale) + zero if not domain.lo_open else math.floor(domain.lo / scale) + zero + 1
        qmin = max(qmin, first)
    if math.isfinite(domain.hi):
        last = round(domain.hi / scale) + zero if not domain.hi_open else math.ceil(domain.hi / scale) + zero - 1
        qmax = min(qmax, last)
    return qmin, qmax
