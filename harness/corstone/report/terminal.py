"""Verdicts as text: one line while running, a full page for a failure, a table at the end.

Plain text without colour codes; the callers colour whole lines. Needs no numpy. Text that came from a device or a
file is shown with its control characters escaped, so that a console cannot steer the reader's terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from corstone.capture import Executor
from corstone.causes import Cause, Outcome
from corstone.judge.verdict import Comparison, StageDistance, Verdict, WorstElement
from corstone.report.record import CaseRecord

_TAIL_LINES = 15
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


DEVICES = ("fvp", "emulator")
"""Kinds of executors that count as a device; a ``host`` target is none."""


def safe(text: str) -> str:
    """Control and direction characters as their hexadecimal escapes; newlines and tabs stay."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def executed_by(record: CaseRecord) -> str:
    """Who executed a case: an FVP and the emulator are told apart in words."""
    return "not executed on a device" if record.executor is None else named(record.executor)


def named(executor: Executor) -> str:
    """Name, version and kind of what played the board."""
    kind = {"fvp": "Arm FVP", "host": "no board: host reference"}.get(executor.kind, "emulator, not an Arm product")
    return safe(f"{executor} ({kind})")


def name(record: CaseRecord) -> str:
    """Network, width, policy, on one line: a CI server obeys lines that begin with its commands."""
    words = " ".join(filter(None, (record.network, width(record), record.policy)))
    return safe(words).replace("\n", "\\n") or "program"


def width(record: CaseRecord) -> str:
    """``int8`` or ``int16``; empty when nothing was quantized."""
    return f"int{record.bits}" if record.bits else ""


def line(record: CaseRecord) -> str:
    """One line: verdict, case, who, the reason if it did not pass."""
    verdict = record.verdict
    seconds = sum(record.seconds.values()) if "total" not in record.seconds else record.seconds["total"]
    text = f"{label(verdict):<22} {name(record)} · {record.target} on {record.board} · {executed_by(record)}"
    text += f" · {seconds:.2f} s"
    return text if verdict.outcome is Outcome.PASSED else f"{text}\n{'':23}{safe(verdict.reason)}"


def label(verdict: Verdict) -> str:
    """``PASSED``, or the outcome with its cause."""
    return str(verdict.outcome) if verdict.cause is Cause.NONE else f"{verdict.outcome} ({verdict.cause})"


def page(record: CaseRecord, console: bytes = b"") -> str:
    """Everything a reader needs about one case, in the order they ask for it."""
    verdict = record.verdict
    parts = [
        f"{label(verdict)}: {name(record)}, {record.target} on {record.board}, {executed_by(record)}",
        f"  {safe(verdict.reason)}",
    ]
    if verdict.hint:
        parts.append(f"  what to do: {safe(verdict.hint)}")
    if verdict.first_difference:
        parts.append(f"  first difference: {safe(verdict.first_difference)}")
    parts += _stages(verdict)
    for comparison in verdict.comparisons:
        parts += _comparison(comparison)
    parts += [f"  note: {safe(note)}" for note in verdict.notes]
    if verdict.outcome not in (Outcome.PASSED, Outcome.FAILED):
        parts += [f"  {safe(key)}: {safe(value)}" for key, value in verdict.evidence.items()]
        parts += console_tail(console) if record.executor is not None else []
    else:
        parts += [f"  {safe(k)}: {safe(v)}" for k, v in verdict.evidence.items() if k.endswith("quantization")]
    if record.capture:
        parts.append(f"  capture: {safe(record.capture)}")
    if record.repro:
        parts.append(f"  again: {safe(record.repro)}")
    return "\n".join(parts)


def _stages(verdict: Verdict) -> list[str]:
    if not verdict.stages:
        return []
    steps = [f"{s.earlier} → {s.later} {_number(s.max_lsb)} LSB{_first(s)}" for s in verdict.stages]
    return ["  largest step between stages: " + ", ".join(steps)]


def _first(stage: StageDistance) -> str:
    """The first element that moved, by its flat index."""
    if stage.first_index is None:
        return ""
    output = f" of output {stage.first_output}" if stage.first_output else ""
    return f" (first at {stage.first_index}{output})"


def _comparison(comparison: Comparison) -> list[str]:
    title = f"  output {comparison.output} against {safe(comparison.reference)}: "
    if comparison.exact:
        differ = f"{comparison.differing} of {comparison.count} elements differ"
        parts = [title + ("equal, bit for bit" if comparison.passed else differ)]
    else:
        share = "" if comparison.budget_share is None else f", {_percent(comparison.budget_share)} of the budget"
        parts = [title + f"at most {_number(comparison.max_lsb)} LSB ({_number(comparison.max_abs)}){share}"]
        parts += [
            f"    {safe(r.name)}: {_number(r.max_lsb)} of {_number(r.budget_lsb)} LSB over {r.count} elements "
            f"({safe(r.reason)})"
            for r in comparison.regions
        ]
    if comparison.note:
        parts.append(f"    {safe(comparison.note)}")
    return parts if comparison.passed else parts + worst_table(comparison.worst)


def worst_table(worst: Sequence[WorstElement]) -> list[str]:
    """Aligned rows: index, input and its code, expected, got, and their codes, distance."""
    rows = [["index", "input", "code", "expected", "code", "got", "code", "LSB"]]
    rows += [
        [
            ",".join(map(str, w.index)) or "-",
            "-" if w.input_value is None else _number(w.input_value),
            "-" if w.input_code is None else str(w.input_code),
            _number(w.expected),
            "-" if w.expected_code is None else str(w.expected_code),
            _number(w.got),
            "-" if w.got_code is None else str(w.got_code),
            _number(w.distance_lsb),
        ]
        for w in worst
    ]
    return ["    " + text for text in columns(rows, right=True)]


def table(records: Iterable[CaseRecord]) -> list[str]:
    """The table of verdicts at the end of a run: one row a case."""
    rows = [["verdict", "network", "bits", "policy", "target", "board", "executed by", "worst LSB", "budget", "s"]]
    for record in records:
        comparisons = record.verdict.comparisons
        floats = [c for c in comparisons if not c.exact]
        shares = [c.budget_share for c in floats if c.budget_share is not None]
        rows.append(
            [
                label(record.verdict),
                safe(record.network),
                width(record),
                safe(record.policy),
                safe(record.target),
                safe(record.board),
                "-" if record.executor is None else safe(record.executor.name),
                _number(max(c.max_lsb for c in floats)) if floats else "-",
                _percent(max(shares)) if shares else "-",
                f"{record.seconds.get('total', sum(record.seconds.values())):.2f}",
            ]
        )
    return columns(rows)


def summary(records: Sequence[CaseRecord]) -> str:
    """``5 PASSED, 1 FAILED``, worst first."""
    counts = [(outcome, sum(r.verdict.outcome is outcome for r in records)) for outcome in Outcome]
    return ", ".join(f"{count} {outcome}" for outcome, count in counts if count) or "nothing ran"


def ran_on_device(records: Sequence[CaseRecord], selected: int | None = None) -> str:
    """The last line of every run."""
    kinds = [kind for r in records if r.executor is not None and (kind := r.executor.kind) in DEVICES]
    total = len(records) if selected is None else selected
    return device_line(len(kinds), total, kinds.count("fvp"), kinds.count("emulator"))


def from_cache(records: Sequence[CaseRecord]) -> str:
    """``6 programs, 5 of them from the cache``; empty where no program was made or taken."""
    made = [r.program for r in records if r.program]
    if not made:
        return ""
    return f"{len(made)} program{'s' if len(made) != 1 else ''}, {made.count('cache')} of them from the cache"


# Stage of a record's seconds to what it is called here; what is missing is small.
_PARTS = {"lower": "waiting for programs", "boot": "boots", "references": "references", "judge": "judging"}


def time_spent(records: Sequence[CaseRecord]) -> str:
    """``waiting for programs 8.1 s, boots 2.0 s``: sums over the cases, in order; empty where none was timed."""
    sums = {name: sum(r.seconds.get(stage, 0.0) for r in records) for stage, name in _PARTS.items()}
    return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in sums.items() if seconds >= 0.05)


def device_line(executed: int, total: int, fvp: int, emulator: int) -> str:
    """How much of a run reached a device, and whose."""
    return f"{executed} of {total} ran on a device, {fvp} on an FVP, {emulator} on the emulator"


def columns(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """Rows padded to columns, the last column unpadded when left-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    pad = str.rjust if right else str.ljust
    return ["  ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def console_tail(console: bytes) -> list[str]:
    """The last lines of a transcript, indented."""
    lines = [text for text in console.decode("utf-8", "replace").splitlines() if text.strip()]
    if not lines:
        return ["  the console stayed empty"]
    return ["  end of the console:", *(f"    | {safe(text)}" for text in lines[-_TAIL_LINES:])]


def _number(value: float) -> str:
    return f"{value:.6g}"


def _percent(share: float) -> str:
    return f"{share:.0%}" if share < 1e4 else "more than all"
