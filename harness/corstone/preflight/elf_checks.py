"""Checks of a runner ELF that a user brings: memory, vectors, alignment of what the NPU reads, the CPU it is for.

Real images have odd segments: armlink's carry zero-initialised sizes of several memories in one, so only bytes in the
file count; GCC's are loaded at one address and run at another.
"""

from __future__ import annotations

import re
import struct

from corstone.causes import Cause
from corstone.formats.elf import Elf
from corstone.preflight.finding import ERROR, WARNING, Finding, Subject

_NPU_DATA = re.compile(r"(?i)(?:^|_)(?:model|network|pte|tflite|weights?|arena|scratch)(?:_|$|data|pool|buf)")
_MIN_SIZE = 64
_ALIGNMENT = 16


def memory(subject: Subject) -> list[Finding]:
    """Every segment's bytes go into memory that the board has, and that the simulator has."""
    if subject.elf is None:
        return []
    findings = []
    for segment in subject.elf.segments:
        if not segment.file_size:
            continue
        span = f"0x{segment.physical:08x} to 0x{segment.physical + segment.file_size - 1:08x}"
        if subject.board.region_of(segment.physical, segment.file_size) is None:
            findings.append(
                Finding(
                    "memory",
                    ERROR,
                    Cause.CONFIGURATION,
                    f"the ELF loads {segment.file_size} bytes at {span}",
                    f"{subject.board.name} has no memory there",
                    "the ELF is for another board, or linked for larger memories: see --board",
                )
            )
        elif subject.provider == "emulator" and not _emulated(subject, segment.physical, segment.file_size):
            findings.append(
                Finding(
                    "memory",
                    ERROR,
                    Cause.UNSUPPORTED,
                    f"the ELF loads {segment.file_size} bytes at {span}",
                    "QEMU has no memory there",
                    "boot it on the FVP (--provider fvp)",
                )
            )
    return findings


def _emulated(subject: Subject, address: int, size: int) -> bool:
    from corstone.emulator.platforms import PLATFORMS

    platform = PLATFORMS.get(subject.board.name)
    return platform is None or platform.ram_of(address, size) is not None


def vectors(subject: Subject) -> list[Finding]:
    """The vector table is where the board starts: a stack pointer in memory and a Thumb reset handler."""
    elf = subject.elf
    if elf is None:
        return []
    words = _words_at(elf, subject)
    start = subject.board.vectors
    offered = f"{subject.board.name} starts at 0x{start:08x}"
    change = "the ELF is for another board: see --board"
    if words is None:
        lowest = min((s.physical for s in elf.segments if s.file_size), default=0)
        what = f"the ELF has nothing there; its lowest segment is at 0x{lowest:08x}"
        return [Finding("vectors", ERROR, Cause.CONFIGURATION, what, offered, change)]
    stack, reset = words
    # The stack pointer may be just past the end of its memory.
    if subject.board.region_of(stack - 4, 4) is None or not reset & 1 or subject.board.region_of(reset - 1) is None:
        what = f"the first words there are 0x{stack:08x} and 0x{reset:08x}: no stack pointer and Thumb address"
        return [Finding("vectors", ERROR, Cause.CONFIGURATION, what, offered, change)]
    return []


def _words_at(elf: Elf, subject: Subject) -> tuple[int, int] | None:
    region = subject.board.region_of(subject.board.vectors)
    assert region is not None
    for base in (region.base, region.alias):
        if base is None:
            continue
        address = subject.board.vectors - region.base + base
        for segment in elf.segments:
            offset = address - segment.physical
            if offset >= 0 and offset + 8 <= len(segment.data):
                first, second = struct.unpack_from("<2I", segment.data, offset)
                return first, second
    return None


def npu_data(subject: Subject) -> list[Finding]:
    """Objects that hold a model, weights or an arena are aligned, and where the NPU reaches them."""
    if subject.elf is None:
        return []
    findings = []
    for symbol in subject.elf.symbols:
        if symbol.kind != "object" or symbol.size < _MIN_SIZE or not _NPU_DATA.search(symbol.name):
            continue
        where = f"{symbol.name} ({symbol.size} bytes) is at 0x{symbol.address:08x}"
        if symbol.address % _ALIGNMENT:
            change = f"align it: __attribute__((aligned({_ALIGNMENT}))), and its section"
            offered = f"the NPU reads at multiples of {_ALIGNMENT} bytes"
            findings.append(Finding("npu-data", ERROR, Cause.ALIGNMENT, where, offered, change))
            continue
        region = subject.board.region_of(symbol.address)
        if region is not None and not region.npu:
            offered = f"the NPU of {subject.board.name} does not reach {region.name}"
            change = "place it in ISRAM, BRAM or DDR"
            findings.append(Finding("npu-data", WARNING, Cause.CONFIGURATION, where, offered, change))
    return findings


def cpu(subject: Subject) -> list[Finding]:
    """The ELF was built for the board's CPU."""
    built = subject.elf.attributes.get("cpu_name", "").lower() if subject.elf else ""
    if not built.startswith("cortex-m") or built == subject.board.cpu:
        return []
    return [
        Finding(
            "cpu",
            WARNING,
            Cause.CONFIGURATION,
            f"the ELF was built for {built}",
            f"{subject.board.name} has a {subject.board.cpu}",
            "see --board; instructions that only one of them has fault",
        )
    ]
