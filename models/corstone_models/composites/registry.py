"""Rows of the networks beyond acos, asin and atanh, without torch: their float64 functions, inputs and domains.

The single operators take evenly spaced inputs of their calibration range. The heads take several inputs that belong
together (unit vectors, correlated signals), which no even spacing gives: they bring ``samples``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.judge.domain import Domain
from corstone_models.domain import CalibrationRange

Float64 = npt.NDArray[np.float64]
Float32 = npt.NDArray[np.float32]
Shape = tuple[int, ...]
Samples = Callable[[np.random.Generator, tuple[Shape, ...]], tuple[Float32, ...]]

AXIS = (0.6, 0.0, 0.8)
FILTER_GAIN = 0.25
SIGNAL = 16
CORRELATION_LIMIT = 0.995
FISHER_FACTOR = math.sqrt(SIGNAL - 3)


@dataclass(frozen=True)
class Composite:
    """What a ``Network`` is made of; ``calibration`` for single operators, ``samples`` for heads."""

    name: str
    module: str
    function: Callable[..., tuple[Float64, ...]]
    shapes: tuple[Shape, ...]
    domain: Domain = field(default_factory=Domain)
    calibration: Mapping[int, CalibrationRange] = field(default_factory=dict)
    samples: Samples | None = None


def joint_angle(x: npt.ArrayLike) -> tuple[Float64, ...]:
    """``heads.JointAngle`` in float64."""
    given = np.asarray(x, np.float64)
    cosine = (given @ np.array(AXIS)) / np.sqrt((given * given).sum(axis=-1))
    return (np.arccos(np.clip(cosine, -1, 1))[..., None],)


def orientation(measured: npt.ArrayLike, prior: npt.ArrayLike) -> tuple[Float64, ...]:
    """``heads.OrientationFilter`` in float64."""
    given, before = np.asarray(measured, np.float64), np.asarray(prior, np.float64)
    seen = np.stack([np.arcsin(np.clip(given[:, 0], -1, 1)), np.arctan(given[:, 1])], axis=1)
    return (before + (seen - before) * FILTER_GAIN,)


def fisher_z(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Float64, ...]:
    """``heads.FisherZ`` in float64."""
    correlation = (np.asarray(x, np.float64) * np.asarray(y, np.float64)).mean(axis=-1, keepdims=True)
    return (np.arctanh(np.clip(correlation, -CORRELATION_LIMIT, CORRELATION_LIMIT)) * FISHER_FACTOR,)


def _vectors(rng: np.random.Generator, shapes: tuple[Shape, ...]) -> tuple[Float32, ...]:
    """Vectors of length 0.8 to 1.2 in all directions; the first ones reach the ends of every range on the way.

    Calibration that sees less clips what is judged later, and that is most of a head's error.
    """
    (shape,) = shapes
    x = rng.standard_normal(shape)
    x *= rng.uniform(0.8, 1.2, (shape[0], 1)) / np.linalg.norm(x, axis=-1, keepdims=True)
    ends = np.concatenate([np.outer((1.0, -1.0, 1.2, -1.2, 0.8, -0.8), AXIS), 1.2 * np.eye(3), -1.2 * np.eye(3)])
    x[: len(ends)] = ends[: len(x)]
    return (x.astype(np.float32),)


def _angles(rng: np.random.Generator, shapes: tuple[Shape, ...]) -> tuple[Float32, ...]:
    """Pitches over the whole half turn, rolls up to 72 degrees, priors within 0.2 rad of both; ends first."""
    measured, prior = shapes
    pitch = rng.uniform(-math.pi / 2, math.pi / 2, measured[0])
    pitch[:2] = math.pi / 2, -math.pi / 2
    roll = rng.uniform(-0.4, 0.4, measured[0]) * math.pi
    roll[:2] = 0.4 * math.pi, -0.4 * math.pi
    seen = np.stack([pitch, roll], axis=1)
    apart = rng.uniform(-0.2, 0.2, prior)
    apart[:2] = [[0.2], [-0.2]]
    given = np.stack([np.sin(pitch), np.tan(roll)], axis=1)
    return given.astype(np.float32), (seen + apart).astype(np.float32)


def _signals(rng: np.random.Generator, shapes: tuple[Shape, ...]) -> tuple[Float32, ...]:
    """Pairs of standardised signals with correlations of all sizes, up to that of a signal with itself; ends first."""
    x, noise = rng.standard_normal(shapes[0]), rng.standard_normal(shapes[1])
    share = rng.uniform(-1, 1, (shapes[0][0], 1))
    share[:2] = [[1.0], [-1.0]]
    # One sample far from all others has the largest values that a standardised signal can have.
    x[2:4] = np.eye(shapes[0][1])[:1] * np.array([[1.0], [-1.0]])[: len(x[2:4])]
    share[2:4] = 1.0
    y = share * x + (1 - np.abs(share)) * noise
    standard = [(s - s.mean(axis=-1, keepdims=True)) / s.std(axis=-1, keepdims=True) for s in (x, y)]
    return standard[0].astype(np.float32), standard[1].astype(np.float32)


def _one(function: Callable[[Float64], Any]) -> Callable[..., tuple[Float64, ...]]:
    def run(x: npt.ArrayLike) -> tuple[Float64, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(function(np.asarray(x, np.float64)), np.float64),)

    return run


def _operator(name: str, domain: Domain, lo: float, hi: float, function: Callable[[Float64], Any]) -> Composite:
    both = {bits: CalibrationRange(lo, hi) for bits in (8, 16)}
    return Composite(name, f"corstone_models.composites.steep:{name.capitalize()}", _one(function), (), domain, both)


def _erfinv(x: Float64) -> Float64:
    from corstone.quantize.domains import UNARY

    return UNARY["erfinv"](x)


_POSITIVE = Domain(lo=0.0, lo_open=True)
COMPOSITES: tuple[Composite, ...] = (
    _operator("acosh", Domain(lo=1.0), 1.0, 4.02, np.arccosh),
    _operator("erfinv", Domain(-1.0, 1.0, lo_open=True, hi_open=True), -0.99, 0.99, _erfinv),
    _operator("log", _POSITIVE, 0.01, 4.0, np.log),
    _operator("log1p", Domain(lo=-1.0, lo_open=True), -0.99, 4.0, np.log1p),
    _operator("log10", _POSITIVE, 0.01, 4.0, np.log10),
    _operator("pow03", Domain(lo=0.0), 0.0, 4.0, lambda x: np.power(x, 0.3)),
    _operator("reciprocal", _POSITIVE, 0.02, 4.0, lambda x: 1 / x),
    _operator("rsqrt", _POSITIVE, 0.01, 4.0, lambda x: 1 / np.sqrt(x)),
    _operator("sqrt", Domain(lo=0.0), 0.0, 4.0, np.sqrt),
    Composite("joint-angle", "corstone_models.composites.heads:JointAngle", joint_angle, ((64, 3),), samples=_vectors),
    Composite(
        "orientation",
        "corstone_models.composites.heads:OrientationFilter",
        orientation,
        ((64, 2), (64, 2)),
        samples=_angles,
    ),
    Composite(
        "fisher-z",
        "corstone_models.composites.heads:FisherZ",
        fisher_z,
        ((64, SIGNAL), (64, SIGNAL)),
        samples=_signals,
    ),
)
