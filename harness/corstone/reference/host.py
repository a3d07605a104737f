"""Host targets: a whole program on this machine, its delegates answered by the TOSA reference model or by VGF.

No board and no NPU: the executor's kind is ``host``, which counts nowhere as a device.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.capture import Capture, Ending, Executor
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError, HarnessError
from corstone.judge.reference import EXACT, ReferenceResult, Status
from corstone.lowering.keys import tool_versions
from corstone.program import Program
from corstone.reference.answers import references
from corstone.targets import HOST_BOARD, HOST_TARGETS

Array = npt.NDArray[Any]
KIND = "host"


def references_for(target: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those of ``names`` that can judge a host target: not its own executor; a plain one has float alone."""
    host = HOST_TARGETS[target]
    quantized = {"table", "tosa", "vgf", "fake-quantized"}
    return tuple(n for n in names if n != host.executor and (host.quantized or n not in quantized))


def second_opinion(
    program: Program, inputs: Sequence[Array], given: Sequence[ReferenceResult]
) -> list[ReferenceResult]:
    """VGF's answer where the TOSA reference model was the host target and no exact reference of ``given`` knows one.

    An executor does not judge itself, and ``table`` has few operators. Missing tools are said by the result.
    """
    host = HOST_TARGETS[program.target]
    if not host.quantized or host.executor == "vgf":
        return []
    if any(r.name == "vgf" or (r.name in EXACT and r.status is not Status.UNAVAILABLE) for r in given):
        return []
    return list(references(program, inputs, ("vgf",)).values())


def run_host(program: Program, inputs: Sequence[Array], folder: Path) -> Capture:
    """Run a program on its host target; the capture folder holds what a board's would, but no console.

    Raises
    ------
    HarnessError: the tools are missing, or the executor broke.
    """
    host = HOST_TARGETS[program.target]
    began = time.monotonic()
    if host.executor == "vgf":
        from corstone.vgf import find_tools

        find_tools()
    result = references(program, inputs, (host.executor,))[host.executor]
    if result.status in (Status.ERROR, Status.UNAVAILABLE):
        raise HarnessError(
            f"{host.title} gave no answer: {result.message}",
            cause=Cause.REFERENCE if result.status is Status.ERROR else Cause.UNSUPPORTED,
        )
    ending = Ending(Outcome.PASSED, Cause.NONE, "the graph ran")
    if result.status is Status.UNPREDICTABLE:
        ending = Ending(
            Outcome.FAILED,
            Cause.OUT_OF_DOMAIN,
            f"{host.title} calls this network's answer unpredictable: {result.message}",
            "a finding about the network: repair its tables or its input range",
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in (*folder.glob("in-*.bin"), *folder.glob("out-*.bin"), folder / "console.log", folder / "trace.txt"):
            old.unlink(missing_ok=True)
        for stem, arrays in (("in", inputs), ("out", result.outputs)):
            for i, array in enumerate(arrays):
                (folder / f"{stem}-{i}.bin").write_bytes(np.ascontiguousarray(array).tobytes())
        program.save(folder / "program.json")
        capture = Capture(
            folder=folder,
            executor=Executor(KIND, host.title, _version(host.executor)),
            board=HOST_BOARD,
            target=program.target,
            runner="",
            runner_sha256="",
            ending=ending,
            outputs=tuple(f"out-{i}.bin" for i in range(len(result.outputs))),
            inputs=tuple(f"in-{i}.bin" for i in range(len(inputs))),
            notes=(f"no board: host reference ({host.title}); this is no run on a device",),
            seconds={"total": time.monotonic() - began},
        )
        capture.save()
    except OSError as error:
        raise ConfigError(f"{folder} cannot be written: {error}", cause=Cause.NOT_WRITABLE) from error
    return capture


def _version(executor: str) -> str:
    if executor == "vgf":
        from corstone.vgf.tools import VERSION

        return f"{VERSION} on {platform.machine()}"
    return f"tosa-tools {tool_versions()['tosa']}"
