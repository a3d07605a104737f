"""One row of the endings catalogue, and the few helpers its matchers share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome
from corstone.transcript.lines import SIMULATOR, TARGET, Line


@dataclass(frozen=True)
class Match:
    """What a matcher saw: one sentence, and facts to keep."""

    message: str
    evidence: dict[str, str] = field(default_factory=dict)
    hint: str = ""


Matcher = Callable[[BootFacts], Match | None]


@dataclass(frozen=True)
class Rule:
    """One way a boot can end.

    ``id`` is stable and names the recorded transcript. ``title`` and ``hint`` are what the catalogue page says; a
    match may carry a more exact hint. ``assumed`` marks texts that no public log shows. A rule that does not
    decide only explains: it is left out where the run is complete by outputs and evidence, so that a line of log alone
    turns nothing red.
    """

    id: str
    outcome: Outcome
    cause: Cause
    title: str
    hint: str
    match: Matcher
    assumed: bool = False
    decides: bool = True


def find(facts: BootFacts, pattern: str, source: str = "") -> tuple[Line, re.Match[str]] | None:
    """First line that the pattern is found in; ``source`` limits it to the simulator's or the target's lines."""
    compiled = re.compile(pattern)
    # Nearly every rule finds nothing: one search in the whole text, which finds at least what the lines would, says so.
    if not re.compile(pattern, re.MULTILINE).search(facts.transcript.text):
        return None
    for line in facts.transcript.lines:
        if source and line.source != source:
            continue
        found = compiled.search(line.text)
        if found:
            return line, found
    return None


def says(pattern: str, source: str = "", message: str = "{line}", unless: str = "") -> Matcher:
    """A matcher on one line of text. ``message`` may use ``{line}`` and the pattern's named groups."""

    def match(facts: BootFacts) -> Match | None:
        hit = find(facts, pattern, source)
        if hit is None or (unless and find(facts, unless)):
            return None
        line, found = hit
        text = line.text.strip()
        values = {name: value or "" for name, value in found.groupdict().items()}
        return Match(message.format(line=text, **values), {"line": f"{line.number}: {text}", **values})

    return match


__all__ = ["SIMULATOR", "TARGET", "Match", "Matcher", "Rule", "find", "says"]
