"""The load and store decoder against assembled code and against capstone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.emulator.image import read_file
from corstone.emulator.thumb import Access, decode
from corstone.errors import DeviceFault
from corstone.firmware.build import zig_environment

# Distinct values, so that a wrong register shows.
REGISTERS = (*(0x40000000 + 0x01010010 * i for i in range(13)), 0x30001000, 0xFFFFFFFF, 0x10000100)
PC = 0x10000100

# (assembly, expected). rN stands for REGISTERS[N]; sp, pc as usual.
R = REGISTERS
FORMS: list[tuple[str, Access]] = [
    ("ldr r1, [r2]", Access("ldr", False, R[2], 4, (1,), 2)),
    ("ldr r1, [r2, #124]", Access("ldr", False, R[2] + 124, 4, (1,), 2)),
    ("str r7, [r0, #4]", Access("str", True, R[0] + 4, 4, (7,), 2)),
    ("ldrb r3, [r4, #31]", Access("ldrb", False, R[4] + 31, 1, (3,), 2)),
    ("strb r3, [r4, #1]", Access("strb", True, R[4] + 1, 1, (3,), 2)),
    ("ldrh r3, [r4, #62]", Access("ldrh", False, R[4] + 62, 2, (3,), 2)),
    ("strh r3, [r4, #2]", Access("strh", True, R[4] + 2, 2, (3,), 2)),
    ("ldr r1, [r2, r3]", Access("ldr", False, (R[2] + R[3]) & 0xFFFFFFFF, 4, (1,), 2)),
    ("str r1, [r2, r3]", Access("str", True, (R[2] + R[3]) & 0xFFFFFFFF, 4, (1,), 2)),
    ("ldrb r1, [r2, r3]", Access("ldrb", False, (R[2] + R[3]) & 0xFFFFFFFF, 1, (1,), 2)),
    ("strb r1, [r2, r3]", Access("strb", True, (R[2] + R[3]) & 0xFFFFFFFF, 1, (1,), 2)),
    ("ldrh r1, [r2, r3]", Access("ldrh", False, (R[2] + R[3]) & 0xFFFFFFFF, 2, (1,), 2)),
    ("strh r1, [r2, r3]", Access("strh", True, (R[2] + R[3]) & 0xFFFFFFFF, 2, (1,), 2)),
    ("ldrsb r1, [r2, r3]", Access("ldrsb", False, (R[2] + R[3]) & 0xFFFFFFFF, 1, (1,), 2, True)),
    ("ldrsh r1, [r2, r3]", Access("ldrsh", False, (R[2] + R[3]) & 0xFFFFFFFF, 2, (1,), 2, True)),
    ("ldr r5, [sp, #8]", Access("ldr", False, R[13] + 8, 4, (5,), 2)),
    ("str r5, [sp, #1020]", Access("str", True, R[13] + 1020, 4, (5,), 2)),
    ("ldr r2, [pc, #16]", Access("ldr", False, PC + 4 + 16, 4, (2,), 2)),
    ("push {r1, r3, lr}", Access("push", True, R[13] - 12, 4, (1, 3, 14), 2, base=13, base_value=R[13] - 12)),
    ("pop {r1, r3}", Access("pop", False, R[13], 4, (1, 3), 2, base=13, base_value=R[13] + 8)),
    ("ldm r4!, {r0, r1}", Access("ldm", False, R[4], 4, (0, 1), 2, base=4, base_value=R[4] + 8)),
    ("ldm r4, {r0, r4}", Access("ldm", False, R[4], 4, (0, 4), 2)),
    ("stm r4!, {r0, r1}", Access("stm", True, R[4], 4, (0, 1), 2, base=4, base_value=R[4] + 8)),
    ("ldr.w r9, [r10, #4095]", Access("ldr", False, R[10] + 4095, 4, (9,), 4)),
    ("ldr r9, [r10, #-255]", Access("ldr", False, R[10] - 255, 4, (9,), 4)),
    ("ldr r1, [r2], #4", Access("ldr", False, R[2], 4, (1,), 4, base=2, base_value=R[2] + 4)),
    ("ldr r1, [r2], #-4", Access("ldr", False, R[2], 4, (1,), 4, base=2, base_value=R[2] - 4)),
    ("ldr r1, [r2, #4]!", Access("ldr", False, R[2] + 4, 4, (1,), 4, base=2, base_value=R[2] + 4)),
    ("strb r1, [r2, #-3]!", Access("strb", True, R[2] - 3, 1, (1,), 4, base=2, base_value=R[2] - 3)),
    ("strh r1, [r2], #6", Access("strh", True, R[2], 2, (1,), 4, base=2, base_value=R[2] + 6)),
    ("ldrsb.w r1, [r2, #100]", Access("ldrsb", False, R[2] + 100, 1, (1,), 4, True)),
    ("ldrsh r1, [r2, #-2]", Access("ldrsh", False, R[2] - 2, 2, (1,), 4, True)),
    ("ldr.w r1, [r2, r3, lsl #3]", Access("ldr", False, (R[2] + (R[3] << 3)) & 0xFFFFFFFF, 4, (1,), 4)),
    ("str.w r8, [r2, r3, lsl #1]", Access("str", True, (R[2] + (R[3] << 1)) & 0xFFFFFFFF, 4, (8,), 4)),
    ("ldrb.w r8, [pc, #-5]", Access("ldrb", False, PC + 4 - 5, 1, (8,), 4)),
    ("ldrt r1, [r2, #8]", Access("ldrt", False, R[2] + 8, 4, (1,), 4)),
    ("strbt r1, [r2, #8]", Access("strbt", True, R[2] + 8, 1, (1,), 4)),
    ("ldrd r1, r2, [r3, #-16]", Access("ldrd", False, R[3] - 16, 4, (1, 2), 4)),
    ("ldrd r1, r2, [r3], #16", Access("ldrd", False, R[3], 4, (1, 2), 4, base=3, base_value=R[3] + 16)),
    ("strd r1, r2, [r3, #16]!", Access("strd", True, R[3] + 16, 4, (1, 2), 4, base=3, base_value=R[3] + 16)),
    ("ldrd r4, r5, [pc, #8]", Access("ldrd", False, PC + 4 + 8, 4, (4, 5), 4)),
    ("ldm.w r9, {r1, r10}", Access("ldm", False, R[9], 4, (1, 10), 4)),
    ("stm.w r9!, {r1, lr}", Access("stm", True, R[9], 4, (1, 14), 4, base=9, base_value=R[9] + 8)),
    ("ldmdb r9!, {r1, r2}", Access("ldmdb", False, R[9] - 8, 4, (1, 2), 4, base=9, base_value=R[9] - 8)),
    ("stmdb r9, {r1, r2}", Access("stmdb", True, R[9] - 8, 4, (1, 2), 4)),
    ("push.w {r8, r9}", Access("stmdb", True, R[13] - 8, 4, (8, 9), 4, base=13, base_value=R[13] - 8)),
    ("ldrex r1, [r2, #4]", Access("ldrex", False, R[2] + 4, 4, (1,), 4)),
    ("strex r0, r1, [r2, #4]", Access("strex", True, R[2] + 4, 4, (1,), 4, status=0)),
    ("ldrexb r1, [r2]", Access("ldrexb", False, R[2], 1, (1,), 4)),
    ("ldrexh r1, [r2]", Access("ldrexh", False, R[2], 2, (1,), 4)),
    ("strexb r0, r1, [r2]", Access("strexb", True, R[2], 1, (1,), 4, status=0)),
    ("strexh r0, r1, [r2]", Access("strexh", True, R[2], 2, (1,), 4, status=0)),
    ("lda r1, [r2]", Access("lda", False, R[2], 4, (1,), 4)),
    ("ldab r1, [r2]", Access("ldab", False, R[2], 1, (1,), 4)),
    ("ldah r1, [r2]", Access("ldah", False, R[2], 2, (1,), 4)),
    ("stl r1, [r2]", Access("stl", True, R[2], 4, (1,), 4)),
    ("stlb r1, [r2]", Access("stlb", True, R[2], 1, (1,), 4)),
    ("stlh r1, [r2]", Access("stlh", True, R[2], 2, (1,), 4)),
    ("ldaex r1, [r2]", Access("ldaex", False, R[2], 4, (1,), 4)),
    ("stlex r0, r1, [r2]", Access("stlex", True, R[2], 4, (1,), 4, status=0)),
    ("stlexb r0, r1, [r2]", Access("stlexb", True, R[2], 1, (1,), 4, status=0)),
]
# (assembly, what its refusal must say)
REFUSED = [
    ("ldr pc, [r1]", "ldr"),
    ("pop {r1, pc}", "pop"),
    ("vldr s0, [r1]", "vldr"),
    ("vstr d1, [r1]", "vstr"),
    ("vldrw.u32 q0, [r1]", "MVE"),
    ("vstrb.8 q0, [r1]", "MVE"),
    ("pld [r1]", "pld"),
    ("tbb [r1, r2]", "tbb"),
    ("tt r1, r2", "tt"),
    ("add r1, r2", "add"),
    ("bl .", "bl"),
]


def assemble(lines: list[str], folder: Path) -> list[bytes]:
    """Bytes of each instruction, by one call of the assembler."""
    source, script, image = folder / "forms.s", folder / "forms.ld", folder / "forms.elf"
    text = [".syntax unified", ".thumb", ".global _start", "_start:"]
    for line in lines:
        text += [".balign 8, 0", line]
    source.write_text("\n".join([*text, ".balign 8, 0", ""]))
    script.write_text("SECTIONS { . = 0x10000000; .text : { *(.text) } /DISCARD/ : { *(.ARM.attributes) } }")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "thumb-freestanding-eabihf"]
    command += ["-mcpu=cortex_m55+fp_armv8d16sp+mve_fp", "-nostdlib", f"-Wl,-T,{script}", "-o", str(image), str(source)]
    environment = zig_environment(folder)
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    from corstone.emulator.image import read_image

    (piece,) = read_image(image).pieces
    assert len(piece.data) >= 8 * len(lines), (len(piece.data), read_file(image, "elf")[:4])
    return [bytes(piece.data[8 * i : 8 * i + 4]) for i in range(len(lines))]


def test_every_addressing_form(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="ziglang assembles the instructions")
    lines = [line for line, _ in FORMS] + [line for line, _ in REFUSED]
    codes = assemble(lines, tmp_path)
    for (line, expected), code in zip(FORMS, codes, strict=False):
        assert decode(code, PC, REGISTERS) == expected, line
    for (line, word), code in zip(REFUSED, codes[len(FORMS) :], strict=True):
        with pytest.raises(DeviceFault, match=rf"(?i)0x10000100.*{word}") as caught:
            decode(code, PC, REGISTERS)
        assert caught.value.cause.value == "unsupported", line


_LOADS_AND_STORES = {
    "ldr", "ldrb", "ldrh", "ldrsb", "ldrsh", "ldrt", "ldrbt", "ldrht", "ldrsbt", "ldrsht", "str", "strb", "strh",
    "strt", "strbt", "strht", "ldrd", "strd", "ldm", "ldmdb", "stm", "stmdb", "push", "pop", "ldrex", "ldrexb",
    "ldrexh", "strex", "strexb", "strexh", "lda", "ldab", "ldah", "stl", "stlb", "stlh", "ldaex", "ldaexb", "ldaexh",
    "stlex", "stlexb", "stlexh",
}  # fmt: skip
# Half-words that start a load or store, so that random words are mostly interesting.
_NARROW = st.sampled_from(
    [
        0x48,
        0x50,
        0x52,
        0x54,
        0x56,
        0x58,
        0x5A,
        0x5C,
        0x5E,
        0x60,
        0x68,
        0x70,
        0x78,
        0x80,
        0x88,
        0x90,
        0x98,
        0xB4,
        0xBC,
        0xC0,
        0xC8,
    ]
)
_WIDE = st.sampled_from([0xE8, 0xE9, 0xF8, 0xF9])


@given(st.one_of(_NARROW, _WIDE, st.integers(0, 255)), st.integers(0, 255), st.integers(0, 0xFFFF))
def test_agrees_with_capstone(high: int, low: int, second: int) -> None:
    """Where we decode, capstone calls it the same; where we refuse, it is no plain load or store."""
    import capstone

    code = bytes((low, high)) + second.to_bytes(2, "little")
    disassembler = capstone.Cs(
        capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
    )
    found = next(iter(disassembler.disasm(code, PC, 1)), None)
    try:
        access = decode(code, PC, REGISTERS)
    except DeviceFault:
        if found is not None and found.size == (4 if high >= 0xE8 else 2):
            name = found.mnemonic.removesuffix(".w")
            # Refused although a load or store: those that load pc.
            assert name not in _LOADS_AND_STORES or "pc" in found.op_str, f"{found.mnemonic} {found.op_str}"
        return
    assert access.length == (4 if high >= 0xE8 else 2)
    assert all(0 <= r < 16 for r in access.registers)
    assert 0 <= access.address <= 0xFFFFFFFF
    if found is not None:
        assert found.size == access.length
        names = (access.name, _aliases(access))
        assert found.mnemonic.removesuffix(".w") in names, f"{found.mnemonic} {found.op_str}"


def _aliases(access: Access) -> str:
    """Other names of the same instruction: wide push and pop are stmdb and ldm of sp."""
    if access.base == 13 and access.name == "stmdb":
        return "push"
    if access.base == 13 and access.name == "ldm":
        return "pop"
    if access.base == 13 and access.name == "str":
        return "push"
    return "pop" if access.base == 13 and access.name == "ldr" else access.name
