"""Stimuli: inputs of a program by name, in numpy, from a seed.

``codes`` is the proof: every code the program can reach from float inputs. The others are samples and corners. A
program whose input is smaller than a stimulus needs several runs for all of it (``stimulus_sets``); ``stimulus`` is the
one run that most cases take, spread over the whole stimulus. ``upstream`` is ExecuTorch's own test data.
"""

from __future__ import annotations

import dataclasses
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.errors import ConfigError
from corstone.judge.domain import Domain
from corstone.program import Program, QParams, TensorSpec

Array = npt.NDArray[Any]
Float32 = npt.NDArray[np.float32]
Shape = tuple[int, ...]
_SYMMETRIC = Domain(-1.0, 1.0)


@dataclass(frozen=True)
class _Want:
    """What a maker is asked for: values for one float input of ``count`` elements, inside ``domain``.

    ``declared`` is the operator's whole domain; ``domain`` is the part of it that has ends.
    """

    qparams: QParams | None
    domain: Domain
    declared: Domain
    count: int
    rng: np.random.Generator

    @property
    def inside(self) -> tuple[np.float32, np.float32]:
        """The outermost float32 values inside the domain."""
        lo, hi = np.float32(self.domain.lo), np.float32(self.domain.hi)
        return (
            np.nextafter(lo, np.float32(np.inf)) if self.domain.lo_open else lo,
            np.nextafter(hi, np.float32(-np.inf)) if self.domain.hi_open else hi,
        )


def code_values(qparams: QParams) -> Float32:
    """The value of every code from ``qmin`` to ``qmax``, ascending; quantizing one gives its code again."""
    codes = np.arange(qparams.qmin, qparams.qmax + 1, dtype=np.int64)
    return ((codes - qparams.zero_point).astype(np.float64) * qparams.scale).astype(np.float32)


def _codes(want: _Want) -> Float32:
    if want.qparams is None:
        raise ConfigError(
            "the stimulus 'codes' needs a quantized input, and this program's input is not",
            hint="use --stimulus random, or give the inputs",
        )
    return code_values(want.qparams)


def _ramp(want: _Want) -> Float32:
    lo, hi = want.inside
    return np.clip(np.linspace(lo, hi, want.count).astype(np.float32), lo, hi)


def _random(want: _Want) -> Float32:
    lo, hi = want.inside
    return np.clip(want.rng.uniform(lo, hi, want.count).astype(np.float32), lo, hi)


def _edges(want: _Want) -> Float32:
    """Both ends of the domain and 0, their float32 neighbours, and values up to one code to either side; all inside."""
    step = 0.0 if want.qparams is None else want.qparams.scale
    points: list[np.float32] = []
    for point in (np.float32(want.domain.lo), np.float32(0.0), np.float32(want.domain.hi), *want.inside):
        points += [np.float32(point + factor * step) for factor in (-1.0, -0.5, 0.0, 0.5, 1.0)]
        points += [np.nextafter(point, np.float32(-np.inf)), np.nextafter(point, np.float32(np.inf))]
    values = np.unique(np.array(points, np.float32))
    return np.asarray(values[want.domain.holds(values)])


def _zeros(want: _Want) -> Float32:
    return np.zeros(want.count, np.float32)


def _ones(want: _Want) -> Float32:
    return np.ones(want.count, np.float32)


def _outside(want: _Want) -> Float32:
    """Just outside and far outside. No NaN and no infinity: the C kernel's cast to int64 leaves their code open."""
    lo, hi = np.float32(want.domain.lo), np.float32(want.domain.hi)
    near = [np.nextafter(lo, np.float32(-np.inf)), np.nextafter(hi, np.float32(np.inf))]
    far = [lo * 1.01, hi * 1.01, lo * 2, hi * 2, -1e10, 1e10]
    values = np.array([*near, *far], np.float32)
    values = np.asarray(values[~want.declared.holds(values)])
    if not values.size:
        raise ConfigError(
            f"the stimulus 'outside' needs a domain with an end, and this network's is {want.declared}",
            hint="use --stimulus edges for the ends of its calibrated range",
        )
    return values


_MAKERS: Mapping[str, Callable[[_Want], Float32]] = {
    "codes": _codes,
    "ramp": _ramp,
    "random": _random,
    "edges": _edges,
    "zeros": _zeros,
    "ones": _ones,
    "outside": _outside,
}
NAMES: tuple[str, ...] = tuple(_MAKERS)


def stimulus(name: str, program: Program, *, seed: int = 0, domain: Domain | None = None) -> tuple[Array, ...]:
    """One run's inputs, one array per program input, in its dtype and shape.

    Values that do not all fit are thinned out evenly, both ends kept; too few are filled up by repeating some of them.
    ``domain`` None: the range of the input's codes, else [-1, 1].

    Raises
    ------
    ConfigError: no such stimulus (the message lists those there are), or one that this program's input cannot have.
    """
    if (together := _together(name, program, seed)) is not None:
        return together
    inputs = []
    for values, spec in _values(name, program, seed, domain):
        if values.size > spec.count:
            values = values[np.linspace(0, values.size - 1, spec.count).round().astype(np.int64)]
        inputs.append(_filled(values, spec.count).reshape(spec.shape))
    return tuple(inputs)


def stimulus_sets(
    name: str, program: Program, *, seed: int = 0, domain: Domain | None = None
) -> tuple[tuple[Array, ...], ...]:
    """The whole stimulus, in as many runs as its longest input takes; raises as ``stimulus`` does."""
    if (together := _together(name, program, seed)) is not None:
        return (together,)
    given = _values(name, program, seed, domain)
    runs = max((math.ceil(values.size / max(1, spec.count)) for values, spec in given), default=1)
    columns = [_filled(values, runs * spec.count).reshape(runs, *spec.shape) for values, spec in given]
    return tuple(tuple(column[run] for column in columns) for run in range(runs))


def _together(name: str, program: Program, seed: int) -> tuple[Array, ...] | None:
    """Samples of a registered network whose inputs belong together; None where any values will do."""
    from corstone_models.networks import NETWORKS

    network = NETWORKS.get(program.source.removeprefix("network:"))
    if network is None or network.samples is None or name not in ("codes", "random"):
        return None
    return network.samples(_generator(seed, name), tuple(spec.shape for spec in program.inputs))


def _values(name: str, program: Program, seed: int, domain: Domain | None) -> list[tuple[Array, TensorSpec]]:
    if name not in _MAKERS:
        raise ConfigError(f"no such stimulus: {name!r}", hint=f"use one of {', '.join(NAMES)}")
    qparams = list(program.input_qparams) or [None] * len(program.inputs)
    return [
        (_of_input(name, spec, given, _generator(seed, name, str(i)), domain), spec)
        for i, (spec, given) in enumerate(zip(program.inputs, qparams, strict=True))
    ]


def _of_input(
    name: str, spec: TensorSpec, qparams: QParams | None, rng: np.random.Generator, domain: Domain | None
) -> Array:
    dtype = np.dtype(spec.dtype)
    if dtype.kind != "f":
        return _of_integers(name, spec, rng)
    reach = _SYMMETRIC
    if qparams is not None:
        values = code_values(qparams)
        reach = Domain(float(values[0]), float(values[-1]))
    declared = domain or reach
    return _MAKERS[name](_Want(qparams, _bounded(declared, reach), declared, spec.count, rng)).astype(dtype)


def _bounded(domain: Domain, reach: Domain) -> Domain:
    """The domain with ``reach``'s ends where it has none of its own: nothing beyond calibration is asked for there."""
    lo = domain.lo if math.isfinite(domain.lo) else min(reach.lo, domain.hi - 1)
    hi = domain.hi if math.isfinite(domain.hi) else max(reach.hi, lo + 1)
    return dataclasses.replace(domain, lo=lo, hi=hi)


def _of_integers(name: str, spec: TensorSpec, rng: np.random.Generator) -> Array:
    dtype = np.dtype(spec.dtype)
    if name in ("zeros", "ones"):
        return np.full(spec.count, name == "ones", dtype)
    if name == "codes" and dtype.itemsize <= 2 and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.arange(limits.min, limits.max + 1).astype(dtype)
    if name == "random" and dtype.kind in "biu":
        # Indices and masks: what any table has a row for.
        return rng.integers(0, 2, spec.count).astype(dtype)
    raise ConfigError(
        f"the stimulus {name!r} is for float inputs, and input {spec.name} is {spec.dtype}",
        hint="use zeros, ones or random, or give the inputs",
    )


def _filled(values: Array, count: int) -> Array:
    """Exactly ``count`` values; behind the given ones come some of them in any order, as real inputs vary."""
    if values.size >= count:
        return values[:count]
    more = np.random.default_rng(count).integers(0, values.size, count - values.size)
    return np.concatenate([values, values[more]])


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
