"""``tosa``: the TOSA reference model of the tosa-tools wheel on the same flatbuffer, an independent implementation.

Answers are kept by content (flatbuffer, inputs, version), so a warm run neither loads nor runs the model. UNPREDICTABLE
is a finding about the graph, told as ``Unpredictable``; it is kept, too.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.boards import warm
from corstone.causes import Cause
from corstone.errors import ToolError
from corstone.forkserver.client import ServerGone
from corstone.lowering.keys import tool_versions
from corstone.reference.graph import read_graph
from corstone.reference.kept import kept
from corstone.reference.operators import Unpredictable
from corstone.reference.table import graph_inputs

Array = npt.NDArray[Any]

# Python's stack of a crash is up to twenty lines of them.
_TAIL_LINES = 40
# The flatbuffer and a folder are appended.
_COMMAND = ("-m", "corstone.reference.tosa_child")


def run(path: Path, inputs: Sequence[Array], *, cache: bool = True, timeout_s: float = 300.0) -> tuple[Array, ...]:
    """Outputs of a TOSA flatbuffer, in the graph's order, dtypes and shapes.

    Raises
    ------
    Unpredictable: the model calls its answer so.
    ToolError: the model is not installed, ended in an error, crashed, or ran longer than ``timeout_s`` seconds.
    ConfigError: inputs that do not fit the graph.
    """
    arrays = tuple(graph_inputs(read_graph(path), inputs).values())
    if not cache:
        return _run_model(path, arrays, timeout_s)
    return kept("tosa", path, arrays, tool_versions()["tosa"], lambda: _run_model(path, arrays, timeout_s))


def _run_model(path: Path, arrays: tuple[Array, ...], timeout_s: float) -> tuple[Array, ...]:
    """Run the model in a process of its own: it is native code that may abort, and it prints to standard output."""
    with tempfile.TemporaryDirectory(prefix="corstone-tosa-") as name:
        folder = Path(name)
        np.savez(folder / "inputs.npz", **{f"in-{i}": a for i, a in enumerate(arrays)})
        status = _child([*_COMMAND, str(path.absolute()), str(folder)], folder / "printed", timeout_s)
        if status is None:
            raise ToolError(
                f"the TOSA reference model was still running after {timeout_s:.0f} s on {path.name}",
                cause=Cause.REFERENCE,
                hint="give a smaller stimulus, or a longer timeout",
            )
        printed = (folder / "printed").read_text("utf-8", "replace")
        if status != 0 or not (folder / "status.json").exists():
            raise ToolError(
                f"the TOSA reference model ended with {_ending(status)} on {path.name}",
                cause=Cause.REFERENCE,
                hint="its own words are in the evidence",
                evidence={"output": "\n" + "\n".join(printed.splitlines()[-_TAIL_LINES:])},
            )
        return _answer(json.loads((folder / "status.json").read_text()), folder, path, printed)


def _child(command: Sequence[str], printed: Path, timeout_s: float) -> int | None:
    """Exit status of Python with that command line, negative for a signal; None: it was stopped after ``timeout_s``.

    Where the server of the boots is running, which has Python and numpy loaded, it forks the process.
    """
    with printed.open("wb") as output:
        if (server := warm.running()) is not None:
            with suppress(ServerGone):
                forked = server.start([sys.executable, *command], Path.cwd(), os.environ, output.fileno())
                try:
                    return forked.wait(timeout_s)
                finally:
                    forked.close()
        try:
            return subprocess.run(
                [sys.executable, "-P", *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=timeout_s,
                start_new_session=True,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return None


def _answer(status: dict[str, Any], folder: Path, path: Path, printed: str) -> tuple[Array, ...]:
    if status["status"] == "missing":
        raise ToolError(
            f"the TOSA reference model cannot be loaded: {status['message']}",
            cause=Cause.MISSING_TOOL,
            hint="pip install tosa-tools",
        )
    if status["status"] == "TOSA_UNPREDICTABLE":
        raise Unpredictable("the TOSA reference model ended with TOSA_UNPREDICTABLE")
    if status["status"] != "TOSA_VALID":
        raise ToolError(
            f"the TOSA reference model ended with {status['status']} on {path.name}",
            cause=Cause.REFERENCE,
            hint="its own words are in the evidence",
            evidence={"output": "\n" + "\n".join(printed.splitlines()[-_TAIL_LINES:])},
        )
    return tuple(np.load(folder / f"out-{i}.npy", allow_pickle=False) for i in range(status["outputs"]))


def _ending(status: int) -> str:
    return signal.Signals(-status).name if status < 0 else f"exit status {status}"
