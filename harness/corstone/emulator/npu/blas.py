"""Keep numpy's matrix products on one thread while a stream runs.

The products of a network are small. OpenBLAS spreads them over all cores and lets its threads spin between them: on two
busy cores a MobileNetV2 took 1.2 s that way, and 0.1 s on one thread. Numpy has no call for it, so the library that its
wheel carries is asked directly; where there is none (another BLAS), nothing happens.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np

_NAMES = ("scipy_openblas_{}_num_threads64_", "scipy_openblas_{}_num_threads", "openblas_{}_num_threads64_")


@lru_cache(maxsize=1)
def _library() -> tuple[ctypes.CDLL, str] | None:
    """Numpy's OpenBLAS, already loaded, and how its names are written."""
    for path in sorted((Path(np.__file__).parents[1] / "numpy.libs").glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for name in _NAMES:
            if hasattr(library, name.format("set")) and hasattr(library, name.format("get")):
                return library, name
    return None


@contextmanager
def one_thread() -> Iterator[None]:
    """One BLAS thread inside, as many as before afterwards."""
    found = _library()
    if found is None:
        yield
        return
    library, name = found
    before = int(getattr(library, name.format("get"))())
    set_threads = getattr(library, name.format("set"))
    set_threads(1)
    try:
        yield
    finally:
        set_threads(before)
