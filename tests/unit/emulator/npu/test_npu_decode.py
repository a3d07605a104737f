"""Splitting streams into commands, and the tables of instructions."""

from __future__ import annotations

import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corstone.emulator.npu.assemble import Assembler
from corstone.emulator.npu.decode import decode
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.instructions import CMD1, PRODUCTS, instruction_set

# Words that look like two-word commands, data that does, and anything.
WORDS = st.lists(st.one_of(st.integers(0, 0xFFFF_FFFF), st.integers(0, 0xFFFF).map(lambda n: n << 16 | 0x4000)))


def walk(words: list[int]) -> list[int]:
    """Offsets of commands, one after the other."""
    offsets, at = [], 0
    while at < len(words):
        offsets.append(4 * at)
        at += 2 if words[at] >> 14 & 3 == 1 else 1
    return offsets


@given(WORDS)
@settings(max_examples=150, deadline=None)
def test_commands_are_found_where_a_walk_finds_them(words: list[int]) -> None:
    commands = decode(struct.pack(f"<{len(words)}I", *words), "U85")
    assert commands.offsets.tolist() == walk(words)


@pytest.mark.parametrize("product", PRODUCTS)
def test_tables_have_no_code_name_or_bit_twice(product: str) -> None:
    rows = instruction_set(product).rows
    assert len({row.code for row in rows}) == len({row.name for row in rows}) == len(rows)
    for row in rows:
        bits = [bit for field in row.fields for bit in range(field.low, field.low + field.width)]
        assert len(bits) == len(set(bits)), row.name
        assert all(bit < 16 for bit in bits), row.name
        assert 0 <= row.code & ~CMD1 < 0x400


@pytest.mark.parametrize("product", PRODUCTS)
def test_what_is_written_by_name_is_read_by_name(product: str) -> None:
    for row in instruction_set(product).rows:
        values = {field.name: min(field.names) if field.names else field.mask for field in row.fields}
        a = Assembler(product)
        if row.kind == "op":
            a.op(row.name, **values)
        elif row.kind == "param":
            a.set(row.name, **values)
        else:
            a.set(row.name, -5 if row.kind == "stride" else 0x1234_5678, **values)
        commands = decode(a.stream(), product)
        assert commands.row(0).name == row.name
        shown = commands.operands(0)
        for field in row.fields:
            number = values[field.name]
            assert shown[field.name] == (field.names[number] if field.names else number)
        if row.kind in ("address", "word"):
            assert shown["value"] == 0x1234_5678
        if row.kind == "stride":
            assert shown["value"] == -5
        assert commands.bad == 1


def test_a_command_that_the_product_lacks_is_named_with_its_offset() -> None:
    stream = Assembler("U85").set("IFM_REGION", 1).op("RESIZE", mode="BILINEAR").stream()
    commands = decode(stream, "U55")
    assert commands.bad == 1
    error = commands.fault(1)
    assert (error.kind, error.offset) == ("parse", 4)
    assert "0x007" in str(error)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (0x0000_0800, "reserved bits"),
        (0x0040_0105, "no meaning"),  # a bit of IFM_PRECISION between format and scale mode
        (0x0000_8002, "reserved bits"),
    ],
)
def test_bits_without_a_meaning_are_refused(word: int, reason: str) -> None:
    word |= 0x20 << 16 if reason == "no meaning" else 0
    commands = decode(struct.pack("<I", word), "U55")
    assert commands.bad == 0
    assert reason in str(commands.fault(0))


def test_a_two_word_command_at_the_very_end_is_truncated() -> None:
    stream = Assembler("U55").set("WEIGHT_BASE", 16).stream()[:4]
    commands = decode(stream, "U55")
    assert commands.bad == 0
    assert "ends inside" in str(commands.fault(0))


def test_a_stream_of_odd_bytes_is_refused() -> None:
    with pytest.raises(NpuError, match="not a multiple of 4"):
        decode(b"\0\0\0\0\0", "U55")


def test_an_empty_stream_has_no_commands() -> None:
    assert decode(b"", "U55").offsets.size == 0


def test_reading_a_stream_loads_no_datapath() -> None:
    """A report counts a program's commands on the warm path."""
    code = (
        "import sys, corstone.emulator.npu.decode, corstone.emulator.npu.config\n"
        "heavy = {'corstone.emulator.npu.' + name for name in ('interpreter', 'operations', 'ops_conv')}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "from corstone.emulator.npu import execute\n"
        "print(execute.__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["[]", "corstone.emulator.npu.interpreter"]
