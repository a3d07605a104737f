"""Pictures for person detection: faces of nobody, and surroundings without one, drawn from a seed. Numpy alone.

``pictures.npz`` holds the mean and the leading principal components of 80 faces and of 80 other patches, 25 x 25 pixels
each, from the file that scikit-image ships (``scripts/train_person``). A picture is a mean with normally distributed
shares of its components, so there are as many as wanted and none shows anybody. Leaves out the photographs themselves.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pictures = npt.NDArray[np.float32]

FILE = Path(__file__).with_suffix(".npz")
SIDE = 25
CLASSES = ("surroundings", "person")


@functools.cache
def _components() -> dict[str, npt.NDArray[Any]]:
    with np.load(FILE) as found:
        return {name: found[name] for name in found.files}


def patch(rng: np.random.Generator, label: int) -> Floats:
    """A gray patch [25, 25] in [0, 1] of a class: 1 with a face, 0 without."""
    kept = _components()
    parts, scale = kept["components"][label].astype(np.float64), float(kept["scale"][label])
    drawn = kept["mean"][label] / 255 + scale * (rng.standard_normal(len(parts)) @ parts)
    return np.asarray(drawn.clip(0, 1).reshape(SIDE, SIDE))


def enlarged(gray: Floats, size: int, rng: np.random.Generator) -> Pictures:
    """A patch as a picture [3, size, size] in [-1, 1]: mirrored or not, shifted, lit, tinted, with a little noise."""
    if rng.random() < 0.5:
        gray = gray[:, ::-1]
    down, across = (_stretch(size, float(rng.uniform(-1.5, 1.5)), float(rng.uniform(0.85, 1.05))) for _ in range(2))
    light = down @ gray @ across.T
    light = (light - 0.5) * rng.uniform(0.7, 1.2) + 0.5 + rng.uniform(-0.15, 0.15)
    tint = rng.uniform(0.8, 1.1, (3, 1, 1))
    noise = rng.normal(0, 0.02, (3, size, size))
    return np.asarray((2 * (light * tint + noise) - 1).clip(-1, 1), np.float32)


def _stretch(size: int, shift: float, share: float) -> Floats:
    """The matrix [size, 25] that interpolates linearly, from ``share`` of the patch, ``shift`` off its middle."""
    at = (np.arange(size) + 0.5) / size - 0.5
    at = ((at * share + 0.5) * SIDE - 0.5 + shift).clip(0, SIDE - 1)
    low = np.minimum(at.astype(int), SIDE - 2)
    out = np.zeros((size, SIDE))
    out[np.arange(size), low] = 1 - (at - low)
    out[np.arange(size), low + 1] += at - low
    return out


def pictures(seed: int, count: int, size: int) -> tuple[Pictures, Floats]:
    """``count`` pictures [count, 3, size, size] from a seed, and how much of each is a person [count].

    Two of four are of one class (0 and 1), two are mixtures, since a network is not always sure.
    """
    rng = np.random.default_rng([seed, size])
    shares = np.where(np.arange(count) % 4 < 2, np.arange(count) % 2, rng.uniform(0, 1, count))
    drawn = [enlarged((1 - share) * patch(rng, 0) + share * patch(rng, 1), size, rng) for share in shares]
    return np.stack(drawn), shares
