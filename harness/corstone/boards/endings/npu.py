"""Endings where the NPU stopped with an error, or never raised its interrupt.

STATUS bits: hal_ethos_u ethosu55/65/85_interface.h. 2 bus error, 4 command parse error, 5 end reached, 7 watchdog (U55,
U65), 8 ECC, 9 branch (U85), 11 interface, 15:12 channel.
"""

from __future__ import annotations

from corstone.boards.endings.rule import SIMULATOR, Match, Matcher, Rule, find, says
from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome

_CRASHED = Outcome.CRASHED
_CHANNELS = {
    0: "command",
    1: "input",
    2: "weights",
    3: "scale and bias",
    4: "memory copy",
    8: "output",
    9: "memory copy write",
}
_BITS = {2: "bus error", 4: "command parse error", 7: "watchdog", 8: "ECC error", 9: "branch fault"}


def decode_status(status: int) -> str:
    """The STATUS register in words."""
    words = [name for bit, name in _BITS.items() if status >> bit & 1]
    if status >> 2 & 1:
        words.append(f"on the {_CHANNELS.get(status >> 12 & 15, 'unknown')} channel, port {status >> 11 & 1}")
    words.append("running" if status & 1 else "stopped")
    words.append("end reached" if status >> 5 & 1 else "end not reached")
    return ", ".join(words)


def _emulator_report(facts: BootFacts) -> tuple[str, str]:
    """The emulator's own account, (kind, text): command name, offset and operands; empty on an FVP."""
    hit = find(facts, r"^corstone-emulator: (?P<what>NPU (?P<kind>\w+) fault.*)", SIMULATOR)
    return (hit[1]["kind"], hit[1]["what"]) if hit else ("", "")


def _status(bit: int) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        hit = find(facts, r"NPU status=0x(?P<status>[0-9a-fA-F]{1,8}),? qread=(?P<qread>\d+)")
        if hit is None or not int(hit[1]["status"], 16) >> bit & 1:
            return None
        status = int(hit[1]["status"], 16)
        _, report = _emulator_report(facts)
        return Match(
            f"NPU: {decode_status(status)}; command stream at byte {hit[1]['qread']}"
            + (f"; {report}" if report else ""),
            {"status": f"0x{status:08x}", "qread": hit[1]["qread"]},
        )

    return match


def _reported(*kinds: str) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        kind, report = _emulator_report(facts)
        return Match(report, {"emulator": report}) if kind in kinds else None

    return match


def _either(*matchers: Matcher) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        return next((found for m in matchers if (found := m(facts))), None)

    return match


RULES: tuple[Rule, ...] = (
    Rule(
        "npu-not-modelled",
        _CRASHED,
        Cause.UNSUPPORTED,
        "The program uses what our NPU model lacks",
        "run it on Arm's FVP; report the command, so that the model can learn it",
        _reported("unsupported"),
    ),
    Rule(
        "npu-bad-weights",
        _CRASHED,
        Cause.NPU_FAULT,
        "The NPU met a corrupt weight stream",
        "compile the program again; the weights are damaged, or for another product",
        _reported("weights"),
    ),
    Rule(
        "npu-overlap",
        _CRASHED,
        Cause.NPU_FAULT,
        "An input and an output of one NPU operation share bytes",
        "report the program: the result would depend on timing",
        _reported("overlap"),
    ),
    Rule(
        "npu-overflow",
        _CRASHED,
        Cause.NPU_FAULT,
        "An accumulator of the NPU went beyond its width",
        "scale the network's inputs or weights down",
        _reported("overflow"),
    ),
    Rule(
        "npu-limit",
        _CRASHED,
        Cause.NPU_TIMEOUT,
        "The NPU model reached its limit of work, memory or time",
        "raise the total deadline (timeout_s); a damaged stream can ask for absurd sizes",
        _reported("limit"),
    ),
    Rule(
        "npu-bus-error",
        _CRASHED,
        Cause.NPU_FAULT,
        "The NPU read or wrote outside memory it reaches",
        "an address of the stream lies outside the board's memory: check scratch size and memory mode",
        _either(_status(2), _reported("bus")),
    ),
    Rule(
        "npu-parse-error",
        _CRASHED,
        Cause.NPU_FAULT,
        "The NPU met a command it does not know",
        "the stream is damaged, or for another product or version; 'corstone trace' shows it command by command",
        _either(_status(4), _reported("parse")),
    ),
    Rule(
        "npu-watchdog", _CRASHED, Cause.NPU_FAULT, "The NPU's watchdog fired", "report it with the program", _status(7)
    ),
    Rule(
        "npu-ecc",
        _CRASHED,
        Cause.NPU_FAULT,
        "The NPU met an ECC error",
        "run it again; report it when it repeats",
        _status(8),
    ),
    Rule(
        "npu-branch",
        _CRASHED,
        Cause.NPU_FAULT,
        "The NPU took a bad branch (U85)",
        "report it with the program",
        _status(9),
    ),
    Rule(
        "npu-timeout",
        _CRASHED,
        Cause.NPU_TIMEOUT,
        "The driver gave up waiting for the NPU",
        "the interrupt never came: check the NPU's interrupt number, or that the stream ends with a stop",
        says(r"NPU inference timed out"),
    ),
    Rule(
        "npu-error",
        _CRASHED,
        Cause.NPU_FAULT,
        "The NPU stopped with an error that was not decoded",
        "see the console log",
        says(r"NPU error\(s\) occured during inference|NPU status=0x|^corstone-emulator: NPU \w+ fault"),
    ),
    Rule(
        "npu-invoke-failed",
        _CRASHED,
        Cause.INFERENCE_FAILED,
        "The driver or the backend refused the inference",
        "see the lines above it in the console log",
        says(
            r"Failed to invoke inference|Ethos-U invocation failed error|ethosu_reserve_driver failed"
            r"|UNSUPPORTED driver_action_command|Failed to request power"
        ),
    ),
)
