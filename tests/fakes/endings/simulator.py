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
    case(
        "emulator-lockup",
        [
            BANNER,
            [
                "error",
                (
                    "corstone-emulator: CPU lockup at 0x00000000 (00000000): a fault inside a fault handler, or a "
                    "handler "
                    "that does not exist\n  qemu: fatal: Lockup: can't escalate 3 to HardFault (current priority -1)\n"
                ),
            ],
            ["exit", 4],
        ],
        "CRASHED",
        Cause.LOCKUP,
        "lockup",
    ),
    case(
        "emulator-qemu-died",
        [
            BANNER,
            says(BOOTED),
            ["error", "corstone-emulator: QEMU died under the machine (ended by signal 9): \n"],
            ["exit", 3],
        ],
        "CRASHED",
        Cause.SIMULATOR_KILLED,
        "qemu-died",
        message="signal 9",
    ),
    case(
        "emulator-device-missing",
        [BANNER, says(BOOTED), ["error", "corstone-emulator: no device model at 0x49304000\n"], ["exit", 4]],
        "CRASHED",
        Cause.UNSUPPORTED,
        "device-not-modelled",
        message="0x49304000",
    ),
)
