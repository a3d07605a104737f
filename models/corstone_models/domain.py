"""Domains of the networks here, and the range each is calibrated on.

The calibration range is the domain where its ends are closed. An open end is a pole: atanh is calibrated over the span
of its fixed input parameters, so that the output's scale fits what the program can answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from corstone.judge.domain import Domain

UNIT = Domain(-1.0, 1.0)
OPEN_UNIT = Domain(-1.0, 1.0, lo_open=True, hi_open=True)


@dataclass(frozen=True)
class CalibrationRange:
    """Closed interval of calibration inputs."""

    lo: float
    hi: float


UNIT_RANGE: Mapping[int, CalibrationRange] = {8: CalibrationRange(-1.0, 1.0), 16: CalibrationRange(-1.0, 1.0)}
ATANH_RANGE: Mapping[int, CalibrationRange] = {
    8: CalibrationRange(-0.999, 0.999),
    16: CalibrationRange(-0.99999, 0.99999),
}

__all__ = ["ATANH_RANGE", "OPEN_UNIT", "UNIT", "UNIT_RANGE", "CalibrationRange", "Domain"]
