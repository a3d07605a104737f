"""Endings of the simulator itself: killed, crashed, locked up, an unsupported semihosting call."""

from __future__ import annotations

import signal

from corstone.boards.endings.rule import Match, Matcher, Rule, find, says
from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome

_CRASHED = Outcome.CRASHED


def _signal_of(facts: BootFacts) -> int:
    """The signal that ended the simulator, also as a shell reports it; 0 for none, or when it was ours."""
    status = facts.exit_status
    if status is None or facts.stopped_by_us:
        return 0
    if status < 0:
        return -status
    return status - 128 if 128 < status <= 128 + 64 else 0


def _signals(*numbers: int) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        number = _signal_of(facts)
        if number not in numbers:
            return None
        name = signal.Signals(number).name
        return Match(f"the simulator ended by {name}{_after(facts)}", {"signal": name})

    return match


def _other_signal(facts: BootFacts) -> Match | None:
    number = _signal_of(facts)
    if not number:
        return None
    known = {int(s): s.name for s in signal.Signals}
    name = known.get(number, f"signal {number}")
    return Match(f"the simulator ended by {name}{_after(facts)}", {"signal": name})


def _after(facts: BootFacts) -> str:
    last = facts.transcript.last_target_line
    return f"; last line of the target: {last.strip()!r}" if last else "; the target had printed nothing"


def _lockup(facts: BootFacts) -> Match | None:
    hit = find(facts, r"(?i)lockup: can't escalate (?P<number>-?\d+) to HardFault|CPU (?:is )?(?:in )?lockup|locked up")
    if hit is None:
        return None
    return Match(
        f"the CPU locked up: a fault inside a fault handler, or no vector table{_after(facts)}",
        {"line": hit[0].text.strip()},
    )


RULES: tuple[Rule, ...] = (
    Rule(
        "lockup",
        _CRASHED,
        Cause.LOCKUP,
        "The CPU locked up",
        "an image for another board has no vectors where this one starts; FP or MVE before CPACR is set ends so too",
        _lockup,
    ),
    Rule(
        "semihosting-unsupported-call",
        _CRASHED,
        Cause.NO_SEMIHOSTING,
        "The target made a semihosting call that the simulator does not know",
        "see the quirks table; build the runner without that call",
        says(r"Unsupported SemiHosting SWI (?P<operation>\S+)", message="unsupported semihosting call {operation}"),
    ),
    Rule(
        "qemu-died",
        _CRASHED,
        Cause.SIMULATOR_KILLED,
        "QEMU ended under our emulator",
        "see QEMU's last words in the console log; the kernel kills on memory shortage (see dmesg)",
        says(r"^corstone-emulator: (?P<what>QEMU died under the machine.*)", "simulator", "{what}"),
    ),
    Rule(
        "device-not-modelled",
        _CRASHED,
        Cause.UNSUPPORTED,
        "The target used a device or an access that our emulator lacks",
        "run it on Arm's FVP; report the address, so that the model can learn it",
        says(
            r"^corstone-emulator: (?P<what>no device model at .*|the instruction at \S+ that touched a device.*)",
            "simulator",
            "{what}",
        ),
    ),
    Rule(
        "simulator-segfault",
        _CRASHED,
        Cause.SIMULATOR_KILLED,
        "The simulator crashed (SEGV, BUS, ILL, FPE)",
        "a bug of the simulator, or one built for another CPU: report it with the console log",
        _signals(signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE),
    ),
    Rule(
        "simulator-abort",
        _CRASHED,
        Cause.SIMULATOR_KILLED,
        "The simulator aborted",
        "see its last lines in the console log",
        _signals(signal.SIGABRT),
    ),
    Rule(
        "simulator-killed",
        _CRASHED,
        Cause.SIMULATOR_KILLED,
        "Somebody killed the simulator",
        "the kernel kills on memory shortage (see dmesg), CI systems at their own limits",
        _signals(signal.SIGKILL, signal.SIGTERM, signal.SIGXCPU),
    ),
    Rule(
        "simulator-signal",
        _CRASHED,
        Cause.SIMULATOR_KILLED,
        "The simulator ended by another signal",
        "see the console log",
        _other_signal,
    ),
)
