"""Runs the TOSA reference model once: ``python -m corstone.reference.tosa_child FLATBUFFER FOLDER``.

``inputs.npz`` (in-0, in-1, ...) in; ``out-<i>.npy`` and ``status.json`` out. Everything the model prints goes to our
standard output, which the parent keeps for its messages. Started as that command, or forked by the server of the boots
(``emulator/server.py``), which has imported this.
"""

from __future__ import annotations

import faulthandler
import json
import sys
from pathlib import Path

import numpy as np

from corstone.reference.graph import read_graph


def main() -> int:
    """Entry point of the command."""
    faulthandler.enable()
    run(Path(sys.argv[1]), Path(sys.argv[2]))
    return 0


def run(flatbuffer: Path, folder: Path) -> None:
    """Run, and leave outputs and status in ``folder``."""
    try:
        import tosa_reference_model as model
    except ImportError as error:
        _status(folder, {"status": "missing", "message": str(error)})
        return
    graph = read_graph(flatbuffer)
    with np.load(folder / "inputs.npz", allow_pickle=False) as stored:
        inputs = [stored[f"in-{i}"] for i in range(len(stored.files))]
    raw, status = model.run(flatbuffer.read_bytes(), inputs, verbosity="NONE")
    outputs = raw if status == model.GraphStatus.TOSA_VALID else []
    for i, (name, data) in enumerate(zip(graph.outputs, outputs, strict=False)):
        tensor = graph.tensors[name]
        array = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.dtype(tensor.dtype)).reshape(tensor.shape)
        np.save(folder / f"out-{i}.npy", array, allow_pickle=False)
    _status(folder, {"status": status.name, "outputs": len(outputs)})


def _status(folder: Path, status: dict[str, object]) -> None:
    (folder / "status.json").write_text(json.dumps(status))


if __name__ == "__main__":
    sys.exit(main())
