"""The registry: each network by name, with everything that is known about it without torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corstone.errors import ConfigError
from corstone.judge.budget import Budget
from corstone.judge.domain import Domain
from corstone_models import budgets
from corstone_models.composites.registry import COMPOSITES, Composite, Samples
from corstone_models.domain import ATANH_RANGE, OPEN_UNIT, UNIT, UNIT_RANGE, CalibrationRange

Float64 = npt.NDArray[np.float64]
Shape = tuple[int, ...]

# One input that holds every code: 256 at int8; 65,535 at 16a8w, whose activations leave out -32768, in 256 x 256.
EVERY_CODE: Mapping[int, tuple[Shape, ...]] = {8: ((256,),), 16: ((256, 256),)}

CALIBRATION_SEED = 1


@dataclass(frozen=True)
class Network:
    """One network under test.

    Parameters
    ----------
    name: what the command line and the case id say.
    module: ``package.module:attribute`` of an ``nn.Module`` class, instance, or function that makes one.
    domain: where the inputs mean something.
    function: the float64 network in numpy; one array per input, returns the outputs.
    shapes: input shapes by bit width.
    calibration: range of calibration inputs by bit width.
    samples: makes inputs that belong together (unit vectors, correlated signals), for calibration and as the stimuli
        ``codes`` and ``random``; None: inputs are elementwise, and any value in the domain will do.
    """

    name: str
    module: str
    domain: Domain
    function: Callable[..., tuple[Float64, ...]]
    shapes: Mapping[int, tuple[Shape, ...]]
    calibration: Mapping[int, CalibrationRange]
    samples: Samples | None = None

    def budgets(self, bits: int, policy: str) -> tuple[Budget, ...]:
        """Budgets against float64 at this width and policy, the narrowest region first."""
        return budgets.budgets(self.name, bits, policy)

    def calibration_inputs(self, bits: int, shapes: tuple[Shape, ...] = ()) -> tuple[npt.NDArray[np.float32], ...]:
        """Evenly spaced values over the calibration range, or samples; one array per input, float32."""
        chosen = shapes or self.shapes[bits]
        if self.samples is not None:
            return self.samples(np.random.default_rng(CALIBRATION_SEED), chosen)
        limits = self.calibration[bits]
        return tuple(
            np.linspace(limits.lo, limits.hi, int(np.prod(shape))).astype(np.float32).reshape(shape) for shape in chosen
        )


def _elementwise(function: Callable[[Float64], Float64]) -> Callable[..., tuple[Float64, ...]]:
    def run(x: npt.ArrayLike) -> tuple[Float64, ...]:
        with np.errstate(invalid="ignore", divide="ignore"):
            return (np.asarray(function(np.asarray(x, dtype=np.float64))),)

    return run


_ROWS = (
    Network("acos", "corstone_models.unary:Acos", UNIT, _elementwise(np.arccos), EVERY_CODE, UNIT_RANGE),
    Network("asin", "corstone_models.unary:Asin", UNIT, _elementwise(np.arcsin), EVERY_CODE, UNIT_RANGE),
    Network("atanh", "corstone_models.unary:Atanh", OPEN_UNIT, _elementwise(np.arctanh), EVERY_CODE, ATANH_RANGE),
)


def _composite(row: Composite) -> Network:
    shapes = {bits: row.shapes or EVERY_CODE[bits] for bits in EVERY_CODE}
    return Network(row.name, row.module, row.domain, row.function, shapes, row.calibration, row.samples)


NETWORKS: Mapping[str, Network] = {row.name: row for row in (*_ROWS, *map(_composite, COMPOSITES))}


def network(name: str) -> Network:
    """The network of that name.

    Raises
    ------
    ConfigError: none; the message lists those there are.
    """
    try:
        return NETWORKS[name]
    except KeyError:
        raise ConfigError(
            f"no such network: {name!r}",
            hint=f"use one of {', '.join(sorted(NETWORKS))}, or module:attribute, or path.py:attribute",
        ) from None
