"""What a reference said, as the judge takes it, and how it is kept beside a capture.

Leaves out the references themselves (``corstone.reference``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

EXACT = ("table", "tosa", "vgf")
FLOAT = "float"
FAKE_QUANTIZED = "fake-quantized"


class Status(StrEnum):
    """How a reference ended."""

    OK = "ok"
    UNPREDICTABLE = "unpredictable"
    UNAVAILABLE = "unavailable"
    ERROR = "error"


@dataclass(frozen=True)
class ReferenceResult:
    """The answer of one reference to the same inputs.

    ``name`` is ``table``, ``tosa`` or ``vgf`` (every bit counts: outputs in the program's dtypes and shapes), ``float``
    (float64) or ``fake-quantized`` (real values). ``unpredictable`` is a finding about the network; ``unavailable``
    says in ``message`` what was missing; ``error`` means the reference itself broke.
    """

    name: str
    outputs: tuple[Array, ...] = ()
    status: Status = Status.OK
    message: str = ""
    version: str = ""


def save_references(folder: Path, references: tuple[ReferenceResult, ...] | list[ReferenceResult]) -> None:
    """Write ``references.json`` and one ``ref-<name>-<i>.npy`` per output into a capture folder."""
    index: list[dict[str, Any]] = []
    for reference in references:
        files = [f"ref-{reference.name}-{i}.npy" for i in range(len(reference.outputs))]
        for name, array in zip(files, reference.outputs, strict=True):
            np.save(folder / name, array, allow_pickle=False)
        index.append(
            {
                "name": reference.name,
                "files": files,
                "status": reference.status.value,
                "message": reference.message,
                "version": reference.version,
            }
        )
    (folder / "references.json").write_text(json.dumps({"schema": 1, "references": index}, indent=1) + "\n")


def load_references(folder: Path) -> tuple[ReferenceResult, ...]:
    """Read what ``save_references`` wrote; empty when there is nothing.

    Names are taken inside the folder only: a capture that was sent by somebody else cannot point elsewhere.
    """
    return tuple(
        ReferenceResult(
            name=str(entry["name"]),
            outputs=tuple(np.load(file, allow_pickle=False) for file in files),
            status=Status(entry["status"]),
            message=str(entry["message"]),
            version=str(entry.get("version", "")),
        )
        for entry, files in _entries(folder)
    )


def reference_files(folder: Path) -> dict[str, tuple[Path, ...]]:
    """The file of each output (``.npy``) by the reference's name, for a reader that does not need all of them."""
    return {str(entry["name"]): files for entry, files in _entries(folder)}


def _entries(folder: Path) -> list[tuple[dict[str, Any], tuple[Path, ...]]]:
    try:
        text = (folder / "references.json").read_text()
    except FileNotFoundError:
        return []
    return [(e, tuple(folder / Path(name).name for name in e["files"])) for e in json.loads(text)["references"]]
