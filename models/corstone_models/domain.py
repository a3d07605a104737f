"""Domains of the networks here, and the range each is calibrated on.

The calibration range is the domain where its ends are closed. An open end is a pole: atanh is calibrated up to the
largest value its fixed input parameters can carry, so that the output's scale fits what the program can answer.
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
    # 32767 codes of 1.99998 / 65536: the largest input the program can tell apart from the pole.
    16: CalibrationRange(-32767 * 1.99998 / 65536, 32767 * 1.99998 / 65536),
}

__all__ = ["ATANH_RANGE", "OPEN_UNIT", "UNIT", "UNIT_RANGE", "CalibrationRange", "Domain"]
