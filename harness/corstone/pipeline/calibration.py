"""Calibration sets as a file: what observers see of a network beside its example inputs.

One ``.npz`` with an array for each input in the order of ``forward``, the sets along a new first axis; or one ``.npy``
where there is one input. Lowering uses the sets; what the case is run on is another matter (``pipeline.inputs``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corstone.causes import Cause
from corstone.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Sets = tuple[tuple[npt.NDArray[np.generic], ...], ...]

HINT = "np.savez(FILE, x, y): an array for each input, its first axis counts the sets"


def read_calibration(path: Path) -> Sets:
    """The sets of a file.

    Raises
    ------
    ConfigError: it cannot be read, holds no set, or other numbers of sets for different inputs.
    """
    import numpy as np

    try:
        with path.open("rb") as stream:
            loaded = np.load(stream, allow_pickle=False)
            arrays = [loaded] if isinstance(loaded, np.ndarray) else [loaded[name] for name in loaded.files]
    except (OSError, ValueError, EOFError) as error:
        raise _refused(f"cannot read calibration inputs from {path}: {error}") from error
    except Exception as error:  # zipfile and zlib have exceptions of their own for a damaged archive
        raise _refused(f"{path} is no sound .npz file: {type(error).__name__}: {error}") from error
    if strange := [a.dtype for a in arrays if a.dtype.kind not in "biuf"]:
        raise _refused(f"{path} holds {strange[0]}, which are no real numbers")
    if not arrays or any(a.ndim == 0 or len(a) == 0 for a in arrays):
        raise _refused(f"{path} holds no calibration set")
    if len({len(a) for a in arrays}) > 1:
        counts = ", ".join(str(len(a)) for a in arrays)
        raise _refused(f"{path} holds different numbers of sets for its {len(arrays)} inputs: {counts}")
    return tuple(zip(*arrays, strict=True))


def write_calibration(sets: Sequence[Any], folder: Path, name: str) -> Path:
    """Keep the sets as ``NAME-HASH.calibration.npz`` in ``folder``, so that the case can be run again.

    ``sets``: one for each observation; a set is a tensor, an array, or a sequence of them.

    Raises
    ------
    ConfigError: there is none, they are no arrays, or not all of one shape.
    """
    import io

    import numpy as np

    from corstone.pipeline.inputs import arrays_of

    found = [arrays_of(given) for given in sets]
    shapes = {tuple((a.shape, str(a.dtype)) for a in given) for given in found}
    if len(shapes) != 1 or not found[0]:
        raise _refused(f"calibration sets must agree in shape and dtype, got {len(shapes)} kinds in {len(found)} sets")
    buffer = io.BytesIO()
    np.savez(buffer, *[np.stack(arrays) for arrays in zip(*found, strict=True)])
    data = buffer.getvalue()
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}.calibration.npz"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def _refused(text: str) -> ConfigError:
    return ConfigError(text, cause=Cause.BAD_INPUT, hint=HINT)
