"""What to lower: the request, checked before anything starts.

Leaves out how the source becomes a module (``source``, in the child) and the cache keys (``keys``).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone import targets
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.quantize.policies import policy

Array = npt.NDArray[Any]
Shape = tuple[int, ...]

NETWORK, MODULE, FILE, EXPORTED = "network", "module", "file", "exported"


@dataclass(frozen=True)
class SourceRef:
    """Where the network comes from.

    ``kind`` is ``network`` (``where`` a registered name), ``module`` (an importable module, ``attribute`` in it),
    ``file`` (a Python file, ``attribute`` in it) or ``exported`` (a ``.pt2`` file that ``torch.export.save`` wrote).
    """

    kind: str
    where: str
    attribute: str = ""

    @property
    def label(self) -> str:
        """A short name for reports: the registered name, the attribute, or the file's stem."""
        if self.kind == EXPORTED:
            return Path(self.where).stem
        return self.attribute or self.where

    @property
    def text(self) -> str:
        """``kind:where[:attribute]``, as a Program keeps it; of an exported file only the name."""
        if self.kind == EXPORTED:
            return f"{self.kind}:{Path(self.where).name}"
        return ":".join(part for part in (self.kind, self.where, self.attribute) if part)


@dataclass(frozen=True)
class LowerRequest:
    """One program to make.

    Parameters
    ----------
    source: registered network name, ``module:attribute``, ``path.py:attribute`` or ``path.pt2``.
    target: NPU by its Vela name, or a host target (a plain one ignores bits and policy).
    bits: 8 (int8) or 16 (int16 activations, int8 weights).
    policy: observer, fixed, edge_exact, segmented (16 bits alone) or upstream.
    inputs: example inputs; only shape and dtype matter where ``calibration`` is given. Empty: the network's own.
    shapes: instead of ``inputs``, shapes of float32 inputs, filled with a ramp from -1 to 1: observers that see nothing
        but zeros would give scales that mean nothing.
    calibration: input sets for the observers; empty: a registered network's own range, the ``calibration_inputs`` that
        the source brings, else the example inputs, to which ``shapes`` add random ones (``with_random``).
    seed: torch's seed while the module is made and exported.
    memory_mode, system_config, vela_flags: passed to Vela; None: ExecuTorch's default for the target.
    timeout_s: deadline of this request in the child, seconds.
    label: name in reports instead of the source's own.
    """

    source: str
    target: str = "ethos-u55-128"
    bits: int = 8
    policy: str = "fixed"
    inputs: tuple[Array, ...] = ()
    shapes: tuple[Shape, ...] = ()
    calibration: tuple[tuple[Array, ...], ...] = ()
    seed: int = 0
    memory_mode: str | None = None
    system_config: str | None = None
    vela_flags: tuple[str, ...] = ()
    timeout_s: float = 600.0
    label: str = ""

    def check(self) -> SourceRef:
        """Refuse what cannot work; returns the parsed source.

        Raises
        ------
        ConfigError: unknown target, width, policy or network; a file that is missing; an ill-formed source.
        """
        if self.target not in targets.HOST_TARGETS:
            targets.target(self.target)
        policy(self.policy, self.bits)
        return parse_source(self.source)

    def example_inputs(self, ref: SourceRef) -> tuple[Array, ...]:
        """The example inputs; empty when only the child can know them."""
        if self.inputs:
            return tuple(np.asarray(x, order="C") for x in self.inputs)
        if self.shapes:
            return tuple(_ramp(shape) for shape in self.shapes)
        if ref.kind == NETWORK:
            return self.calibration_sets(ref)[0]
        return ()

    def calibration_sets(self, ref: SourceRef) -> tuple[tuple[Array, ...], ...]:
        """The calibration input sets; empty when only the child can know them."""
        if self.calibration:
            return self.calibration
        if ref.kind == NETWORK:
            from corstone_models.networks import network

            shapes = self.shapes or tuple(x.shape for x in self.inputs)
            return (network(ref.where).calibration_inputs(self.bits, shapes),)
        return ()


RANDOM_SETS = 16


def with_random(inputs: tuple[Array, ...]) -> tuple[tuple[Array, ...], ...]:
    """Calibration where only shapes are known: the ramp, and uniform sets from -1 to 1 from a fixed seed.

    Neighbours on a ramp are alike, so a convolution's output hardly moves on it: ranges from it alone cut off what the
    network answers to anything else.
    """
    rng = np.random.default_rng(1)
    sets = [tuple(np.asarray(rng.uniform(-1, 1, x.shape), np.float32) for x in inputs) for _ in range(RANDOM_SETS)]
    return (inputs, *sets)


def _ramp(shape: Shape) -> Array:
    count = int(np.prod(shape))
    return np.linspace(-1.0, 1.0, count).astype(np.float32).reshape(shape) if count > 1 else np.ones(shape, np.float32)


def parse_source(source: str) -> SourceRef:
    """Tell what kind of source a text names.

    Raises
    ------
    ConfigError: no such file, no such network, or no attribute after the colon.
    """
    if source.endswith(".pt2"):
        return SourceRef(EXPORTED, str(_existing(Path(source))))
    where, colon, attribute = source.rpartition(":")
    if not colon:
        from corstone_models.networks import network

        network(source)
        return SourceRef(NETWORK, source)
    if not attribute.isidentifier():
        raise ConfigError(
            f"expected module:attribute or path.py:attribute, got {source!r}",
            hint="name a torch.nn.Module class, an instance, or a function that returns one",
        )
    if where.endswith(".py"):
        return SourceRef(FILE, str(_existing(Path(where))), attribute)
    return SourceRef(MODULE, where, attribute)


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise ConfigError(f"there is no file {path}", cause=Cause.BAD_INPUT)
    return path.resolve()
