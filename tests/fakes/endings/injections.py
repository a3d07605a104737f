"""The fault switch of our runner: what it does for real on the emulator, and the verdict of the session.

``slow`` cases wait for a deadline. Injections that give wrong numbers (``flip-bit``, ...) pass here: numbers are judged
later, elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from corstone.causes import Cause, Outcome


@dataclass(frozen=True)
class Injection:
    """``inject`` is the runner's switch; ``rule`` the row of the catalogue."""

    inject: str
    outcome: Outcome
    cause: Cause
    rule: str
    message: str = ""
    slow: bool = False

    @property
    def name(self) -> str:
        """Name of the recording."""
        return f"inject-{self.inject or 'nothing'}"


_PASSED, _CRASHED, _NO_OUTPUT = Outcome.PASSED, Outcome.CRASHED, Outcome.NO_OUTPUT
_TIMED_OUT = Outcome.TIMED_OUT

INJECTIONS: tuple[Injection, ...] = (
    Injection("", _PASSED, Cause.NONE, "passed"),
    Injection("udf", _CRASHED, Cause.CPU_FAULT, "cpu-undefined-instruction", "inject_at"),
    Injection("unaligned", _CRASHED, Cause.CPU_FAULT, "cpu-unaligned"),
    Injection("bus-fault", _CRASHED, Cause.CPU_FAULT, "cpu-bus-data", "address 0x"),
    Injection("null-call", _CRASHED, Cause.CPU_FAULT, "cpu-invalid-state"),
    Injection("mem-manage", _CRASHED, Cause.CPU_FAULT, "cpu-instruction-access"),
    Injection("secure-fault", _CRASHED, Cause.CPU_FAULT, "cpu-secure-fault"),
    Injection("nmi", _CRASHED, Cause.CPU_FAULT, "runner-nmi"),
    Injection("div-zero", _CRASHED, Cause.CPU_FAULT, "cpu-divide-by-zero"),
    Injection("nocp", _CRASHED, Cause.CPU_FAULT, "cpu-no-coprocessor"),
    Injection("stack-overflow", _CRASHED, Cause.CPU_FAULT, "cpu-stack-overflow"),
    Injection("hard-fault", _CRASHED, Cause.CPU_FAULT, "cpu-undefined-instruction"),
    Injection("lockup", _CRASHED, Cause.LOCKUP, "lockup"),
    Injection("interrupt", _CRASHED, Cause.CPU_FAULT, "runner-interrupt", "interrupt 90"),
    Injection("svc", _CRASHED, Cause.CPU_FAULT, "runner-interrupt"),
    Injection("jump-arm", _CRASHED, Cause.CPU_FAULT, "cpu-invalid-state"),
    Injection("loop", _TIMED_OUT, Cause.NO_PROGRESS, "no-progress-busy", slow=True),
    Injection("idle", _TIMED_OUT, Cause.NO_PROGRESS, "no-progress-idle", slow=True),
    Injection("loop-log", _TIMED_OUT, Cause.SLOW, "slow", slow=True),
    Injection("fake-end", _TIMED_OUT, Cause.NO_PROGRESS, "no-progress-idle", slow=True),
    Injection("exit-0", _NO_OUTPUT, Cause.OUTPUT_MISSING, "outputs-missing"),
    Injection("exit-1", _CRASHED, Cause.EXIT_STATUS, "exit-status"),
    Injection("exit-42", _CRASHED, Cause.EXIT_STATUS, "exit-status", "42"),
    Injection("sys-exit", _CRASHED, Cause.EXIT_STATUS, "exit-status"),
    Injection("abort", _CRASHED, Cause.ABORT, "abort-assertion"),
    Injection("eot", _NO_OUTPUT, Cause.OUTPUT_MISSING, "outputs-missing"),
    Injection("error-line", _PASSED, Cause.NONE, "passed"),
    Injection("tag-line", _PASSED, Cause.NONE, "passed"),
    Injection("half-line", _NO_OUTPUT, Cause.CONSOLE_CORRUPT, "runner-frames"),
    Injection("long-line", _PASSED, Cause.NONE, "passed"),
    Injection("nul-bytes", _PASSED, Cause.NONE, "passed"),
    Injection("ansi", _PASSED, Cause.NONE, "passed"),
    Injection("fake-hard-fault", _PASSED, Cause.NONE, "passed"),
    Injection("no-console", _NO_OUTPUT, Cause.NO_CONSOLE, "no-target-text"),
    Injection("no-frames", _NO_OUTPUT, Cause.OUTPUT_COUNT, "runner-output-count"),
    Injection("wrong-crc", _NO_OUTPUT, Cause.EVIDENCE, "runner-output-crc"),
    Injection("frame-spoiled", _NO_OUTPUT, Cause.CONSOLE_CORRUPT, "runner-frames"),
    Injection("frame-twice", _NO_OUTPUT, Cause.OUTPUT_COUNT, "runner-output-count"),
    Injection("wrong-count", _NO_OUTPUT, Cause.OUTPUT_COUNT, "outputs-count"),
    Injection("wrong-dtype", _NO_OUTPUT, Cause.OUTPUT_SIZE, "runner-output-type", "uint16"),
    Injection("wrong-shape", _NO_OUTPUT, Cause.OUTPUT_SIZE, "runner-output-type"),
    Injection("wrong-name", _NO_OUTPUT, Cause.EVIDENCE, "runner-output-name"),
    Injection("no-output", _NO_OUTPUT, Cause.OUTPUT_MISSING, "outputs-missing"),
    Injection("short-output", _NO_OUTPUT, Cause.OUTPUT_SIZE, "outputs-too-short"),
    Injection("long-output", _NO_OUTPUT, Cause.OUTPUT_SIZE, "outputs-too-long"),
    Injection("empty-output", _NO_OUTPUT, Cause.OUTPUT_SIZE, "outputs-too-short"),
    Injection("extra-output", _NO_OUTPUT, Cause.OUTPUT_COUNT, "outputs-count"),
    Injection("canary-output", _NO_OUTPUT, Cause.CANARY, "outputs-untouched"),
    Injection("skip-execute", _NO_OUTPUT, Cause.CANARY, "runner-canary"),
    Injection("npu-bad-stream", _CRASHED, Cause.NPU_FAULT, "npu-parse-error"),
    Injection("npu-bad-base", _CRASHED, Cause.NPU_FAULT, "npu-bus-error"),
    Injection("npu-unaligned", _CRASHED, Cause.ALIGNMENT, "alignment-stream"),
    Injection("npu-config", _CRASHED, Cause.CONFIG_MISMATCH, "config-mismatch-macs", "ethos-u55-64"),
    Injection("npu-short-stream", _CRASHED, Cause.NPU_FAULT, "npu-parse-error"),
    Injection("npu-no-irq", _TIMED_OUT, Cause.NO_PROGRESS, "no-progress-idle", slow=True),
    Injection("small-pool", _CRASHED, Cause.ALLOCATOR, "allocator-pool", "1536"),
    Injection("truncate-program", _CRASHED, Cause.PROGRAM_REJECTED, "runner-bad-program"),
    Injection("bad-identifier", _CRASHED, Cause.PROGRAM_REJECTED, "runner-bad-program", "5a5a5a5a"),
    Injection("corrupt-program", _CRASHED, Cause.PROGRAM_REJECTED, "runner-bad-program"),
    Injection("never-exit", _PASSED, Cause.NONE, "passed", slow=True),
    Injection("no-verdict", _NO_OUTPUT, Cause.UNFINISHED, "runner-no-last-frame"),
    Injection("no-such-injection", _CRASHED, Cause.CONFIGURATION, "runner-usage"),
)
