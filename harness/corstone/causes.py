"""Outcomes and causes: the two closed vocabularies every verdict is made of.

An *outcome* is one of seven words; everything finer is a *cause*. States of a test in a report
(aborted, not run, flaky, quarantined, xpass) are neither, and live with the report.
"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a case ended, worst first: the order of the members is the order of severity."""

    ERROR = "ERROR"
    CRASHED = "CRASHED"
    TIMED_OUT = "TIMED_OUT"
    NO_OUTPUT = "NO_OUTPUT"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    PASSED = "PASSED"

    @property
    def severity(self) -> int:
        """0 for the worst."""
        return list(Outcome).index(self)


def worst(outcomes: list[Outcome]) -> Outcome:
    """The worst of several outcomes; an empty list means nothing ran, which is an ERROR."""
    return min(outcomes, key=lambda o: o.severity, default=Outcome.ERROR)


class Cause(StrEnum):
    """Why a case did not simply pass."""

    # The caller: exit status 2.
    CONFIGURATION = "configuration"
    BAD_INPUT = "bad-input"
    BAD_PROGRAM = "bad-program"
    WRONG_TARGET = "wrong-target"
    NO_DELEGATE = "no-delegate"
    UNSUPPORTED = "unsupported"
    NOT_WRITABLE = "not-writable"
    # A host tool: exit status 3.
    COMPILE = "compile"
    COMPILE_CRASH = "compile-crash"
    COMPILE_TIMEOUT = "compile-timeout"
    MISSING_TOOL = "missing-tool"
    LAUNCH = "launch"
    LICENCE = "licence"
    DOWNLOAD = "download"
    DISK_FULL = "disk-full"
    SIMULATOR_ERROR = "simulator-error"
    CACHE = "cache"
    REFERENCE = "reference"
    # The device: exit status 4.
    NO_CONSOLE = "no-console"
    NO_SEMIHOSTING = "no-semihosting"
    PROGRAM_REJECTED = "program-rejected"
    CONFIG_MISMATCH = "config-mismatch"
    ALIGNMENT = "alignment"
    ALLOCATOR = "allocator"
    CPU_FAULT = "cpu-fault"
    LOCKUP = "lockup"
    ABORT = "abort"
    INFERENCE_FAILED = "inference-failed"
    NPU_FAULT = "npu-fault"
    NPU_TIMEOUT = "npu-timeout"
    NO_START = "no-start"
    NO_PROGRESS = "no-progress"
    SLOW = "slow"
    SIMULATOR_TIME_LIMIT = "simulator-time-limit"
    SIMULATOR_KILLED = "simulator-killed"
    DID_NOT_STOP = "did-not-stop"
    EXIT_STATUS = "exit-status"
    OUTPUT_MISSING = "output-missing"
    OUTPUT_COUNT = "output-count"
    OUTPUT_SIZE = "output-size"
    STALE = "stale"
    CANARY = "canary"
    EVIDENCE = "evidence"
    CONSOLE_CORRUPT = "console-corrupt"
    CONSOLE_FLOOD = "console-flood"
    UNFINISHED = "unfinished"
    INTERRUPTED = "interrupted"
    # The numbers: exit status 1.
    BITS = "bits"
    ACCURACY = "accuracy"
    OUT_OF_DOMAIN = "out-of-domain"
    WRONG_TABLE = "wrong-table"
    SHAPE = "shape"
    # A test of the user's own that failed without a device verdict: exit status 1.
    TEST_FAILED = "test-failed"
    TEST_ERROR = "test-error"
    # Nothing ran: exit status 5.
    NO_DEVICE = "no-device"
    NOTHING_RAN = "nothing-ran"
    # Everything is well.
    NONE = "none"
