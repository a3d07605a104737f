"""Endings where the CPU of the board faulted; decoded from whatever the handler printed.

Register layouts: Armv8-M, CMSIS core_cm55.h. Handlers known: core-platform (``Hard fault.`` with cfsr, bfar, mmfar),
ml-embedded-evaluation-kit (a register dump and ``Exception ... caught by function ...``), our firmware.
"""

from __future__ import annotations

import re

from corstone.boards.endings.rule import SIMULATOR, TARGET, Match, Matcher, Rule, find, says
from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome

_CRASHED = Outcome.CRASHED

# id, bits of CFSR, title, hint.
_KINDS: tuple[tuple[str, int, str, str], ...] = (
    (
        "cpu-undefined-instruction",
        1 << 16,
        "Undefined instruction",
        "the image uses an instruction this CPU lacks, or ran into data",
    ),
    (
        "cpu-invalid-state",
        1 << 17,
        "Jump to a non-Thumb address",
        "a function pointer with bit 0 clear: often a null or overwritten pointer",
    ),
    ("cpu-invalid-return", 1 << 18, "Invalid exception return", "the stack of a handler was overwritten"),
    (
        "cpu-no-coprocessor",
        1 << 19,
        "FP or MVE instruction while the unit is off",
        "set CPACR before the first such instruction; compilers use MVE for plain copies",
    ),
    ("cpu-stack-overflow", 1 << 20, "Stack overflow", "enlarge the runner's stack"),
    ("cpu-unaligned", 1 << 24, "Unaligned access", "align the model, the inputs and the arena to 16 bytes"),
    ("cpu-divide-by-zero", 1 << 25, "Division by zero", "see the function named above"),
    ("cpu-instruction-access", 1 << 0, "Execution from a forbidden address", "a bad function pointer, or the MPU"),
    ("cpu-data-access", 1 << 1, "Access to a forbidden address (MPU)", "see the address above"),
    (
        "cpu-stacking",
        1 << 3 | 1 << 4 | 1 << 11 | 1 << 12,
        "Fault while saving registers on exception entry or exit",
        "the stack pointer left its memory: a stack overflow or a wrong stack base",
    ),
    ("cpu-lazy-fp", 1 << 5 | 1 << 13, "Fault while saving FP state", "the stack pointer left its memory"),
    (
        "cpu-bus-instruction",
        1 << 8,
        "Bus error on an instruction fetch",
        "jump outside memory: the image is for another board, or a bad pointer",
    ),
    ("cpu-bus-data", 1 << 9, "Bus error on a data access", "the address above is no memory of this board"),
    (
        "cpu-bus-imprecise",
        1 << 10,
        "Bus error on a buffered write",
        "the failing write is a little before the address shown",
    ),
)

_REGISTER = re.compile(
    r"(?i)\b(cfsr|hfsr|bfar|mmfar|sfsr|sfar|afsr|rfsr|pc|lr|sp|xpsr|ipsr)\s*[=:]\s*(?:0x)?([0-9a-f]{1,8})\b"
)
_WORDS = (
    r"(?i)hard ?fault\b|bus ?fault\b|usage ?fault\b|mem(?:ory )?manage(?:ment)? ?fault|secure ?fault\b"
    r"|\bcfsr\s*[=:]|caught by function|^FAULT\b"
)
_FIRST_OF_FAULT = re.compile(
    r"(?i)^hard fault\b|fault at pc=|fault \(|fault\s*$|^FAULT |CTRL\s+: 0x|\bcfsr\s*[=:]|caught by function"
)
_OURS = r"^corstone-emulator: CPU fault: (?P<what>.*)"


def registers(facts: BootFacts) -> dict[str, int]:
    """Fault registers by lower-case name, from our runner's frame or the lines of a handler; empty when none spoke."""
    frame = facts.transcript.firmware.fault
    if frame is not None:
        hidden = () if frame.stacked else ("pc", "lr", "xpsr")
        return {name: value for name, value in frame.registers.items() if name not in hidden}
    found: dict[str, int] = {}
    if "fsr" not in facts.transcript.text.lower():
        return found
    for line in facts.transcript.lines:
        # The emulator sees every fault, also one that the program handles and survives.
        if line.source == SIMULATOR and facts.finished:
            continue
        for name, value in _REGISTER.findall(line.text):
            found.setdefault(name.lower(), int(value, 16))
    return found if found.keys() & {"cfsr", "hfsr"} else {}


def _spoke(facts: BootFacts) -> bool:
    """Whether anybody speaks of a fault, with or without registers."""
    if registers(facts) or find(facts, _WORDS, TARGET):
        return True
    return not facts.finished and find(facts, _OURS, SIMULATOR) is not None


def describe(facts: BootFacts, what: str) -> Match:
    """One sentence with PC, function, address and the last line before the fault."""
    values = registers(facts)
    parts = [what]
    evidence = {name: f"0x{value:08x}" for name, value in values.items()}
    if "pc" in values:
        name = facts.locate(values["pc"]) or _named(facts)
        parts.append(f"at 0x{values['pc']:08x}" + (f" in {name}" if name else ""))
        if name:
            evidence["function"] = name
    cfsr = values.get("cfsr", 0)
    if cfsr >> 15 & 1 and "bfar" in values:
        parts.append(f"address 0x{values['bfar']:08x}")
    elif cfsr >> 7 & 1 and "mmfar" in values:
        parts.append(f"address 0x{values['mmfar']:08x}")
    elif values.get("sfsr", 0) >> 6 & 1 and "sfar" in values:
        parts.append(f"address 0x{values['sfar']:08x}")
    before = _line_before(facts)
    if before:
        parts.append(f"last line before it: {before!r}")
        evidence["last line"] = before
    return Match(", ".join(parts), evidence)


def _named(facts: BootFacts) -> str:
    """The function as our emulator names it."""
    hit = find(facts, r"^  at (?P<function>\S+), called from", SIMULATOR)
    return hit[1]["function"] if hit else ""


def _line_before(facts: BootFacts) -> str:
    last = ""
    for text in facts.transcript.target_lines:
        if _FIRST_OF_FAULT.search(text):
            break
        last = text.strip()
    return last


def _cfsr(mask: int, title: str) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        if not registers(facts).get("cfsr", 0) & mask:
            return None
        return describe(facts, f"CPU fault: {title[0].lower()}{title[1:]}")

    return match


def _secure(facts: BootFacts) -> Match | None:
    values, frame = registers(facts), facts.transcript.firmware.fault
    if frame is not None:
        spoken = frame.fault == "SecureFault"
    else:
        spoken = bool(values) and find(facts, r"(?i)secure ?fault") is not None
    return describe(facts, "CPU fault: security violation") if values.get("sfsr") or spoken else None


def _vector(facts: BootFacts) -> Match | None:
    return (
        describe(facts, "CPU fault: the vector table could not be read")
        if registers(facts).get("hfsr", 0) >> 1 & 1
        else None
    )


def _any_fault(facts: BootFacts) -> Match | None:
    if not _spoke(facts):
        return None
    hit = find(facts, r"(?i)\b(?P<kind>hard|bus|usage|memmanage|secure) ?fault")
    return describe(facts, f"CPU fault: {hit[1]['kind'].lower()} fault" if hit else "CPU fault")


RULES: tuple[Rule, ...] = (
    # First what the software said: an abort often ends in a deliberate fault.
    Rule(
        "abort-exception",
        _CRASHED,
        Cause.ABORT,
        "An uncaught C++ exception in the runner",
        "Arm's image does so for rank-0 tensors: use our runner",
        says(r"terminate called (?:after throwing|without|recursively).*"),
    ),
    Rule(
        "abort-assertion",
        _CRASHED,
        Cause.ABORT,
        "An assertion failed in the target",
        "see the line",
        says(r"(?i)\bassert(?:ion)?\b.*\bfailed\b|assert failed \(|Assertion `", "target"),
    ),
    *(Rule(name, _CRASHED, Cause.CPU_FAULT, title, hint, _cfsr(mask, title)) for name, mask, title, hint in _KINDS),
    Rule(
        "cpu-secure-fault",
        _CRASHED,
        Cause.CPU_FAULT,
        "Security violation",
        "stay in the secure aliases; see SFSR",
        _secure,
    ),
    Rule(
        "cpu-vector-table", _CRASHED, Cause.CPU_FAULT, "Vector table unreadable", "VTOR points outside memory", _vector
    ),
    Rule(
        "cpu-stray-exception",
        _CRASHED,
        Cause.CPU_FAULT,
        "An interrupt or exception that the image has no handler for",
        "give the image a handler, or leave the interrupt off",
        says(
            r"^corstone-emulator: CPU fault: (?P<what>(?:interrupt|exception) \d+ went to the handler.*)",
            SIMULATOR,
            "{what}",
        ),
    ),
)

# After what our runner says of itself, which names these better.
LAST: tuple[Rule, ...] = (
    Rule(
        "cpu-fault",
        _CRASHED,
        Cause.CPU_FAULT,
        "A fault whose handler printed no status",
        "link handlers that print CFSR, HFSR, BFAR and PC",
        _any_fault,
        decides=False,
    ),
    Rule(
        "abort-fatal",
        _CRASHED,
        Cause.ABORT,
        "The runtime ended with a fatal error",
        "see the line",
        says(r"^F \[[eE]xecu[tT]orch:[^\]]*\] ?(?P<what>.*)", "target", "the runtime's fatal error: {what}"),
        decides=False,
    ),
)
