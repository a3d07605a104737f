"""Compiled cases as files: what the NPU gets, and what must come out, without the compiler that made them.

One ``.npz`` holds many cases. Leaves out the networks themselves: a case names its seed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corstone.emulator.npu.types import Array
from corstone.formats.vela import VelaBlob, VelaTensor, read_payload


@dataclass(frozen=True)
class StoredCase:
    """A compiled network with inputs and the reference's outputs, all as bytes."""

    name: str
    blob: VelaBlob
    inputs: tuple[bytes, ...]
    outputs: tuple[bytes, ...]


def save(path: Path, cases: Sequence[StoredCase]) -> None:
    """Write cases to one compressed file."""
    arrays: dict[str, Array] = {}
    index: list[dict[str, Any]] = []
    for number, case in enumerate(cases):
        row = {
            "name": case.name,
            "scratch_size": case.blob.scratch_size,
            "inputs": [asdict(t) for t in case.blob.inputs],
            "outputs": [asdict(t) for t in case.blob.outputs],
        }
        index.append(row)
        parts = {"payload": case.blob.cmd_data, "weights": case.blob.weights}
        parts |= {f"in{n}": data for n, data in enumerate(case.inputs)}
        parts |= {f"out{n}": data for n, data in enumerate(case.outputs)}
        arrays |= {f"{number}/{key}": np.frombuffer(data, np.uint8) for key, data in parts.items()}
    arrays["index"] = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(path, **arrays)


def load(path: Path) -> list[StoredCase]:
    """All cases of a file."""
    cases = []
    with np.load(path, allow_pickle=False) as data:
        for number, row in enumerate(json.loads(data["index"].tobytes())):
            payload = data[f"{number}/payload"].tobytes()
            blob = VelaBlob(
                cmd_data=payload,
                weights=data[f"{number}/weights"].tobytes(),
                scratch_size=row["scratch_size"],
                inputs=tuple(_tensor(t) for t in row["inputs"]),
                outputs=tuple(_tensor(t) for t in row["outputs"]),
                payload=read_payload(payload),
            )
            inputs = tuple(data[f"{number}/in{n}"].tobytes() for n in range(len(blob.inputs)))
            outputs = tuple(data[f"{number}/out{n}"].tobytes() for n in range(len(blob.outputs)))
            cases.append(StoredCase(row["name"], blob, inputs, outputs))
    return cases


def _tensor(row: dict[str, Any]) -> VelaTensor:
    return VelaTensor(tuple(row["shape"]), row["elem_size"], row["offset"], row["region"])
