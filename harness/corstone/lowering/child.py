"""The compile child: ``python -m corstone.lowering.child FOLDER`` works off the requests that lie in FOLDER.

``requests.json`` in; ``progress.json`` (which request, which stage) and ``result-<i>.json`` out, each written whole. A
request that fails leaves an error as its result and the next one is begun; only a crash ends the process. It ends, too,
when its standard input closes: then the parent is gone. Kinds of request are rows of ``_HANDLERS``.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corstone.errors import ConfigError, HarnessError, StageError, ToolError
from corstone.lowering.cache import write_whole
from corstone.lowering.lean import lean_imports
from corstone.lowering.request import Array, LowerRequest, SourceRef
from corstone.lowering.stage import Run
from corstone.targets import HOST_TARGETS

Arrays = dict[str, Array]


class Server:
    """Keeps what is worth keeping between requests: imported libraries and shared front halves."""

    def __init__(self) -> None:
        self._builder: Any = None

    def builder(self, run: Run) -> Any:
        """The program builder; the first call imports torch and ExecuTorch."""
        if self._builder is None:
            with run.stage("import"):
                with lean_imports():
                    from corstone.lowering.build import Builder
                    from corstone.lowering.speed import spare_repeated_work

                self._builder = Builder()
                spare_repeated_work()
        return self._builder


def _lower(server: Server, data: dict[str, Any], arrays: Arrays, run: Run) -> dict[str, Any]:
    builder = server.builder(run)
    if data["target"] in HOST_TARGETS:
        from corstone.lowering.host import HostBuilder

        builder = HostBuilder(builder)
    ref = SourceRef(*data["source"])
    sets = sorted({int(name.split("-")[1]) for name in arrays if name.startswith("calibration-")})
    inputs = _numbered(arrays, "input-")
    request = LowerRequest(
        source=":".join(part for part in (ref.where, ref.attribute) if part),
        target=data["target"],
        bits=data["bits"],
        policy=data["policy"],
        inputs=inputs,
        shapes=tuple(x.shape for x in inputs) if data["only_shapes"] else (),
        calibration=tuple(_numbered(arrays, f"calibration-{i}-") for i in sets),
        seed=data["seed"],
        memory_mode=data["memory_mode"],
        system_config=data["system_config"],
        vela_flags=tuple(data["vela_flags"]),
        label=data["label"],
    )
    result: dict[str, Any] = builder.build(request, ref, Path(data["cache"]), run)
    return result


def _evaluate(server: Server, data: dict[str, Any], arrays: Arrays, run: Run) -> dict[str, Any]:
    # Saved graphs hold torch's operators and the quantize and dequantize ones; ExecuTorch is not needed for these.
    del server
    with run.stage("import"):
        import torch.ao.quantization.fx._decomposed  # noqa: F401  registers them
    with run.stage("evaluate"):
        from corstone.lowering.evaluate import evaluate

        found = evaluate(Path(data["program"]), _numbered(arrays, "input-"), [data["what"]])
        for i, array in enumerate(found[data["what"]]):
            np.save(Path(data["into"]) / f"out-{i:03}.npy", array, allow_pickle=False)
    return {"outputs": len(found[data["what"]])}


_HANDLERS: dict[str, Callable[[Server, dict[str, Any], Arrays, Run], dict[str, Any]]] = {
    "lower": _lower,
    "evaluate": _evaluate,
}


def _numbered(arrays: Arrays, prefix: str) -> tuple[Array, ...]:
    count = sum(name.startswith(prefix) for name in arrays)
    return tuple(arrays[f"{prefix}{i}"] for i in range(count))


def _error(error: HarnessError) -> dict[str, Any]:
    kind = "config" if isinstance(error, ConfigError) else "tool" if isinstance(error, ToolError) else "stage"
    evidence = {name: str(value) for name, value in error.evidence.items()}
    return {
        "type": kind,
        "message": error.message,
        "cause": error.cause.value,
        "hint": error.hint,
        "evidence": evidence,
    }


def serve(folder: Path) -> None:
    """Work off every request of a folder."""
    task = json.loads((folder / "requests.json").read_text())
    # What the parent could import can be imported here, after all that is our own.
    sys.path += [entry for entry in task["path"] if entry not in sys.path]
    server = Server()
    for index, data in enumerate(task["requests"]):

        def report(stage: str, index: int = index) -> None:
            print(f"[request {index}] stage {stage}", flush=True)
            write_whole(folder / "progress.json", json.dumps({"index": index, "stage": stage}))

        run = Run(report)
        try:
            arrays: Arrays = {}
            if (folder / f"arrays-{index}.npz").exists():
                with np.load(folder / f"arrays-{index}.npz", allow_pickle=False) as stored:
                    arrays = dict(stored)
            # Whatever is outside every stage (the request itself, the cache) is named so.
            with run.stage("prepare"):
                result = _HANDLERS[data["kind"]](server, data, arrays, run)
        except HarnessError as error:
            result = {"error": _error(error)}
        except MemoryError:
            result = {"error": _error(StageError("the compile child ran out of memory"))}
        write_whole(folder / f"result-{index}.json", json.dumps(result))
        if index + 1 < len(task["requests"]):
            gc.collect()


def _end_with_parent() -> None:
    """Leave when standard input closes. The group is ours: what we started goes, too."""

    def wait() -> None:
        while os.read(0, 4096):
            pass
        os.killpg(os.getpid(), 9)

    threading.Thread(target=wait, daemon=True).start()


def run(folder: Path) -> None:
    """Work off a folder, and end when standard input closes."""
    _end_with_parent()
    serve(folder)


def main() -> None:
    """Entry point of the child."""
    run(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
