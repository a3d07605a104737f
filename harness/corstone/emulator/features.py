"""Refuse an image that needs what QEMU's Cortex-M55 lacks, by name, before it boots.

QEMU has no Cortex-M85: PAC and BTI instructions outside the NOP space run as other instructions, silently wrong
(PACG as SMMLS) or as a jump into the void (AUTG, BXAUT as SMMLA to PC). Build attributes tell whether they may occur;
whether they do is looked up in the code, as permission is not use. Sources: ABI addenda for the Arm Architecture
(attributes 6, 7, 50, 52); Armv8-M reference manual DDI 0553 (encodings).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from corstone.causes import Cause
from corstone.emulator.image import Image, Piece
from corstone.errors import ConfigError

_SECTION = struct.Struct("<10I")
_SHT_ARM_ATTRIBUTES = 0x70000003
_CPU_NAME, _PROFILE, _PAC, _BTI = 5, 7, 50, 52
_STRINGS = {4, 5, 32, 65, 67}
_OUTSIDE_NOP_SPACE = 2
# AUTG and BXAUT: FB5n xF0m, xF1m; PACG: FB6n Fd0m; half-words little-endian.
_PATTERN = (
    rb"[\x50-\x5f]\xfb[\x00-\x1f][\x0f\x1f\x2f\x3f\x4f\x5f\x6f\x7f\x8f\x9f\xaf\xbf\xcf\xdf\xef\xff]"
    rb"|[\x60-\x6f]\xfb[\x00-\x0f][\xf0-\xfe]"
)
_NAMES = {0x50: "AUTG", 0x60: "PACG"}


def check_features(image: Image) -> None:
    """Look at an image; see the module.

    Raises
    ------
    ConfigError: it needs a CPU feature that is not there.
    """
    attributes = read_attributes(image.data)
    profile = attributes.get(_PROFILE, 0)
    if isinstance(profile, int) and profile and chr(profile) in "AR":
        raise ConfigError(
            f"{str(image.path)!r} is built for an Arm {chr(profile)}-profile CPU, this board has a Cortex-M",
            cause=Cause.UNSUPPORTED,
            hint="build it for Cortex-M55",
        )
    if _OUTSIDE_NOP_SPACE not in (attributes.get(_PAC), attributes.get(_BTI)):
        return
    for piece in image.pieces:
        if piece.executable:
            for address, name in pac_instructions(piece, image.path):
                raise ConfigError(
                    f"{str(image.path)!r} needs a CPU with pointer authentication: {name} at {address:#010x} "
                    f"(built for {attributes.get(_CPU_NAME, 'an unnamed CPU')}); QEMU's Cortex-M55 would run it as "
                    "another instruction",
                    cause=Cause.UNSUPPORTED,
                    hint="build with -mbranch-protection=none or for cortex-m55, or boot it on Arm's FVP",
                )


def read_attributes(data: bytes) -> dict[int, int | str]:
    """File-scope build attributes of an ELF; empty when it has none or they cannot be read."""
    try:
        offset, size, count = struct.unpack_from("<I", data, 32)[0], *struct.unpack_from("<HH", data, 46)
        for i in range(count):
            fields = _SECTION.unpack_from(data, offset + i * size)
            if fields[1] == _SHT_ARM_ATTRIBUTES:
                return _attributes(data[fields[4] : fields[4] + fields[5]])
    except (struct.error, IndexError):
        pass
    return {}


def _attributes(section: bytes) -> dict[int, int | str]:
    found: dict[int, int | str] = {}
    if section[:1] != b"A" or section[5 : section.index(b"\0", 5)] != b"aeabi":
        return found
    at = section.index(b"\0", 5) + 1
    end = at + int.from_bytes(section[at + 1 : at + 5], "little")
    if section[at] != 1:  # Tag_File
        return found
    at += 5
    while at < end:
        tag, at = _uleb(section, at)
        if tag in _STRINGS:
            stop = section.index(b"\0", at)
            found[tag] = section[at:stop].decode(errors="replace")
            at = stop + 1
        else:
            found[tag], at = _uleb(section, at)
    return found


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at


def pac_instructions(piece: Piece, path: Path) -> Iterator[tuple[int, str]]:
    """PACG, AUTG and BXAUT in a piece of code, where a walk from the function's start really meets them."""
    import re

    starts: list[int] | None = None
    for hit in re.finditer(_PATTERN, piece.data, re.DOTALL):
        at = hit.start()
        if at & 1:
            continue
        if starts is None:
            starts = _functions(path)
        if _reached(piece, starts, at):
            name = _NAMES.get(piece.data[at] & 0xF0, "")
            yield piece.address + at, "BXAUT" if name == "AUTG" and piece.data[at + 2] & 0x10 else name


def _functions(path: Path) -> list[int]:
    from corstone.formats.elf import read_elf

    return [symbol.address for symbol in read_elf(path).symbols]


def _reached(piece: Piece, starts: list[int], at: int) -> bool:
    """Whether decoding lengths from the nearest symbol before it lands on the instruction."""
    import bisect

    index = bisect.bisect_right(starts, piece.address + at) - 1
    where = starts[index] - piece.address if index >= 0 and starts[index] >= piece.address else 0
    while where < at:
        where += 4 if piece.data[where + 1] >= 0xE8 else 2
    return where == at
