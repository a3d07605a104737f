"""Runner images: a host ELF and a text file are refused with what they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from corstone.errors import ConfigError
from corstone.formats.elf import Elf, Symbol, read_elf


def test_a_host_program_is_refused_by_its_machine() -> None:
    with pytest.raises(ConfigError, match="expected 32-bit little-endian EM_ARM"):
        read_elf(Path(sys.executable).resolve())


def test_a_text_file_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    text = tmp_path / "a.elf"
    text.write_text("not an ELF\n")
    with pytest.raises(ConfigError, match="cannot use"):
        read_elf(text)
    with pytest.raises(ConfigError, match="No such file"):
        read_elf(tmp_path / "none.elf")


def test_the_nearest_symbol_names_function_and_offset() -> None:
    elf = Elf(Path("x"), "", 0, (), (Symbol("first", 0x100, 0x20), Symbol("second", 0x200, 0x10)), {})
    assert elf.nearest(0x105) == "first+0x4"
    assert elf.nearest(0x201) == "second+0x0"
    assert elf.nearest(0x10) == "0x00000010"
    assert elf.nearest(0x9000_0000) == "0x90000000"
