"""Endings where the target ran and the outputs, or what was said about them, are not as asked."""

from __future__ import annotations

from corstone.boards.endings.rule import Match, Matcher, Rule, find
from corstone.boards.facts import BootFacts
from corstone.boards.transports.base import OutputState, State
from corstone.causes import Cause, Outcome
from corstone.firmware.protocol import status_name

_NO_OUTPUT = Outcome.NO_OUTPUT


def _states(facts: BootFacts, *states: State) -> list[OutputState]:
    return [output for output in facts.outputs if output.state in states]


def _names(outputs: list[OutputState]) -> str:
    return "; ".join(f"{o.name}: {o.detail or o.state.value}" for o in outputs)


def _in_state(*states: State) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        found = _states(facts, *states)
        return Match(_names(found)) if found else None

    return match


def _unexpected(facts: BootFacts) -> Match | None:
    beyond = [o for o in _states(facts, State.LONG) if o.expected == 0 and o.name not in _expected_names(facts)]
    counts = _count_said(facts)
    if beyond:
        return Match(f"{len(facts.asked.outputs)} outputs were asked for, more came: {_names(beyond)}")
    if counts is not None and counts != len(facts.asked.outputs) and facts.asked.transport != "none":
        return Match(f"the runner has {counts} outputs, the program {len(facts.asked.outputs)}")
    return None


def _expected_names(facts: BootFacts) -> set[str]:
    return {f"out-{index}.bin" for index in range(len(facts.asked.outputs))}


def _count_said(facts: BootFacts) -> int | None:
    log = facts.transcript
    if log.mlek.copied:
        return log.mlek.copied.tensors
    return log.executorch.output_count


def _too_long(facts: BootFacts) -> Match | None:
    found = [o for o in _states(facts, State.LONG) if o.name in _expected_names(facts)]
    return Match(_names(found)) if found else None


def _missing(some: bool) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        missing = _states(facts, State.MISSING)
        if not missing or (len(missing) < len(facts.outputs)) != some:
            return None
        return Match(f"{len(missing)} of {len(facts.outputs)} outputs were not written: {_names(missing)}")

    return match


def _not_opened(facts: BootFacts) -> Match | None:
    errors = facts.transcript.executorch.write_errors
    return Match(f"the runner could not write an output: {errors[0]}") if errors else None


def _not_dumped(facts: BootFacts) -> Match | None:
    """The UART dump of ExecuTorch's runner knows four types and prints nothing for others."""
    log = facts.transcript.executorch
    if facts.asked.transport != "none" or not log.output_count:
        return None
    dumped = sum(log.elements.values())
    if dumped:
        return None
    return Match(f"{log.output_count} outputs were announced and 0 elements dumped on the console")


def _said(facts: BootFacts, inputs: bool) -> Match | None:
    log, asked = facts.transcript.mlek, facts.asked
    moved = log.populated if inputs else log.copied
    if moved is None:
        return None
    sizes = asked.inputs if inputs else asked.outputs
    address = asked.inputs_address if inputs else asked.outputs_address
    what = "inputs" if inputs else "outputs"
    if moved.tensors != len(sizes) and inputs:
        return Match(f"the runner took {moved.tensors} inputs, {len(sizes)} were sent")
    if moved.size_bytes != sum(sizes):
        return Match(f"the runner says {moved.size_bytes} bytes of {what}, asked were {sum(sizes)}")
    if address is not None and moved.address != address:
        return Match(f"the runner's {what} are at 0x{moved.address:08x}, looked for at 0x{address:08x}")
    return None


def _stated(facts: BootFacts) -> bool:
    """Whether our runner gave a reason of its own, of which these are only the consequence."""
    log = facts.transcript.firmware
    codes = (*(run.code for run in log.runs), log.exit_code)
    return any(code and status_name(code) != "unknown" for code in codes)


def _model_run(facts: BootFacts) -> Match | None:
    if facts.transcript.executorch.model_run is not False or _stated(facts):
        return None
    return Match("the runner says the model did not run (Model run: 0)")


def _bundle(facts: BootFacts) -> Match | None:
    failed = [index for index, passed in facts.transcript.executorch.bundle_results if not passed]
    return Match(f"the bundled program's own comparison failed for test sets {failed}") if failed else None


def _inference_failed(facts: BootFacts) -> Match | None:
    return Match("the runner says that the inference failed") if facts.transcript.mlek.failed else None


def _exit_code(facts: BootFacts) -> Match | None:
    code = facts.transcript.simulator.exit_code
    if _stated(facts):
        return None
    return Match(f"the application's exit code is {code}", {"exit code": str(code)}) if code else None


def _exit_status(facts: BootFacts) -> Match | None:
    status = facts.exit_status
    if not status or status < 0 or facts.stopped_by_us or facts.transcript.simulator.reason or _stated(facts):
        return None
    return Match(f"the simulator ended with status {status}", {"exit status": str(status)})


def _corrupt(facts: BootFacts) -> Match | None:
    log = facts.transcript
    if facts.finished and not log.garbage * 4 > log.size_bytes:
        return None
    if log.garbage < 8 or log.garbage * 20 < log.size_bytes:
        return None
    return Match(f"{log.garbage} of {log.size_bytes} bytes on the console are no text")


def _did_not_stop(facts: BootFacts) -> Match | None:
    if not (facts.finished and facts.stopped_by_us):
        return None
    return Match("the target finished, the simulator did not stop by itself, and outputs or evidence are incomplete")


def _cut_line(facts: BootFacts) -> Match | None:
    if facts.finished or not facts.target_spoke:
        return None
    hit = find(facts, r"(?i)^(INFO - )?(Running inference|Starting running)")
    where = "in the middle of the inference" if hit else "before the inference"
    return Match(
        f"the simulator ended {where}, status {facts.exit_status}; "
        f"last line: {facts.transcript.last_target_line.strip()!r}"
    )


def _no_last_frame(facts: BootFacts) -> Match | None:
    log = facts.transcript.firmware
    if facts.asked.dialect != "corstone" or not log.runs or log.exit_code is not None or facts.stopped_by_us:
        return None
    return Match("our runner ran, and its last frame, which says how it ended, never came")


def _nothing_said(facts: BootFacts) -> Match | None:
    if facts.target_spoke or facts.stopped_by_us:
        return None
    return Match(f"the simulator started and ended with status {facts.exit_status}, and the target printed nothing")


RULES: tuple[Rule, ...] = (
    Rule(
        "inference-failed",
        Outcome.CRASHED,
        Cause.INFERENCE_FAILED,
        "The runner says that the inference failed",
        "see the lines above it in the console log",
        _inference_failed,
    ),
    Rule(
        "model-not-run",
        Outcome.CRASHED,
        Cause.INFERENCE_FAILED,
        "The runner says that the model did not run",
        "see the lines above it in the console log",
        _model_run,
    ),
    Rule(
        "exit-code",
        Outcome.CRASHED,
        Cause.EXIT_STATUS,
        "The application printed an exit code that is not 0",
        "see the target's last lines",
        _exit_code,
    ),
    Rule(
        "exit-status",
        Outcome.CRASHED,
        Cause.EXIT_STATUS,
        "The simulator's status is not 0",
        "see the target's last lines",
        _exit_status,
    ),
    Rule(
        "outputs-not-opened",
        _NO_OUTPUT,
        Cause.OUTPUT_MISSING,
        "The runner could not write an output file",
        "check semihosting-cwd and the space on the disk",
        _not_opened,
    ),
    Rule(
        "outputs-stale",
        _NO_OUTPUT,
        Cause.STALE,
        "An output file is older than the boot",
        "nothing was written by this boot",
        _in_state(State.STALE),
    ),
    Rule(
        "outputs-count",
        _NO_OUTPUT,
        Cause.OUTPUT_COUNT,
        "More or fewer outputs than the program has",
        "the program on the device is not the one asked for",
        _unexpected,
    ),
    Rule(
        "outputs-missing",
        _NO_OUTPUT,
        Cause.OUTPUT_MISSING,
        "No output came back",
        "see the target's last lines",
        _missing(some=False),
    ),
    Rule(
        "outputs-some-missing",
        _NO_OUTPUT,
        Cause.OUTPUT_MISSING,
        "Some outputs did not come back",
        "see the target's last lines",
        _missing(some=True),
    ),
    Rule(
        "outputs-too-short",
        _NO_OUTPUT,
        Cause.OUTPUT_SIZE,
        "An output is too short",
        "the disk may be full, or the program another",
        _in_state(State.SHORT),
    ),
    Rule(
        "outputs-too-long",
        _NO_OUTPUT,
        Cause.OUTPUT_SIZE,
        "An output is too long",
        "the program on the device is not the one asked for, or the device writes beyond its buffer",
        _too_long,
    ),
    Rule(
        "outputs-untouched",
        _NO_OUTPUT,
        Cause.CANARY,
        "The device wrote nothing into an output",
        "the output memory holds the bytes put there before the boot: the result went elsewhere",
        _in_state(State.UNTOUCHED),
    ),
    Rule(
        "outputs-partial",
        _NO_OUTPUT,
        Cause.CANARY,
        "The device wrote only a part of an output",
        "see which bytes were not written",
        _in_state(State.PARTIAL),
    ),
    Rule(
        "outputs-doubtful",
        _NO_OUTPUT,
        Cause.CANARY,
        "An output of a few bytes equals the canary twice",
        "it was not written",
        _in_state(State.DOUBTFUL),
    ),
    Rule(
        "outputs-not-dumped",
        _NO_OUTPUT,
        Cause.UNSUPPORTED,
        "The console dump lacks the output's type",
        "the runner's dump knows int32, float, int8 and bool: use semihosting files",
        _not_dumped,
    ),
    Rule(
        "evidence-inputs",
        _NO_OUTPUT,
        Cause.EVIDENCE,
        "The runner took other inputs than were sent",
        "the program's inputs and the files sent differ",
        lambda facts: _said(facts, inputs=True),
    ),
    Rule(
        "evidence-outputs",
        _NO_OUTPUT,
        Cause.EVIDENCE,
        "The runner's byte count differs from what was asked",
        "the program on the device is not the one asked for",
        lambda facts: _said(facts, inputs=False),
    ),
    Rule(
        "bundle-failed",
        Outcome.FAILED,
        Cause.BITS,
        "A bundled program's own comparison failed",
        "see the error statistics in the console log",
        _bundle,
    ),
)

# Used only when nothing above matched and the run is not complete.
RESIDUAL: tuple[Rule, ...] = (
    Rule(
        "console-corrupt",
        _NO_OUTPUT,
        Cause.CONSOLE_CORRUPT,
        "The console's text is garbled",
        "a wrong UART clock, or memory printed as text",
        _corrupt,
    ),
    Rule(
        "did-not-stop",
        _NO_OUTPUT,
        Cause.DID_NOT_STOP,
        "The target finished, the simulator ran on, and the run is not complete",
        "let it stop with shutdown_on_eot, a shutdown tag or a semihosting exit",
        _did_not_stop,
    ),
    Rule(
        "runner-no-last-frame",
        _NO_OUTPUT,
        Cause.UNFINISHED,
        "Our runner ended without its last frame",
        "the console lost its end, or something else ended the boot: see the target's last lines",
        _no_last_frame,
    ),
    Rule(
        "unfinished",
        _NO_OUTPUT,
        Cause.UNFINISHED,
        "The simulator ended before the target was done",
        "see the target's last lines",
        _cut_line,
    ),
    Rule(
        "no-target-text",
        _NO_OUTPUT,
        Cause.NO_CONSOLE,
        "The simulator started and ended, the target printed nothing",
        "the ELF may be for another board or print elsewhere",
        _nothing_said,
    ),
)
