"""Compile TOSA graphs with Vela in a child process that may crash or hang.

The child stays for many graphs, since importing Vela takes longer than compiling. It is killed after a deadline, and
started again. Leaves out ExecuTorch: what Vela writes is read directly.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

import numpy as np

from corstone.formats.vela import VelaBlob, VelaTensor, read_payload

# Vela's system configuration and memory modes by product, from its own Arm/vela.ini.
SYSTEMS = {
    "U55": ("Ethos_U55_High_End_Embedded", ("Shared_Sram", "Sram_Only")),
    "U65": ("Ethos_U65_High_End", ("Dedicated_Sram_384KB", "Sram_Only")),
    "U85": ("Ethos_U85_SYS_DRAM_Mid", ("Sram_Only", "Dedicated_Sram_384KB")),
}
DEADLINE_S = 120.0


class CompileFailed(Exception):
    """Vela refused a graph, crashed, or did not end; the text says which."""


class Compiler:
    """A Vela child process. A context manager: nothing is left running after it."""

    def __init__(self, deadline_s: float = DEADLINE_S) -> None:
        self._deadline_s = deadline_s
        self._context = multiprocessing.get_context("spawn")
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None

    def __enter__(self) -> Compiler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def compile(self, graph: bytes, target: str, mode: str, flags: tuple[str, ...] = ()) -> VelaBlob:
        """Compile a TOSA flatbuffer for a target in a memory mode.

        Raises
        ------
        CompileFailed: no program came out.
        """
        product = target.split("-")[1].upper()
        arguments = [
            f"--accelerator-config={target}",
            "--config=Arm/vela.ini",
            "--output-format=raw",
            f"--system-config={SYSTEMS[product][0]}",
            f"--memory-mode={mode}",
            *flags,
        ]
        pipe = self._start()
        pipe.send((graph, arguments))
        if not pipe.poll(self._deadline_s):
            self._stop()
            raise CompileFailed(f"Vela did not end in {self._deadline_s} s")
        try:
            answer = pipe.recv()
        except EOFError:
            self._stop()
            raise CompileFailed("Vela crashed") from None
        if isinstance(answer, str):
            raise CompileFailed(answer)
        return _blob(answer)

    def _start(self) -> Connection:
        if self._pipe is None:
            self._pipe, far = self._context.Pipe()
            self._process = self._context.Process(target=_child, args=(far,), daemon=True)
            self._process.start()
            far.close()
        return self._pipe

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _child(pipe: Connection) -> None:
    """Compile what comes until the other end closes."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    from ethosu.vela import vela

    while True:
        try:
            graph, arguments = pipe.recv()
        except EOFError:
            return
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "out.tosa"
            source.write_bytes(graph)
            try:
                vela.main([*arguments, f"--output-dir={folder}", str(source)])
                with np.load(Path(folder) / "out_vela.npz", allow_pickle=False) as data:
                    pipe.send({name: data[name] for name in data.files if not name.endswith("_quantization")})
            except (Exception, SystemExit) as error:  # whatever Vela raises is its refusal of this graph
                pipe.send(f"{type(error).__name__}: {error}".splitlines()[0][:200])
        sys.stdout.flush()


def _blob(data: dict[str, np.ndarray]) -> VelaBlob:  # type: ignore[type-arg]
    payload = data["cmd_data"].tobytes()
    return VelaBlob(
        cmd_data=payload,
        weights=data["weight_data"].tobytes(),
        scratch_size=int(data["scratch_shape"][0]),
        inputs=_tensors(data, "input"),
        outputs=_tensors(data, "output"),
        payload=read_payload(payload),
    )


def _tensors(data: dict[str, np.ndarray], kind: str) -> tuple[VelaTensor, ...]:  # type: ignore[type-arg]
    columns = (data[f"{kind}_{name}"] for name in ("shape", "elem_size", "offset", "region"))
    return tuple(
        VelaTensor(tuple(int(n) for n in shape), int(size), int(offset), int(region))
        for shape, size, offset, region in zip(*columns, strict=True)
    )
