"""Endings that our own runner states in its frames: the code of a run, and outputs that differ from what it announced.

Frames carry a running number and a CRC, so that a lost or garbled one is seen. Codes: ``corstone.firmware.protocol``.
"""

from __future__ import annotations

from corstone.boards.endings.rule import Match, Matcher, Rule
from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome
from corstone.firmware.protocol import OutputFrame, RunLog, status_name

_CRASHED, _NO_OUTPUT = Outcome.CRASHED, Outcome.NO_OUTPUT

# Status of a run, outcome, cause, title, hint.
_CODES: tuple[tuple[str, Outcome, Cause, str, str], ...] = (
    (
        "usage",
        _CRASHED,
        Cause.CONFIGURATION,
        "Our runner refuses its command line",
        "see semihosting-cmd_line in the command",
    ),
    ("file", _CRASHED, Cause.NO_SEMIHOSTING, "Our runner cannot read a file by semihosting", "check semihosting-cwd"),
    ("bad-program", _CRASHED, Cause.PROGRAM_REJECTED, "Our runner finds the program damaged", "compile it again"),
    (
        "unsupported",
        _CRASHED,
        Cause.UNSUPPORTED,
        "The program needs what our runner lacks",
        "use Arm's image on Corstone-300 with Ethos-U55 (--runner arm-executorch-u55)",
    ),
    (
        "bad-input",
        _CRASHED,
        Cause.BAD_INPUT,
        "An input does not fit the program",
        "compare the input files with the program's inputs",
    ),
    (
        "allocator",
        _CRASHED,
        Cause.ALLOCATOR,
        "Our runner's memory is too small for the program",
        "compile with a smaller arena",
    ),
    (
        "config-mismatch",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "The program is for another NPU",
        "compile for this target, or boot with the program's",
    ),
    (
        "npu-fault",
        _CRASHED,
        Cause.NPU_FAULT,
        "The NPU stopped with an error on our runner",
        "see the NPU's status above",
    ),
    (
        "npu-timeout",
        _CRASHED,
        Cause.NPU_TIMEOUT,
        "The NPU's interrupt never came on our runner",
        "check the NPU's interrupt, and that the stream ends with a stop",
    ),
    (
        "canary",
        _NO_OUTPUT,
        Cause.CANARY,
        "Our runner found an output that nothing wrote",
        "the program's plan leaves an output out, or the NPU wrote elsewhere",
    ),
    (
        "output",
        _NO_OUTPUT,
        Cause.OUTPUT_MISSING,
        "Our runner could not write an output",
        "check semihosting-cwd and the space on the disk",
    ),
    (
        "limit",
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "The program goes beyond a limit of our runner",
        "a damaged program, or a loop that does not end",
    ),
    (
        "no-npu",
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "Our runner finds no NPU it knows",
        "the simulator has no NPU there, or another product",
    ),
    ("alignment", _CRASHED, Cause.ALIGNMENT, "Something that the NPU reads is not aligned", "align it to 16 bytes"),
    (
        "console",
        _CRASHED,
        Cause.CONSOLE_CORRUPT,
        "Our runner lost console text",
        "the simulator's UART did not take it in time",
    ),
    (
        "interrupt",
        _CRASHED,
        Cause.CPU_FAULT,
        "An interrupt that nobody asked for, on our runner",
        "see its number above",
    ),
    ("NMI", _CRASHED, Cause.CPU_FAULT, "A non-maskable interrupt on our runner", "something pended it"),
    ("abort", _CRASHED, Cause.ABORT, "Our runner aborted", "see its last lines"),
)


def _run(facts: BootFacts) -> RunLog | None:
    runs = facts.transcript.firmware.runs
    return runs[0] if runs else None


def _code(facts: BootFacts) -> int | None:
    """The code of the run, or of the boot when no run began."""
    run = _run(facts)
    return run.code if run is not None and run.code is not None else facts.transcript.firmware.exit_code


def _status(name: str) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        code = _code(facts)
        if not code or status_name(code) != name:
            return None
        run = _run(facts)
        text = run.text if run is not None and run.text else _error_line(facts, name)
        return Match(f"our runner ended with {name} (code {code})" + (f": {text}" if text else ""), {"code": str(code)})

    return match


def _error_line(facts: BootFacts, name: str) -> str:
    errors = [m.message for m in facts.transcript.executorch.messages if m.severity in "EF"]
    return next(
        (text.removeprefix(f"{name}: ") for text in errors if text.startswith(name)), errors[0] if errors else ""
    )


def _broken(facts: BootFacts) -> Match | None:
    log = facts.transcript.firmware
    if facts.asked.dialect != "corstone" or not (log.spoiled or log.missing):
        return None
    return Match(f"{log.spoiled} frames of the runner are garbled, {len(log.missing)} are missing")


def _announced(facts: BootFacts) -> list[OutputFrame]:
    run = _run(facts)
    return list(run.outputs) if run is not None and run.code == 0 else []


def _count(facts: BootFacts) -> Match | None:
    run = _run(facts)
    if facts.asked.dialect != "corstone" or run is None or run.code != 0:
        return None
    frames, expected = sorted(f.index for f in run.outputs), list(range(len(facts.asked.outputs)))
    if frames == expected and run.output_count == len(expected):
        return None
    return Match(
        f"the runner announced outputs {frames} and counts {run.output_count}, the program has {len(expected)}"
    )


def _types(facts: BootFacts) -> Match | None:
    for frame in _announced(facts):
        if frame.index >= len(facts.asked.output_types):
            continue
        said, asked = f"{frame.dtype}{list(frame.shape)}", facts.asked.output_types[frame.index]
        if said != asked:
            return Match(f"the runner says output {frame.index} is {said}, the program says {asked}")
        if frame.size_bytes != facts.asked.outputs[frame.index]:
            return Match(
                f"the runner says output {frame.index} has {frame.size_bytes} bytes, "
                f"expected {facts.asked.outputs[frame.index]}"
            )
    return None


def _names(facts: BootFacts) -> Match | None:
    for frame in _announced(facts):
        if frame.name != f"out-{frame.index}.bin":
            return Match(
                f"the runner says output {frame.index} is in {frame.name!r}, asked was 'out-{frame.index}.bin'"
            )
    return None


def _crc(facts: BootFacts) -> Match | None:
    files = {state.name: state for state in facts.outputs}
    for frame in _announced(facts):
        state = files.get(f"out-{frame.index}.bin")
        if state is None or len(state.data) != frame.size_bytes or frame.matches(state.data):
            continue
        return Match(f"output {frame.index} on the host does not have the CRC that the device announced")
    return None


RULES: tuple[Rule, ...] = (
    *(
        Rule(f"runner-{name.lower()}", outcome, cause, title, hint, _status(name))
        for name, outcome, cause, title, hint in _CODES
    ),
    Rule(
        "runner-frames",
        _NO_OUTPUT,
        Cause.CONSOLE_CORRUPT,
        "Frames of our runner are garbled or missing",
        "the console lost or changed bytes: what it says cannot be trusted",
        _broken,
    ),
    Rule(
        "runner-output-count",
        _NO_OUTPUT,
        Cause.OUTPUT_COUNT,
        "Our runner announced more or fewer outputs",
        "the program on the device is not the one asked for",
        _count,
    ),
    Rule(
        "runner-output-type",
        _NO_OUTPUT,
        Cause.OUTPUT_SIZE,
        "An output has another type, shape or size than the program says",
        "the program on the device is not the one asked for",
        _types,
    ),
    Rule(
        "runner-output-name",
        _NO_OUTPUT,
        Cause.EVIDENCE,
        "Our runner wrote an output under another name",
        "report it with the console log",
        _names,
    ),
    Rule(
        "runner-output-crc",
        _NO_OUTPUT,
        Cause.EVIDENCE,
        "The file differs from what the device had",
        "the semihosting write was cut or changed: check the disk",
        _crc,
    ),
)
