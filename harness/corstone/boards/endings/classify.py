"""From the facts of a boot to its one ending.

All rules are tried. The worst outcome wins; among equals the earlier row, as rows go from root cause to symptom.
Only a run that is complete by outputs *and* by what the runner said about them is PASSED; whatever is in doubt is not.
"""

from __future__ import annotations

from corstone.boards.endings import faults, firmware, launch, npu, outputs, program, simulator, waiting
from corstone.boards.endings.rule import Match, Rule, find
from corstone.boards.facts import BootFacts
from corstone.boards.transports.base import State
from corstone.capture import Ending
from corstone.causes import Cause, Outcome

RULES: tuple[Rule, ...] = (
    *launch.RULES,
    *simulator.RULES,
    *faults.RULES,
    *program.RULES,
    *npu.RULES,
    *firmware.RULES,
    *faults.LAST,
    *waiting.RULES,
    *outputs.RULES,
)

UNKNOWN = Rule(
    "unknown",
    Outcome.NO_OUTPUT,
    Cause.EVIDENCE,
    "Nothing in this catalogue, and not complete",
    "report it with the console log",
    lambda _facts: Match("the run is not complete and no known ending explains it"),
)


def classify(facts: BootFacts) -> tuple[Ending, tuple[str, ...]]:
    """The ending, and notes on what was odd without deciding it."""
    lacking = incomplete(facts)
    hits = [(rule, match) for rule in RULES if (rule.decides or lacking) and (match := rule.match(facts)) is not None]
    hits.sort(key=lambda hit: hit[0].outcome.severity)  # stable: rows keep their order within an outcome
    if not hits and not lacking:
        return Ending(Outcome.PASSED, Cause.NONE, "finished with all outputs", "", {"ending": "passed"}), notes(facts)
    if not hits:
        rule = next((r for r in (*outputs.RESIDUAL, UNKNOWN) if r.match(facts)), UNKNOWN)
        match = rule.match(facts)
        assert match is not None
        hits = [(rule, match)]
    (rule, match), others = hits[0], hits[1:]
    evidence = {"ending": rule.id, **match.evidence}
    if others:
        evidence["also"] = ", ".join(other.id for other, _ in others)
    if lacking:
        evidence["lacking"] = "; ".join(lacking)
    return Ending(rule.outcome, rule.cause, match.message, match.hint or rule.hint, evidence), notes(facts)


def incomplete(facts: BootFacts) -> list[str]:
    """What is missing for a complete run; empty for one that is."""
    log, lacking = facts.transcript, []
    if facts.stopped == "not-started":
        lacking.append("the simulator was not started")
    if not facts.finished:
        lacking.append("the target did not say that it was done")
    if len(facts.outputs) != len(facts.asked.outputs):
        lacking.append(f"{len(facts.outputs)} of {len(facts.asked.outputs)} outputs")
    lacking += [f"{o.name} is {o.state.value}" for o in facts.outputs if o.state is not State.COMPLETE]
    if facts.asked.dialect == "mlek":
        if not log.mlek.populated and facts.asked.inputs:
            lacking.append("no line about inputs")
        if not log.mlek.completed:
            lacking.append("no line about a completed inference")
        if not log.mlek.copied:
            lacking.append("no line about outputs")
    if facts.asked.dialect == "corstone":
        runner = log.firmware
        if runner.missing or runner.spoiled:
            lacking.append("frames of the runner are missing or garbled")
        if len(runner.runs) != 1 or runner.runs[0].code != 0:
            lacking.append("no frame of one good run")
        if runner.exit_code is None and not facts.stopped_by_us:
            lacking.append("no last frame of the runner")
    if facts.asked.dialect == "executorch" and not (log.executorch.complete or log.executorch.model_run):
        lacking.append("no line about a completed run")
    return lacking


def notes(facts: BootFacts) -> tuple[str, ...]:
    """Oddities worth a line in a report, for any ending."""
    log, found = facts.transcript, []
    if facts.finished and facts.stopped_by_us:
        found.append(f"the simulator did not stop by itself ({facts.stopped.upper()} was sent)")
    if facts.finished and log.simulator.reason:
        found.append(f"the target had finished; the simulator stopped later: {log.simulator.reason}")
    if facts.left_behind:
        found.append(f"{facts.left_behind} processes of the simulator outlived it and were stopped")
    errors = [m for m in log.executorch.messages if m.severity in "EF"]
    if errors:
        found.append(f"{len(errors)} error-level log lines, first: {errors[0].message}")
    driver = find(facts, r"^[EF]: |^ERROR - ", "target")
    if driver:
        found.append(f"error-level line {driver[0].number}: {driver[0].text.strip()}")
    if log.garbage:
        found.append(f"{log.garbage} unprintable bytes on the console")
    return tuple(found)
