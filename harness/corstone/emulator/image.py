"""Program headers and vectors of the ELF to boot, read with nothing but ``struct``: this is on the path of every boot.

Segments are loaded by physical address, ``p_filesz`` bytes; zero-filling is the start-up code's business, since armlink
counts all its ZI data in one ``p_memsz``. Leaves out symbols (``corstone.formats.elf``, read only when a fault is
decoded) and the check of instructions (``features.py``).
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_PROGRAM = struct.Struct("<8I")
_EM_ARM, _PT_LOAD, _ET_EXEC, _ET_DYN = 40, 1, 2, 3


@dataclass(frozen=True)
class Piece:
    """Bytes for an address; ``what`` names where they come from."""

    address: int
    data: memoryview
    what: str
    executable: bool = False

    @property
    def end(self) -> int:
        """First address after it."""
        return self.address + len(self.data)


@dataclass(frozen=True)
class Image:
    """An ELF: its entry, what to load, the whole file, and the address ranges its code and data were linked for."""

    path: Path
    entry: int
    pieces: tuple[Piece, ...]
    data: bytes
    ranges: tuple[tuple[int, int], ...]


def read_image(path: Path) -> Image:
    """Read an ELF's program headers.

    Raises
    ------
    ConfigError: missing, not an ELF, not for 32-bit little-endian Arm, damaged, or with nothing to load.
    """
    data = read_file(path, "application")
    if data[:4] != b"\x7fELF" or len(data) < _HEADER.size:
        raise _bad(path, "it is not an ELF file")
    fields = _HEADER.unpack_from(data)
    ident, kind, machine, entry, offset, size, count = (
        fields[0], fields[1], fields[2], fields[4], fields[5], fields[9], fields[10],
    )  # fmt: skip
    if ident[4] != 1 or ident[5] != 1 or machine != _EM_ARM:
        raise _bad(path, f"it is not an Arm ELF of 32 bits, little-endian (machine {machine})")
    if kind not in (_ET_EXEC, _ET_DYN) or size < _PROGRAM.size:
        raise _bad(path, f"it is not an executable (type {kind})")
    pieces = []
    ranges = []
    view = memoryview(data)
    for i in range(count):
        where = offset + i * size
        if where + _PROGRAM.size > len(data):
            raise _bad(path, "its program headers reach past the end of the file")
        segment, at, virtual, physical, file_size, memory_size, flags, _ = _PROGRAM.unpack_from(data, where)
        if segment != _PT_LOAD:
            continue
        if at + file_size > len(data):
            raise _bad(path, f"segment {i} reaches past the end of the file")
        if file_size:
            name = f"segment {i} of {path.name}"
            pieces.append(Piece(physical, view[at : at + file_size], name, bool(flags & 1)))
            ranges.append((virtual, virtual + file_size))
        if memory_size > file_size:
            ranges.append((virtual, virtual + memory_size))
    if not pieces:
        raise _bad(path, "it has no segment to load")
    return Image(path, entry, tuple(pieces), data, tuple(ranges))


def read_file(path: Path, what: str) -> bytes:
    """A whole file.

    Raises
    ------
    ConfigError: it cannot be read; the message says "cannot open".
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size = os.fstat(fd).st_size
            data = os.read(fd, size + 1)
            while len(data) < size and (more := os.read(fd, size - len(data) + 1)):
                data += more
        finally:
            os.close(fd)
    except OSError as error:
        raise ConfigError(
            f"cannot open {what} file {str(path)!r}: {error.strerror}", cause=Cause.CONFIGURATION, hint="check the path"
        ) from error
    return data


def _bad(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"cannot load {str(path)!r}: {what}", cause=Cause.BAD_INPUT, hint="pass an ELF or AXF built for Cortex-M55"
    )
