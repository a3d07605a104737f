"""Stimuli: inputs by name, in numpy, with their seed. For networks of one input; pure functions of their arguments.

``codes`` is the proof: every code the program can reach from float inputs. The others are samples and corners. All but
``upstream`` fill the program's own input shape, in as many input sets as that takes; the last is filled up by repeating
its last value.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.errors import ConfigError
from corstone.judge.domain import Domain
from corstone.program import QParams

Float32 = npt.NDArray[np.float32]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Stimulus:
    """Inputs of one case. ``sets``: float32 arrays of one shape, one per run; ``count``: values before filling up."""

    name: str
    sets: tuple[Float32, ...]
    count: int
    seed: int = 0


def code_values(qparams: QParams) -> Float32:
    """The value of every code from ``qmin`` to ``qmax``, ascending; quantizing one gives its code again."""
    codes = np.arange(qparams.qmin, qparams.qmax + 1, dtype=np.int64)
    return ((codes - qparams.zero_point).astype(np.float64) * qparams.scale).astype(np.float32)


def _codes(qparams: QParams, domain: Domain, count: int, seed: int) -> Float32:
    del domain, count, seed
    return code_values(qparams)


def _ramp(qparams: QParams, domain: Domain, count: int, seed: int) -> Float32:
    del qparams, seed
    lo, hi = _inside(domain)
    return np.clip(np.linspace(lo, hi, count).astype(np.float32), lo, hi)


def _random(qparams: QParams, domain: Domain, count: int, seed: int) -> Float32:
    del qparams
    lo, hi = _inside(domain)
    return np.clip(np.random.default_rng(seed).uniform(lo, hi, count).astype(np.float32), lo, hi)


def _edges(qparams: QParams, domain: Domain, count: int, seed: int) -> Float32:
    """Both ends of the domain and 0, their float32 neighbours, and values one code to either side; all inside."""
    del count, seed
    lo, hi = _inside(domain)
    points = []
    for point in (np.float32(domain.lo), lo, np.float32(0.0), hi, np.float32(domain.hi)):
        steps = (-qparams.scale, -qparams.scale / 2, 0.0, qparams.scale / 2, qparams.scale)
        points += [np.float32(point + step) for step in steps]
        points += [np.nextafter(point, np.float32(-np.inf)), np.nextafter(point, np.float32(np.inf))]
    values = np.unique(np.array(points, np.float32))
    return np.asarray(values[domain.holds(values)])


def _zeros(qparams: QParams, domain: Domain, count: int, seed: int) -> Float32:
    del qparams, domain, seed
    return np.zeros(count, np.float32)


def _ones(qparams: QParams, domain: Domain, count: int, seed: int) -> Float32:
    del qparams, domain, seed
    return np.ones(count, np.float32)


def _outside(qparams: QParams, domain: Domain, count: int, seed: int) -> Float32:
    """Just outside, far outside, and the values that are no numbers in the usual sense but NaN."""
    del qparams, count, seed
    lo, hi = np.float32(domain.lo), np.float32(domain.hi)
    near = [np.nextafter(lo, np.float32(-np.inf)), np.nextafter(hi, np.float32(np.inf))]
    far = [lo * 1.01, hi * 1.01, lo * 2, hi * 2, -1e10, 1e10, -np.finfo(np.float32).max, np.finfo(np.float32).max]
    return np.array([*near, *far, -np.inf, np.inf], np.float32)


def _inside(domain: Domain) -> tuple[np.float32, np.float32]:
    """The outermost float32 values inside the domain."""
    lo, hi = np.float32(domain.lo), np.float32(domain.hi)
    return (
        np.nextafter(lo, np.float32(np.inf)) if domain.lo_open else lo,
        np.nextafter(hi, np.float32(-np.inf)) if domain.hi_open else hi,
    )


_MAKERS: Mapping[str, Callable[[QParams, Domain, int, int], Float32]] = {
    "codes": _codes,
    "ramp": _ramp,
    "random": _random,
    "edges": _edges,
    "zeros": _zeros,
    "ones": _ones,
    "outside": _outside,
}
NAMES: tuple[str, ...] = tuple(_MAKERS)


def stimulus(name: str, shape: Shape, qparams: QParams, domain: Domain, seed: int = 0) -> Stimulus:
    """The stimulus of that name for a program whose input has this shape and these parameters.

    Raises
    ------
    ConfigError: no such stimulus; the message lists those there are.
    """
    maker = _MAKERS.get(name)
    if maker is None:
        raise ConfigError(f"no such stimulus: {name!r}", hint=f"use one of {', '.join(NAMES)}")
    size = int(np.prod(shape))
    values = maker(qparams, domain, size, seed)
    return Stimulus(name, fill(values, shape), values.size, seed)


def fill(values: Float32, shape: Shape) -> tuple[Float32, ...]:
    """Values as arrays of ``shape``, as many as they fill; the last one filled up with the last value."""
    size = max(1, int(np.prod(shape)))
    sets = max(1, -(-values.size // size))
    padded = np.concatenate([values, np.full(sets * size - values.size, values[-1], np.float32)])
    return tuple(padded.reshape(sets, *shape))


def _uniform(shape: Shape, lo: float, hi: float) -> Callable[[np.random.Generator], Float32]:
    return lambda rng: rng.uniform(lo, hi, shape).astype(np.float32)


def _normal(shape: Shape) -> Callable[[np.random.Generator], Float32]:
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def _fixed(values: npt.ArrayLike) -> Callable[[np.random.Generator], Float32]:
    array = np.asarray(values, np.float32)
    return lambda _: array


# The data of ExecuTorch's own tests (backends/arm/test/ops/test_acos.py, test_asin.py, test_atanh.py, release 1.5.1) by
# their names there, random ones from a seed of ours; randn is older releases', and runs outside the domain.
_ACOS: dict[str, Callable[[np.random.Generator], Float32]] = {
    "ones": _fixed(np.ones((1, 7, 10, 12))),
    "rand_in_range": _uniform((10, 10), -1, 1),
    "ramp_valid": _fixed(np.linspace(-1, 1, 160)),
    "edge_cases": _fixed([-1.0, 0.0, 1.0]),
    "1d_tensor": _fixed(np.linspace(-1, 1, 10)),
    "2d_batch": _fixed([[-1.0, -0.5, 0.0, 0.5, 1.0], [0.9, -0.9, 0.3, -0.3, 0.0]]),
    "3d_batch": _uniform((4, 5, 6), -1, 1),
    "3d_mixed_shape": _uniform((7, 15, 2), -1, 1),
    "4d_mixed": _fixed(np.linspace(-1, 1, 60).reshape(1, 3, 4, 5)),
    "4d_random": _uniform((1, 5, 10, 7), -1, 1),
    "bool_casted": _fixed(np.ones((3, 3))),
    "randn": _normal((10, 10)),
}
_ASIN: dict[str, Callable[[np.random.Generator], Float32]] = {
    "zeros": _fixed(np.zeros((1, 5, 3, 2))),
    "ones": _fixed(np.ones((10, 5, 15))),
    "neg_ones": _fixed(-np.ones((10, 5, 15))),
    "rand": _uniform((10, 10, 5), -1, 1),
    "ramp": _fixed(np.linspace(-1, 1, 160)),
    "near_bounds": _fixed([-0.999, -0.9, -0.5, 0.0, 0.5, 0.9, 0.999]),
    "pos_rand": _uniform((7, 10, 2), 0, 1),
    "randn": _normal((10, 10)),
}
_ATANH: dict[str, Callable[[np.random.Generator], Float32]] = {
    "zeros": _fixed(np.zeros((1, 10, 10, 10))),
    "zeros_alt_shape": _fixed(np.zeros((1, 10, 3, 5))),
    "rand": _uniform((10, 10), -0.5, 0.5),
    "rand_alt_shape": _uniform((1, 10, 3, 5), -0.5, 0.5),
    "ramp": _fixed(np.arange(-1, 1, 0.2)),
    "near_bounds": _fixed([-0.99, -0.9, 0.9, 0.99]),
    "on_bounds": _fixed([-1.0, 1.0]),
    "randn": _normal((10, 10)),
}
_UPSTREAM: Mapping[str, Mapping[str, Callable[[np.random.Generator], Float32]]] = {
    "acos": _ACOS,
    "asin": _ASIN,
    "atanh": _ATANH,
}


def upstream(network: str, seed: int = 0) -> dict[str, Float32]:
    """ExecuTorch's test data of a network, by its names: arrays of rank 1 to 4, each with a program of its own shape.

    Raises
    ------
    ConfigError: ExecuTorch has no such test.
    """
    data = _UPSTREAM.get(network)
    if data is None:
        raise ConfigError(f"no upstream test data for {network!r}", hint=f"there is for {', '.join(_UPSTREAM)}")
    # Each name has its own generator, so that one more name changes no other's data.
    return {name: make(_generator(seed, network, name)) for name, make in data.items()}


def _generator(seed: int, *names: Any) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32("/".join(names).encode())])
