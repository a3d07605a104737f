"""What a boot must know of a program file, of either kind: a ``.pte``, or a ``.tflite`` that Vela compiled."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from corstone.errors import ConfigError
from corstone.formats.pte import read_pte
from corstone.formats.tflite import is_tflite, read_tflite
from corstone.formats.vela import program_target
from corstone.program import TensorSpec
from corstone.targets import Target

_SMALL = 1 << 16


@dataclass(frozen=True)
class ProgramFile:
    """The NPU it is for, and its tensors in order."""

    target: Target
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def read_program_file(source: Path | bytes) -> ProgramFile:
    """Read a file by its identifier.

    Raises
    ------
    ConfigError: damaged, or nothing in it is for an Ethos-U.
    """
    if isinstance(source, Path):
        try:
            if source.stat().st_size <= _SMALL:
                source = source.read_bytes()
        except OSError:
            pass  # the reader of the file says it better
    if isinstance(source, bytes) and len(source) <= _SMALL:
        return _of_content(source)
    return _read(source)


@lru_cache(maxsize=128)
def _of_content(data: bytes) -> ProgramFile:
    """Small programs are looked at several times on their way to a boot, and large ones are not worth keeping."""
    return _read(data)


def _read(source: Path | bytes) -> ProgramFile:
    data = source if isinstance(source, bytes) else _head(source)
    if is_tflite(data):
        model = read_tflite(data if isinstance(source, bytes) else source.read_bytes())
        return ProgramFile(model.target, model.inputs, model.outputs)
    file = read_pte(source)
    return ProgramFile(program_target(file), file.input_specs, file.output_specs)


def compiled_for(program: bytes, otherwise: str) -> str:
    """The name of its target; ``otherwise`` where that cannot be read, so that preflight's checks can say why."""
    try:
        return read_program_file(program).target.name
    except ConfigError:
        return otherwise


def _head(path: Path) -> bytes:
    """The first bytes; none where it cannot be read, which the reader of programs says better."""
    try:
        with path.open("rb") as stream:
            return stream.read(8)
    except OSError:
        return b""
