"""Endings by a deadline or a limit: nothing came, nothing moved, too slow, or the simulator's own limit.

Slow is not stuck: text in the last seconds is progress. A busy simulator without text is a target that spins or
computes; an idle one waits for something.
"""

from __future__ import annotations

from corstone.boards.endings.rule import Match, Rule
from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome

_TIMED_OUT = Outcome.TIMED_OUT
_CPU_LIMIT = "CPU time has been exceeded"
_SIMULATED_LIMIT = "Simulated time has been exceeded"
_CYCLE_LIMIT = "Cycle limit has been exceeded"


def _limit(facts: BootFacts) -> str:
    return facts.transcript.simulator.reason


def _out_of_time(facts: BootFacts) -> bool:
    return facts.waited.kind == "deadline" or bool(_limit(facts))


def _spoke(facts: BootFacts) -> bool:
    return bool(facts.transcript.target_lines)


def _waited(facts: BootFacts) -> str:
    if facts.waited.kind == "deadline":
        return f"after {facts.waited.seconds:.1f} s (deadline: {facts.waited.name})"
    return f"at the simulator's own limit ({_limit(facts)})"


def _last(facts: BootFacts) -> str:
    return f"last line of the target: {facts.transcript.last_target_line.strip()!r}"


def _busy(facts: BootFacts) -> bool | None:
    return None if facts.cpu_s is None else facts.cpu_s > 0.05


def _nothing_at_all(facts: BootFacts) -> Match | None:
    if facts.waited.kind != "deadline" or facts.transcript.lines:
        return None
    busy = {True: "it is computing", False: "it uses no CPU time", None: ""}[_busy(facts)]
    return Match(f"the simulator printed nothing {_waited(facts)}" + (f"; {busy}" if busy else ""))


def _silent_target(facts: BootFacts, semihosting: bool) -> Match | None:
    if not _out_of_time(facts) or not facts.transcript.lines or _spoke(facts) or facts.finished:
        return None
    if _is_semihosting(facts) != semihosting:
        return None
    return Match(f"the simulator started and the target printed nothing {_waited(facts)}")


def _is_semihosting(facts: BootFacts) -> bool:
    """Whether the runner talks by semihosting and nobody may be serving it."""
    return facts.asked.transport == "semihosting" or not any(
        "semihosting-enable=1" in word or "uart0.out_file" in word for word in facts.asked.command
    )


def _flood(facts: BootFacts) -> Match | None:
    if facts.waited.kind != "flood":
        return None
    return Match(f"the target printed {facts.transcript.size_bytes} bytes and more without end; {_last(facts)}")


def _slow(facts: BootFacts) -> Match | None:
    waited = facts.waited
    if waited.kind != "deadline" or waited.name != "total" or not _spoke(facts) or facts.finished:
        return None
    # Quiet for less than a fifth of the whole time counts as moving.
    if waited.silent_s > 0.2 * waited.seconds:
        return None
    return Match(f"still printing {_waited(facts)}, the last text {waited.silent_s:.1f} s ago; {_last(facts)}")


def _stuck(facts: BootFacts, busy: bool) -> Match | None:
    if facts.waited.kind != "deadline" or not _spoke(facts) or facts.finished or _slow(facts):
        return None
    if (_busy(facts) is not False) != busy:
        return None
    state = "the simulator is computing" if busy else "the simulator uses no CPU time"
    where = " during the inference" if _in_inference(facts) else ""
    return Match(f"no text for {facts.waited.silent_s:.1f} s{where} {_waited(facts)}; {state}; {_last(facts)}")


def _in_inference(facts: BootFacts) -> bool:
    last = facts.transcript.last_target_line
    return "Running inference" in last or "Starting running" in last


def _at_limit(facts: BootFacts, text: str) -> Match | None:
    if text not in _limit(facts) or not _spoke(facts) or facts.finished:
        return None
    return Match(f"the simulator stopped at its own limit: {_limit(facts)}; {_last(facts)}")


RULES: tuple[Rule, ...] = (
    Rule(
        "no-start",
        _TIMED_OUT,
        Cause.NO_START,
        "The simulator printed nothing before the start deadline",
        "a licence server or a display may be waited for; run the command line below by hand",
        _nothing_at_all,
    ),
    Rule(
        "no-semihosting",
        _TIMED_OUT,
        Cause.NO_SEMIHOSTING,
        "A semihosting runner printed nothing",
        "the ELF waits for semihosting that nobody serves: check semihosting-enable and semihosting-cmd_line, and that "
        "the ELF is the semihosting flavour",
        lambda facts: _silent_target(facts, semihosting=True),
    ),
    Rule(
        "no-console",
        _TIMED_OUT,
        Cause.NO_CONSOLE,
        "The target printed nothing",
        "the ELF may be for another board, use another UART, or wait for semihosting: see 'corstone preflight'",
        lambda facts: _silent_target(facts, semihosting=False),
    ),
    Rule(
        "console-flood",
        _TIMED_OUT,
        Cause.CONSOLE_FLOOD,
        "The target printed without end",
        "a loop that prints; the first and last lines are in the console log",
        _flood,
    ),
    Rule(
        "slow",
        _TIMED_OUT,
        Cause.SLOW,
        "The target was still printing at the total deadline",
        "raise the total deadline (timeout_s)",
        _slow,
    ),
    Rule(
        "no-progress-busy",
        _TIMED_OUT,
        Cause.NO_PROGRESS,
        "The target stopped printing, the simulator computes",
        "a fault handler that spins, a loop, or a long inference: raise the progress deadline to tell them apart",
        lambda facts: _stuck(facts, busy=True),
    ),
    Rule(
        "no-progress-idle",
        _TIMED_OUT,
        Cause.NO_PROGRESS,
        "The target stopped printing, the simulator is idle",
        "the CPU sleeps and waits for an interrupt, or the simulator waits for something on the host",
        lambda facts: _stuck(facts, busy=False),
    ),
    Rule(
        "simulator-time-limit",
        _TIMED_OUT,
        Cause.SIMULATOR_TIME_LIMIT,
        "The simulator's --timelimit or --cpulimit passed",
        "host seconds, although its message speaks of CPU time: raise the total deadline (timeout_s)",
        lambda facts: _at_limit(facts, _CPU_LIMIT),
    ),
    Rule(
        "simulated-time-limit",
        _TIMED_OUT,
        Cause.SIMULATOR_TIME_LIMIT,
        "The simulator's --simlimit passed",
        "simulated seconds, not those of the host: raise --simlimit",
        lambda facts: _at_limit(facts, _SIMULATED_LIMIT),
    ),
    Rule(
        "cycle-limit",
        _TIMED_OUT,
        Cause.SIMULATOR_TIME_LIMIT,
        "The simulator's --cyclelimit passed",
        "raise --cyclelimit",
        lambda facts: _at_limit(facts, _CYCLE_LIMIT),
    ),
)
