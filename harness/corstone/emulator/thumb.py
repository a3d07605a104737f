"""Decode the one Thumb load or store that touched a device: address, width, registers, write-back.

A row per encoding, most specific first (Armv8-M Architecture Reference Manual DDI 0553, chapter C2.3). Checked against
assembled code for every form and against capstone on random words. Leaves out floating-point and MVE transfers and the
loads of PC: they are refused by name, as no driver reads a register that way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import DeviceFault

_MASK = 0xFFFFFFFF
_PC = 15
_SP = 13


@dataclass(frozen=True)
class Access:
    """What an instruction asks of memory.

    ``registers`` are loaded from, or stored to, consecutive addresses of ``size`` bytes each from ``address``.
    ``base`` is the register to write back, with ``base_value``; -1 for none. ``status`` is the register that an
    exclusive store sets to 0; -1 for none. ``length`` is the instruction's, in bytes.
    """

    name: str
    write: bool
    address: int
    size: int
    registers: tuple[int, ...]
    length: int
    signed: bool = False
    base: int = -1
    base_value: int = 0
    status: int = -1

    @property
    def exclusive(self) -> bool:
        """Whether it is one of an exclusive load and store pair."""
        return "ex" in self.name


Decoder = Callable[[int, int, int, Sequence[int]], "Access | None"]


def decode(code: bytes, pc: int, registers: Sequence[int]) -> Access:
    """The access of the instruction at ``pc``; ``code`` holds at least its bytes, ``registers`` r0 to r15.

    Raises
    ------
    DeviceFault: cause ``unsupported``, when it is none, or a form that is refused; the message names it.
    """
    first = int.from_bytes(code[:2], "little")
    second = int.from_bytes(code[2:4], "little")
    rows = _WIDE if first >= 0xE800 else _NARROW
    for mask, value, decoder in rows:
        if first & mask == value:
            access = decoder(first, second, pc, registers)
            if access is None or (not access.write and _PC in access.registers):
                break
            return access
    raise DeviceFault(
        f"the instruction at {pc:#010x} that touched a device is {disassemble(code, pc)}, which is not modelled",
        cause=Cause.UNSUPPORTED,
        hint="access device registers with plain loads and stores of 8, 16 or 32 bits",
        evidence={"pc": f"{pc:#010x}", "code": code[:4].hex()},
    )


def disassemble(code: bytes, pc: int) -> str:
    """The instruction in words, for messages."""
    import capstone

    # capstone 5 knows no MVE: its loads and stores lie in the space of coprocessors 14 and 15.
    first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:4], "little")
    if first & 0xEE00 == 0xEC00 and second >> 8 & 15 >= 14:
        return f"an MVE transfer ({code[:4].hex()})"
    disassembler = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    found = next(iter(disassembler.disasm(code, pc, 1)), None)
    if found is not None:
        return f"`{found.mnemonic} {found.op_str}`".replace(" `", "`")
    return f"no known instruction ({code[:4].hex()})"


def _literal(pc: int) -> int:
    return (pc + 4) & ~3


def _low(first: int, shift: int) -> int:
    return first >> shift & 7


def _plain(name: str, write: bool, size: int, signed: bool = False, scale: int | None = None) -> Decoder:
    """Narrow forms with a 5-bit offset (scaled) or a register offset."""

    def immediate(first: int, _second: int, _pc: int, regs: Sequence[int]) -> Access:
        assert scale is not None
        address = (regs[_low(first, 3)] + (first >> 6 & 31) * scale) & _MASK
        return Access(name, write, address, size, (_low(first, 0),), 2, signed)

    def register(first: int, _second: int, _pc: int, regs: Sequence[int]) -> Access:
        address = (regs[_low(first, 3)] + regs[_low(first, 6)]) & _MASK
        return Access(name, write, address, size, (_low(first, 0),), 2, signed)

    return register if scale is None else immediate


def _narrow_literal(first: int, _second: int, pc: int, _regs: Sequence[int]) -> Access:
    return Access("ldr", False, _literal(pc) + (first & 255) * 4, 4, (_low(first, 8),), 2)


def _stack_relative(first: int, _second: int, _pc: int, regs: Sequence[int]) -> Access:
    write = not first & 0x800
    address = (regs[_SP] + (first & 255) * 4) & _MASK
    return Access("str" if write else "ldr", write, address, 4, (_low(first, 8),), 2)


def _list(bits: int) -> tuple[int, ...]:
    return tuple(i for i in range(16) if bits >> i & 1)


def _multiple(
    name: str, write: bool, base: int, bits: int, down: bool, back: bool, length: int, regs: Sequence[int]
) -> Access | None:
    names = _list(bits)
    if not names:
        return None
    start = (regs[base] - 4 * len(names) if down else regs[base]) & _MASK
    end = (regs[base] + (-4 if down else 4) * len(names)) & _MASK
    # A loaded base keeps the loaded value.
    back = back and (write or base not in names)
    return Access(name, write, start, 4, names, length, base=base if back else -1, base_value=end if back else 0)


def _push(first: int, _second: int, _pc: int, regs: Sequence[int]) -> Access | None:
    return _multiple("push", True, _SP, first & 255 | (first & 256) << 6, True, True, 2, regs)


def _pop(first: int, _second: int, _pc: int, regs: Sequence[int]) -> Access | None:
    return _multiple("pop", False, _SP, first & 255 | (first & 256) << 7, False, True, 2, regs)


def _narrow_multiple(first: int, _second: int, _pc: int, regs: Sequence[int]) -> Access | None:
    write = not first & 0x800
    return _multiple("stm" if write else "ldm", write, _low(first, 8), first & 255, False, True, 2, regs)


def _wide_multiple(first: int, second: int, _pc: int, regs: Sequence[int]) -> Access | None:
    write, down, back = not first & 0x10, bool(first & 0x100), bool(first & 0x20)
    name = ("stm" if write else "ldm") + ("db" if down else "")
    return _multiple(name, write, first & 15, second, down, back, 4, regs)


def _single(first: int, second: int, pc: int, regs: Sequence[int]) -> Access | None:
    """``F8xx`` and ``F9xx``: one register of 8, 16 or 32 bits in all wide addressing forms."""
    base, target = first & 15, second >> 12
    write, signed = not first & 0x10, bool(first & 0x100)
    width = first >> 5 & 3
    if width == 3 or (target == _PC and not write) or (signed and (write or width == 2)):
        return None  # undefined, a preload hint, or a load of PC
    size = 1 << width
    name = ("str" if write else "ldr") + ("s" if signed else "") + ("b", "h", "")[width]
    base_value = -1
    if base == _PC:
        if write:
            return None
        offset = second & 0xFFF
        address = _literal(pc) + (offset if first & 0x80 else -offset)
    elif first & 0x80:
        address = regs[base] + (second & 0xFFF)
    elif second & 0x800:
        pre, up, back = second & 0x400, second & 0x200, second & 0x100
        if not pre and not back:
            return None
        moved = regs[base] + (second & 255 if up else -(second & 255))
        address = moved if pre else regs[base]
        base_value = moved & _MASK if back else -1
        if pre and up and not back:
            name += "t"
    elif second & 0xFC0 == 0:
        address = regs[base] + (regs[second & 15] << (second >> 4 & 3))
    else:
        return None
    back_to = base if base_value >= 0 else -1
    return Access(name, write, address & _MASK, size, (target,), 4, signed, back_to, max(base_value, 0))


def _dual(first: int, second: int, pc: int, regs: Sequence[int]) -> Access | None:
    base = first & 15
    write, pre, up, back = not first & 0x10, first & 0x100, first & 0x80, bool(first & 0x20)
    offset = (second & 255) * 4
    start = _literal(pc) if base == _PC else regs[base]
    moved = (start + (offset if up else -offset)) & _MASK
    pair = (second >> 12, second >> 8 & 15)
    name = "strd" if write else "ldrd"
    value = moved if back else 0
    return Access(name, write, moved if pre else start, 4, pair, 4, base=base if back else -1, base_value=value)


def _exclusive(first: int, second: int, _pc: int, regs: Sequence[int]) -> Access | None:
    write, target = not first & 0x10, second >> 12
    if target == _PC:
        return None  # TT and its variants ask about an address and access nothing
    address = (regs[first & 15] + (second & 255) * 4) & _MASK
    return Access(
        "strex" if write else "ldrex", write, address, 4, (target,), 4, status=second >> 8 & 15 if write else -1
    )


_ORDERED = {
    4: ("ex", 1),
    5: ("ex", 2),
    8: ("", 1),
    9: ("", 2),
    10: ("", 4),
    12: ("ex", 1),
    13: ("ex", 2),
    14: ("ex", 4),
}


def _ordered(first: int, second: int, _pc: int, regs: Sequence[int]) -> Access | None:
    """Exclusives of 8 and 16 bits, and acquire and release in all widths."""
    write, kind = not first & 0x10, second >> 4 & 15
    if kind not in _ORDERED:
        return None  # table branches
    suffix, size = _ORDERED[kind]
    stem = ("strex" if write else "ldrex") if kind < 8 else ("stl" if write else "lda") + suffix
    name = stem + {1: "b", 2: "h", 4: ""}[size]
    status = second & 15 if write and suffix else -1
    return Access(name, write, regs[first & 15], size, (second >> 12,), 4, status=status)


# (mask, value, decoder) over the first half-word.
_NARROW: tuple[tuple[int, int, Decoder], ...] = (
    (0xF800, 0x4800, _narrow_literal),
    (0xFE00, 0x5000, _plain("str", True, 4)),
    (0xFE00, 0x5200, _plain("strh", True, 2)),
    (0xFE00, 0x5400, _plain("strb", True, 1)),
    (0xFE00, 0x5600, _plain("ldrsb", False, 1, signed=True)),
    (0xFE00, 0x5800, _plain("ldr", False, 4)),
    (0xFE00, 0x5A00, _plain("ldrh", False, 2)),
    (0xFE00, 0x5C00, _plain("ldrb", False, 1)),
    (0xFE00, 0x5E00, _plain("ldrsh", False, 2, signed=True)),
    (0xF800, 0x6000, _plain("str", True, 4, scale=4)),
    (0xF800, 0x6800, _plain("ldr", False, 4, scale=4)),
    (0xF800, 0x7000, _plain("strb", True, 1, scale=1)),
    (0xF800, 0x7800, _plain("ldrb", False, 1, scale=1)),
    (0xF800, 0x8000, _plain("strh", True, 2, scale=2)),
    (0xF800, 0x8800, _plain("ldrh", False, 2, scale=2)),
    (0xF000, 0x9000, _stack_relative),
    (0xFE00, 0xB400, _push),
    (0xFE00, 0xBC00, _pop),
    (0xF000, 0xC000, _narrow_multiple),
)
_WIDE: tuple[tuple[int, int, Decoder], ...] = (
    (0xFFC0, 0xE880, _wide_multiple),
    (0xFFC0, 0xE900, _wide_multiple),
    (0xFFE0, 0xE840, _exclusive),
    (0xFFE0, 0xE8C0, _ordered),
    (0xFE40, 0xE840, _dual),
    (0xFE00, 0xF800, _single),
)
