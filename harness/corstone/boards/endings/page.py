"""Writes the catalogue page, ``docs/verdicts.md``, from the rules."""

from __future__ import annotations

from corstone.boards.endings import faults, firmware, launch, npu, outputs, program, simulator, waiting
from corstone.boards.endings.classify import UNKNOWN
from corstone.boards.endings.rule import Rule

_SECTIONS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("The target never ran", launch.RULES),
    ("The simulator itself ended badly", simulator.RULES),
    ("The CPU of the board faulted, or the runner aborted", (*faults.RULES, *faults.LAST)),
    ("The runner refused", program.RULES),
    ("The NPU stopped with an error", npu.RULES),
    ("Our own runner says so", firmware.RULES),
    ("A deadline or a limit passed", waiting.RULES),
    ("Outputs, or what was said about them", outputs.RULES),
    ("Only when nothing above explains an incomplete run", (*outputs.RESIDUAL, UNKNOWN)),
)

_HEAD = """# How a boot can end

This page is generated: `python -m corstone.boards.endings > docs/verdicts.md`. It lists {count} endings besides PASSED.

A boot is PASSED here when the target said that it was done, every output came back complete, and what the runner said
about inputs and outputs agrees with what was asked. Values are judged afterwards, and bits and accuracy have causes of
their own. Otherwise all rows are tried: the worst outcome wins, among equals the earlier row. A row marked *explains*
is left out where the run is complete, so that a line of log alone turns nothing red. *Assumed* means that no public
log shows the simulator's text. Each row that a simulator can play has a transcript in `tests/transcripts`.

Notes that decide nothing: error-level log lines, a simulator that had to be stopped after the target was done, a limit
that passed after that, processes that outlived the simulator, unprintable bytes.
"""


def page() -> str:
    """The page as Markdown."""
    count = sum(len(rules) for _, rules in _SECTIONS)
    lines = [_HEAD.format(count=count)]
    for title, rules in _SECTIONS:
        lines += [
            f"## {title}",
            "",
            "| ending | outcome | cause | what happened | what to do |",
            "|---|---|---|---|---|",
        ]
        lines += [_row(rule) for rule in rules]
        lines.append("")
    return "\n".join(lines)


def _row(rule: Rule) -> str:
    marks = [mark for mark, on in (("assumed", rule.assumed), ("explains", not rule.decides)) if on]
    title = rule.title + (f" *({', '.join(marks)})*" if marks else "")
    cells = (f"`{rule.id}`", rule.outcome.value, rule.cause.value, title, rule.hint)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
