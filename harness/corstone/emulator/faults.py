"""Decode a CPU fault from the fault registers and the stacked frame, in words.

Source: Armv8-M Architecture Reference Manual DDI 0553 (CFSR, HFSR, SFSR, exception frames); CMSIS core_cm55.h for the
addresses. Leaves out what the harness makes of it (``corstone.boards.endings``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

CFSR, HFSR, MMFAR, BFAR, SFSR, SFAR = 0xE000ED28, 0xE000ED2C, 0xE000ED34, 0xE000ED38, 0xE000EDE4, 0xE000EDE8

EXCEPTIONS = {2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault", 6: "UsageFault", 7: "SecureFault"}
FAULTS = range(3, 8)
_SEMIHOSTING = 0xBEAB  # bkpt 0xab

_CFSR_BITS = {
    0: "instruction access violation",
    1: "data access violation",
    3: "MemManage fault on unstacking",
    4: "MemManage fault on stacking",
    5: "MemManage fault on lazy FP state",
    8: "bus error on an instruction fetch",
    9: "precise bus error on a data access",
    10: "imprecise bus error on a data access",
    11: "bus error on unstacking",
    12: "bus error on stacking",
    13: "bus error on lazy FP state",
    16: "undefined instruction",
    17: "invalid state: jump to a non-Thumb address",
    18: "invalid exception return",
    19: "FP or MVE instruction while the unit is off (CPACR)",
    20: "stack limit exceeded",
    24: "unaligned access",
    25: "division by zero",
}
_SFSR_BITS = {
    0: "invalid entry point",
    1: "invalid integrity signature",
    2: "invalid exception return",
    3: "attribution unit violation",
    4: "invalid transition",
    5: "lazy FP state",
    7: "lazy state error",
}
_HFSR_BITS = {1: "the vector could not be read", 31: "a breakpoint instruction with no debugger (semihosting is off?)"}


@dataclass(frozen=True)
class FaultState:
    """The registers at the entry of the handler. ``frame`` is r0-r3, r12, lr, pc, xpsr as stacked, or empty."""

    number: int
    cfsr: int
    hfsr: int
    mmfar: int
    bfar: int
    sfsr: int
    sfar: int
    frame: tuple[int, ...]
    stack: int
    instruction: int


def read_fault(registers: tuple[int, ...], read: Callable[[int, int], bytes | None]) -> FaultState:
    """Collect the state at the first instruction of a fault handler; ``read`` gives memory as the CPU sees it."""

    def word(address: int) -> int:
        data = read(address, 4)
        return int.from_bytes(data, "little") if data else 0

    lr, sp = registers[14], registers[13]
    # EXC_RETURN bit 2 says which stack holds the frame; only the main stack is at hand without MRS.
    frame: tuple[int, ...] = ()
    if lr >> 24 == 0xFF and not lr & 4:
        # Bit 5 clear: callee registers lie below the frame (10 words with the integrity signature).
        data = read(sp if lr & 0x20 else sp + 40, 32)
        frame = struct.unpack("<8I", data) if data else ()
    code = read(frame[6], 2) if frame else None
    return FaultState(
        registers[16] & 0x1FF,
        word(CFSR),
        word(HFSR),
        word(MMFAR),
        word(BFAR),
        word(SFSR),
        word(SFAR),
        frame,
        sp,
        int.from_bytes(code, "little") if code else 0,
    )


def describe(state: FaultState, locate: Callable[[int], str]) -> str:
    """One paragraph: which fault, why, where, with all registers in hex."""
    reasons = [text for bit, text in _CFSR_BITS.items() if state.cfsr >> bit & 1]
    reasons += [text for bit, text in _SFSR_BITS.items() if state.sfsr >> bit & 1]
    reasons += [text for bit, text in _HFSR_BITS.items() if state.hfsr >> bit & 1]
    if state.instruction == _SEMIHOSTING and not reasons:
        reasons.append("a semihosting call while semihosting is off; pass -C cpu0.semihosting-enable=1")
    lines = [f"CPU fault: {EXCEPTIONS.get(state.number, 'exception ' + str(state.number))}: "]
    lines[0] += ", ".join(reasons) or "no cause is recorded"
    if state.cfsr >> 15 & 1:
        lines[0] += f", address {state.bfar:#010x}"
    elif state.cfsr >> 7 & 1:
        lines[0] += f", address {state.mmfar:#010x}"
    elif state.sfsr >> 6 & 1:
        lines[0] += f", address {state.sfar:#010x}"
    if state.frame:
        r0, r1, r2, r3, r12, lr, pc, xpsr = state.frame
        # LR holds no return address at reset (all ones) and inside handlers (EXC_RETURN).
        caller = f", called from {locate(lr)}" if lr < 0xF0000000 else ""
        lines.append(f"  at {locate(pc)}{caller}")
        lines.append(
            f"  pc={pc:#010x} lr={lr:#010x} sp={state.stack + 32:#010x} xpsr={xpsr:#010x} "
            f"r0={r0:#010x} r1={r1:#010x} r2={r2:#010x} r3={r3:#010x} r12={r12:#010x}"
        )
    lines.append(
        f"  cfsr={state.cfsr:#010x} hfsr={state.hfsr:#010x} mmfar={state.mmfar:#010x} bfar={state.bfar:#010x} "
        f"sfsr={state.sfsr:#010x} sfar={state.sfar:#010x}"
    )
    return "\n".join(lines)


def locator(path: Path) -> Callable[[int], str]:
    """Names addresses by the ELF's symbols, which are read on the first call."""
    found: list[Callable[[int], str]] = []

    def locate(address: int) -> str:
        if not found:
            from corstone.errors import ConfigError
            from corstone.formats.elf import read_elf

            try:
                found.append(read_elf(path).nearest)
            except ConfigError:
                found.append(lambda a: f"{a:#010x}")
        return found[0](address)

    return locate
