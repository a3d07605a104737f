"""Keeps the answers of slow references by content: flatbuffer, inputs, and whatever else decides them."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.errors import HarnessError
from corstone.lowering.cache import Store, cache_root
from corstone.lowering.keys import array_digest, digest, file_sha256
from corstone.reference.operators import Unpredictable

Array = npt.NDArray[Any]


def kept(
    kind: str,
    flatbuffer: Path,
    inputs: Sequence[Array],
    version: str,
    compute: Callable[[], Sequence[Array]],
) -> tuple[Array, ...]:
    """The answer of ``kind`` (``tosa``, ``vgf``) from the cache, else ``compute()``, which is kept.

    Raises
    ------
    Unpredictable: ``compute`` raised it, now or when its answer was kept. Other errors pass, and are not kept.
    """
    store = Store(cache_root(), kind)
    key = digest([file_sha256(flatbuffer), array_digest(tuple(inputs)), version])
    if (folder := store.get(key)) is not None:
        return _load(folder)
    try:
        outputs = tuple(compute())
    except Unpredictable as left_open:
        _keep(store, key, (), str(left_open))
        raise
    _keep(store, key, outputs, "")
    return outputs


def _keep(store: Store, key: str, outputs: tuple[Array, ...], unpredictable: str) -> None:
    # A cache that cannot be written costs time, not the answer.
    with contextlib.suppress(HarnessError):
        built = store.aside() / "entry"
        built.mkdir()
        for i, array in enumerate(outputs):
            np.save(built / f"out-{i}.npy", array, allow_pickle=False)
        (built / "status.json").write_text(json.dumps({"outputs": len(outputs), "unpredictable": unpredictable}))
        store.publish(key, built)
        shutil.rmtree(built.parent, ignore_errors=True)


def _load(folder: Path) -> tuple[Array, ...]:
    status = json.loads((folder / "status.json").read_text())
    if status["unpredictable"]:
        raise Unpredictable(status["unpredictable"])
    return tuple(np.load(folder / f"out-{i}.npy", allow_pickle=False) for i in range(status["outputs"]))
