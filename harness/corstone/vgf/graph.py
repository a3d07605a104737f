"""Runs one TOSA graph through VGF: convert, write a scenario, dispatch, read the outputs.

The converter refuses a flatbuffer whose *serializer* is newer than its own, although the TOSA version inside is the
same; ``retag`` states the converter's serializer release instead and changes nothing else.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.causes import Cause
from corstone.errors import StageError, ToolError
from corstone.formats.flatbuf import Buffer, FlatbufferError
from corstone.vgf.tools import VgfTools, find_tools

Array = npt.NDArray[Any]

_SERIALIZER = (2026, 2, 1)
_FORMATS = {
    "bool": "VK_FORMAT_R8_BOOL_ARM",
    "int8": "VK_FORMAT_R8_SINT",
    "uint8": "VK_FORMAT_R8_UINT",
    "int16": "VK_FORMAT_R16_SINT",
    "int32": "VK_FORMAT_R32_SINT",
    "int64": "VK_FORMAT_R64_SINT",
    "float16": "VK_FORMAT_R16_SFLOAT",
    "float32": "VK_FORMAT_R32_SFLOAT",
}


@dataclass(frozen=True)
class TensorType:
    """Shape and numpy dtype name of a graph output."""

    shape: tuple[int, ...]
    dtype: str


def retag(tosa: bytes) -> bytes:
    """The same graph with the serializer release that the converter knows (field 2 of TosaGraph, tosa.fbs)."""
    try:
        software = Buffer(tosa).root().table(2)
        positions = [] if software is None else [software.position(field) for field in range(len(_SERIALIZER))]
    except FlatbufferError as error:
        raise StageError(f"the TOSA graph is damaged: {error}") from error
    data = bytearray(tosa)
    for position, value in zip(positions, _SERIALIZER, strict=False):
        if position is not None:
            struct.pack_into("<i", data, position, value)
    return bytes(data)


def run_graph(
    tosa: Path,
    inputs: Sequence[Array],
    outputs: Sequence[TensorType],
    tools: VgfTools | None = None,
    timeout_s: float = 120.0,
) -> list[Array]:
    """Outputs of a TOSA graph on ``inputs``, both in the graph's own order and dtypes.

    Raises
    ------
    ToolError: the tools are missing (see ``find_tools``) or do not answer within ``timeout_s`` seconds.
    StageError: the converter refuses the graph, or the runner the scenario; the message carries their last lines.
    """
    tools = tools or find_tools()
    with tempfile.TemporaryDirectory(prefix="corstone-vgf-") as scratch:
        folder = Path(scratch)
        (folder / "graph.tosa").write_bytes(retag(tosa.read_bytes()))
        convert = [str(tools.converter), "-i", "graph.tosa", "-o", "graph.vgf"]
        _run(convert, folder, {}, timeout_s, "convert")
        for i, array in enumerate(inputs):
            np.save(folder / f"in-{i}.npy", np.ascontiguousarray(array))
        types = [TensorType(a.shape, str(a.dtype)) for a in inputs]
        (folder / "scenario.json").write_text(json.dumps(_scenario(types, outputs)))
        command = [str(tools.runner), "--scenario", "scenario.json", "--output", "."]
        log = _run(command, folder, tools.environment, timeout_s, "dispatch")
        return [_read(folder / f"out-{i}.npy", kind, log) for i, kind in enumerate(outputs)]


def _scenario(inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> dict[str, Any]:
    tensors = []
    for i, kind in enumerate(inputs):
        tensors.append(_tensor(f"in-{i}", kind) | {"shader_access": "readonly", "src": f"in-{i}.npy"})
    for i, kind in enumerate(outputs):
        tensors.append(_tensor(f"out-{i}", kind) | {"shader_access": "writeonly", "dst": f"out-{i}.npy"})
    bindings = [{"set": 0, "id": n, "resource_ref": t["uid"]} for n, t in enumerate(tensors)]
    graph = {"graph": {"uid": "graph", "src": "graph.vgf"}}
    return {
        "commands": [{"dispatch_graph": {"graph_ref": "graph", "bindings": bindings}}],
        "resources": [graph, *({"tensor": t} for t in tensors)],
    }


def _tensor(uid: str, kind: TensorType) -> dict[str, Any]:
    if kind.dtype not in _FORMATS:
        raise StageError(f"VGF has no tensor format for {kind.dtype}", cause=Cause.UNSUPPORTED)
    # A rank-0 tensor travels as one element.
    return {"uid": uid, "dims": list(kind.shape) or [1], "format": _FORMATS[kind.dtype]}


def _run(command: list[str], folder: Path, environment: dict[str, str], timeout_s: float, step: str) -> str:
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        log = process.communicate(timeout=timeout_s)[0].decode("utf-8", "replace")
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"VGF {step} gave no answer within {timeout_s:g} s",
            cause=Cause.COMPILE_TIMEOUT,
            hint="raise the deadline, or leave the vgf reference out",
        ) from error
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        tail = " | ".join(log.strip().splitlines()[-4:])
        raise StageError(
            f"VGF {step} ended with status {process.returncode}: {tail}",
            cause=Cause.COMPILE_CRASH if process.returncode < 0 else Cause.COMPILE,
            evidence={"command": " ".join(command)},
        )
    return log


def _read(path: Path, kind: TensorType, log: str) -> Array:
    if not path.is_file():
        tail = " | ".join(log.strip().splitlines()[-4:])
        raise StageError(f"VGF left no {path.name}: {tail}", cause=Cause.OUTPUT_MISSING)
    array = np.load(path, allow_pickle=False)
    if array.dtype.itemsize != np.dtype(kind.dtype).itemsize or array.size != np.prod(kind.shape, dtype=int):
        raise StageError(
            f"VGF returned {array.dtype}{list(array.shape)}, expected {kind.dtype}{list(kind.shape)}",
            cause=Cause.SHAPE,
        )
    result: Array = array.view(kind.dtype).reshape(kind.shape)
    return result
