"""A runner image: segments, symbols and build attributes of a 32-bit Arm ELF.

Wraps ``pyelftools``. Source of the attribute meanings: Addenda to the ABI for the Arm Architecture (tags 5, 6, 48, 50,
52, 74, 76). Leaves out loading: the emulator and the FVP do that.
"""

from __future__ import annotations

import bisect
import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError

_TAGS = {"TAG_CPU_NAME", "TAG_CPU_ARCH", "TAG_MVE_ARCH", "TAG_PAC_EXTENSION", "TAG_BTI_EXTENSION", "TAG_BTI_USE"}


_ENTRY = struct.Struct("<IIIBBH")  # Elf32_Sym
_OBJECT, _FUNCTION = 1, 2  # STT_OBJECT, STT_FUNC


@dataclass(frozen=True)
class Segment:
    """A PT_LOAD segment: loaded at ``physical`` (``file_size`` bytes), run at ``virtual``."""

    physical: int
    virtual: int
    file_size: int
    memory_size: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """A function or object (``kind``) with its address (Thumb bit cleared) and size in bytes."""

    name: str
    address: int
    size: int
    kind: str = "function"


@dataclass(frozen=True)
class Elf:
    """What the harness asks of an image. ``symbols`` are sorted by address."""

    path: Path
    sha256: str
    entry: int
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...]
    attributes: dict[str, str]

    def symbol(self, name: str) -> Symbol | None:
        """The symbol of that name."""
        return next((s for s in self.symbols if s.name == name), None)

    def nearest(self, address: int) -> str:
        """``function+0x12`` for an address inside or after a symbol, the bare address when there is none below."""
        address &= ~1
        at = bisect.bisect_right([s.address for s in self.symbols], address) - 1
        if at < 0:
            return f"{address:#010x}"
        symbol = self.symbols[at]
        if address >= symbol.address + max(symbol.size, 4096):
            return f"{address:#010x}"
        return f"{symbol.name}+{address - symbol.address:#x}"


def read_elf(path: Path) -> Elf:
    """Read an image.

    Raises
    ------
    ConfigError: missing, not an ELF, not 32-bit little-endian Arm, or damaged (cause ``bad-input``).
    """
    from elftools.common.exceptions import ELFError
    from elftools.construct import ConstructError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        data = path.read_bytes()
    except OSError as error:
        raise _bad(path, error.strerror or "unreadable") from error
    try:
        with path.open("rb") as stream:
            elf = ELFFile(stream)
            if elf.elfclass != 32 or not elf.little_endian or elf["e_machine"] != "EM_ARM":
                raise _bad(
                    path, f"it is {elf['e_machine']} with {elf.elfclass} bits, expected 32-bit little-endian EM_ARM"
                )
            segments = tuple(
                Segment(s["p_paddr"], s["p_vaddr"], s["p_filesz"], s["p_memsz"], s.data())
                for s in elf.iter_segments()
                if s["p_type"] == "PT_LOAD"
            )
            symbols = [
                symbol
                for table in elf.iter_sections()
                if isinstance(table, SymbolTableSection)
                for symbol in _symbols(table.data(), table.stringtable.data())
            ]
            return Elf(
                path=path,
                sha256=hashlib.sha256(data).hexdigest(),
                entry=elf["e_entry"],
                segments=segments,
                symbols=tuple(sorted(symbols, key=lambda s: s.address)),
                attributes=_attributes(elf),
            )
    except (ELFError, ConstructError, ValueError, KeyError, IndexError, AttributeError, UnicodeDecodeError) as error:
        raise _bad(path, str(error) or type(error).__name__) from error


def _symbols(entries: bytes, names: bytes) -> Iterator[Symbol]:
    """Functions and objects of a symbol table. By hand: Arm's image has 60,000, which take pyelftools seconds."""
    whole = len(entries) // _ENTRY.size * _ENTRY.size
    for at, value, size, info, _, _ in _ENTRY.iter_unpack(entries[:whole]):
        kind = info & 0xF
        if kind not in (_OBJECT, _FUNCTION) or not 0 < at < len(names):
            continue
        name = names[at : names.find(b"\0", at)].decode("utf-8", "replace")
        if name:
            yield Symbol(name, value, size, "object") if kind == _OBJECT else Symbol(name, value & ~1, size)


def _attributes(elf: object) -> dict[str, str]:
    section = elf.get_section_by_name(".ARM.attributes")  # type: ignore[attr-defined]
    if section is None:
        return {}
    return {
        attribute.tag.removeprefix("TAG_").lower(): str(attribute.value)
        for part in section.iter_subsections()
        for sub in part.iter_subsubsections()
        for attribute in sub.iter_attributes()
        if attribute.tag in _TAGS
    }


def _bad(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"cannot use {path} as a runner image: {what}",
        cause=Cause.BAD_INPUT,
        hint="pass an ELF or AXF file built for Cortex-M55 or Cortex-M85",
    )
