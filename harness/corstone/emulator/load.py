"""What goes where before the CPU starts: ELF segments and data files, checked against the memory map.

Leaves out reading the files' formats (``image.py``) and the machine that takes the result (``qemu.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from corstone.causes import Cause
from corstone.emulator.image import Piece
from corstone.emulator.memory import SharedDdr
from corstone.emulator.platforms import Platform, Ram
from corstone.emulator.qemu import Blob
from corstone.errors import ConfigError

_VECTOR_BYTES = 4 * 16


@dataclass(frozen=True)
class Placed:
    """A piece with the memory it lies in."""

    piece: Piece
    ram: Ram
    offset: int


def place(platform: Platform, pieces: Iterable[Piece], ranges: Iterable[tuple[int, int]] = ()) -> list[Placed]:
    """Find each piece's memory. ``ranges`` are further addresses that an image needs to be memory.

    Raises
    ------
    ConfigError: no memory is there, or two pieces overlap.
    """
    placed: list[Placed] = []
    for piece in pieces:
        if not piece.data:
            continue
        found = platform.ram_of(piece.address, len(piece.data))
        if found is None:
            raise _no_memory(platform, piece.what, piece.address, piece.end)
        placed.append(Placed(piece, *found))
    for low, high in ranges:
        # armlink counts all zero-initialised data in one segment, so only the start of a range is certain.
        if platform.ram_of(low) is None:
            raise _no_memory(platform, "the ELF", low, high)
    placed.sort(key=lambda p: (p.ram.base, p.offset))
    for first, second in pairwise(placed):
        if first.ram is second.ram and first.offset + len(first.piece.data) > second.offset:
            raise ConfigError(
                f"{second.piece.what} at {second.piece.address:#010x} overlaps {first.piece.what} "
                f"at {first.piece.address:#010x}..{first.piece.end:#010x}",
                cause=Cause.CONFIGURATION,
                hint="move one of them; note that a secure and a non-secure address can name the same memory",
            )
    return placed


def load(placed: Sequence[Placed], ddr: SharedDdr) -> list[Blob]:
    """Write what lies in the DDR; the rest is left to QEMU's loader."""
    blobs = []
    for item in placed:
        if item.ram.shared:
            ddr.write(item.offset, item.piece.data)
        else:
            # By the secure address: on Corstone-320 the non-secure one may be other memory in QEMU.
            blobs.append(Blob(item.ram.base + item.offset, item.piece.data))
    return blobs


def vectors(platform: Platform, placed: Sequence[Placed], address: int) -> tuple[int, ...]:
    """The words of the initial vector table, without interrupts.

    Raises
    ------
    ConfigError: nothing was loaded there, so the CPU would start in empty memory.
    """
    found = platform.ram_of(address, 8)
    for item in placed:
        if found is None or item.ram is not found[0]:
            continue
        at = found[1] - item.offset
        if at >= 0 and at + 8 <= len(item.piece.data):
            table = bytes(item.piece.data[at : at + _VECTOR_BYTES])
            return tuple(int.from_bytes(table[i : i + 4], "little") for i in range(0, len(table) - 3, 4))
    where = ", ".join(f"{p.piece.address:#010x}" for p in placed) or "nowhere"
    raise ConfigError(
        f"no vector table at {address:#010x}, where the CPU of {platform.name} starts; loaded are {where}: "
        "the image is built for another board",
        cause=Cause.UNSUPPORTED,
        hint=f"boot it on its own board (--board), or name its table with -C {platform.vectors_parameter}=ADDRESS",
    )


def _no_memory(platform: Platform, what: str, low: int, high: int) -> ConfigError:
    known = ", ".join(f"{r.name} {r.base:#010x}+{r.size:#x}" for r in platform.rams)
    board = platform.board.region_of(low)
    why = f": the board's {board.name} is there, and this emulator has no {board.name}" if board else ""
    hint = "boot it on Arm's FVP" if board else "link it for this board"
    return ConfigError(
        f"there is no memory at {low:#010x}..{high:#010x} for {what}{why}",
        cause=Cause.UNSUPPORTED,
        hint=f"{hint}; {platform.name} here has {known}",
    )
