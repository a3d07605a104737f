"""The simulator itself ended badly."""

from __future__ import annotations

from tests.fakes.endings.case import BANNER, BOOTED, Case, case, says

from corstone.causes import Cause

SIMULATOR: tuple[Case, ...] = (
    case(
        "killed-by-kernel",
        [BANNER, says(BOOTED), ["kill", "SIGKILL"]],
        "CRASHED",
        Cause.SIMULATOR_KILLED,
        "simulator-killed",
    ),
    case(
        "terminated-by-ci",
        [BANNER, says(BOOTED), ["kill", "SIGTERM"]],
        "CRASHED",
        Cause.SIMULATOR_KILLED,
        "simulator-killed",
    ),
    case(
        "killed-in-wrapper",
        [BANNER, says(BOOTED), ["exit", 137]],
        "CRASHED",
        Cause.SIMULATOR_KILLED,
        "simulator-killed",
    ),
    case(
        "segfault",
        [BANNER, says(BOOTED), ["kill", "SIGSEGV"]],
        "CRASHED",
        Cause.SIMULATOR_KILLED,
        "simulator-segfault",
    ),
    case("abort", [BANNER, says(BOOTED), ["kill", "SIGABRT"]], "CRASHED", Cause.SIMULATOR_KILLED, "simulator-abort"),
    case("hangup", [BANNER, says(BOOTED), ["kill", "SIGHUP"]], "CRASHED", Cause.SIMULATOR_KILLED, "simulator-signal"),
    case(
        "qemu-lockup",
        [
            ["error", "qemu: fatal: Lockup: can't escalate 3 to HardFault (current priority -1)\n\n"],
            ["kill", "SIGABRT"],
        ],
        "CRASHED",
        Cause.LOCKUP,
        "lockup",
    ),
    case(
        "semihosting-call-unknown",
        [BANNER, ["error", "qemu: Unsupported SemiHosting SWI 0xf0\n"], ["kill", "SIGABRT"]],
        "CRASHED",
        Cause.NO_SEMIHOSTING,
        "semihosting-unsupported-call",
        runner="semihosting",
        user="D13",
    ),
)
