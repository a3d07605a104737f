"""Small 32-bit Arm ELF files, made of segments and symbols."""

from __future__ import annotations

import struct
from pathlib import Path

_FUNCTION, _OBJECT = 2, 1


def vectors(stack: int = 0x30001000, reset: int = 0x10000101) -> bytes:
    """The first two words of a vector table, and room for the rest."""
    return struct.pack("<2I", stack, reset) + bytes(120)


def write_elf(
    path: Path,
    segments: list[tuple[int, bytes]],
    objects: dict[str, tuple[int, int]] | None = None,
    functions: dict[str, tuple[int, int]] | None = None,
) -> Path:
    """Write an ELF. ``segments`` are (address, bytes); symbols map names to (address, size)."""
    names, symbols = b"\0", struct.pack("<IIIBBH", 0, 0, 0, 0, 0, 0)
    for kind, table in ((_OBJECT, objects or {}), (_FUNCTION, functions or {})):
        for name, (address, size) in table.items():
            symbols += struct.pack("<IIIBBH", len(names), address, size, 1 << 4 | kind, 0, 0xFFF1)
            names += name.encode() + b"\0"
    section_names = b"\0.symtab\0.strtab\0.shstrtab\0"
    offset = 52 + 32 * len(segments)
    headers, body = b"", b""
    for address, data in segments:
        headers += struct.pack("<8I", 1, offset + len(body), address, address, len(data), len(data), 7, 4)
        body += data
    at = offset + len(body)
    tables = ((1, 2, symbols, 2, 16), (9, 3, names, 0, 0), (17, 3, section_names, 0, 0))
    sections, tail = bytes(40), b""
    for label, kind, data, link, size in tables:
        sections += struct.pack("<10I", label, kind, 0, 0, at + len(tail), len(data), link, 1, 4, size)
        tail += data
    ident = b"\x7fELF\x01\x01\x01" + bytes(9)
    header = ident + struct.pack(
        "<HHIIIIIHHHHHH", 2, 40, 1, 0x10000101, 52, at + len(tail), 0x05000400, 52, 32, len(segments), 40, 4, 3
    )
    path.write_bytes(header + headers + body + tail + sections)
    return path
