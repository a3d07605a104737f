"""A Program: one ``.pte`` with what is needed to run and judge it, and where it came from.

Leaves out how it is made (``corstone.lowering``) and what is inside the file (``corstone.formats``).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = 1


@dataclass(frozen=True)
class QParams:
    """Affine quantization of one tensor: ``value = (code - zero_point) * scale``."""

    scale: float
    zero_point: int
    qmin: int
    qmax: int
    dtype: str


@dataclass(frozen=True)
class TensorSpec:
    """One input or output of a program.

    ``dtype`` is the numpy name (``float32``, ``int8``, ``bool``); ``shape`` is the logical shape in torch's order.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    dim_order: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Number of elements; 1 for rank 0."""
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes on the device."""
        import numpy as np

        return self.count * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Provenance:
    """How an artifact was made: the hash of what went in, the tool, its version and its options."""

    stage: str
    input_sha256: str
    output_sha256: str
    tool: str
    version: str
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Program:
    """A compiled program on disk.

    ``tosa`` holds the TOSA flatbuffer of each delegate call in order; empty when the program came without.
    ``input_qparams`` and ``output_qparams`` run parallel to ``inputs`` and ``outputs``; None where not quantized.
    ``source`` says what it was lowered from: ``network:acos``, ``file:/path.py:Mine``, ...; empty when not known.
    """

    pte: Path
    target: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    tosa: tuple[Path, ...] = ()
    input_qparams: tuple[QParams | None, ...] = ()
    output_qparams: tuple[QParams | None, ...] = ()
    network: str = ""
    bits: int = 0
    policy: str = ""
    notes: tuple[str, ...] = ()
    provenance: tuple[Provenance, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    source: str = ""

    def save(self, path: Path) -> None:
        """Write as JSON beside the files it names; paths inside the folder are stored relative."""
        folder = path.parent
        data = asdict(self) | {"schema": SCHEMA}
        data["pte"] = _relative(self.pte, folder)
        data["tosa"] = [_relative(p, folder) for p in self.tosa]
        path.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")

    @staticmethod
    def load(path: Path) -> Program:
        """Read what ``save`` wrote."""
        data: dict[str, Any] = json.loads(path.read_text())
        folder = path.parent

        def spec(d: dict[str, Any]) -> TensorSpec:
            return TensorSpec(d["name"], d["dtype"], tuple(d["shape"]), tuple(d.get("dim_order", ())))

        def qparams(d: dict[str, Any] | None) -> QParams | None:
            return None if d is None else QParams(**d)

        return Program(
            pte=folder / data["pte"],
            target=data["target"],
            inputs=tuple(spec(d) for d in data["inputs"]),
            outputs=tuple(spec(d) for d in data["outputs"]),
            tosa=tuple(folder / p for p in data["tosa"]),
            input_qparams=tuple(qparams(d) for d in data["input_qparams"]),
            output_qparams=tuple(qparams(d) for d in data["output_qparams"]),
            network=data["network"],
            bits=data["bits"],
            policy=data["policy"],
            notes=tuple(data["notes"]),
            provenance=tuple(Provenance(**d) for d in data["provenance"]),
            versions=data["versions"],
            source=data.get("source", ""),
        )


def _relative(path: Path, folder: Path) -> str:
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)
