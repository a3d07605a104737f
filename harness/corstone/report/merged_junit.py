"""JUnit of a merged run, written with junitparser case by case, so that 100,000 cases need no more memory than one.

Flavours: ``properties`` (default) has the facts of a case as properties inside it, as pytest writes them; ``strict``
is valid against the Jenkins xunit-2 schema, which knows properties at suites only.

What readers are known to want, and gets kept here:

* One ``testcase`` for a test, with at most one of failure, error and skipped in it (Jenkins counts each). Attempts
  before the last are ``flakyFailure``/``flakyError`` when a pass followed, else ``rerunFailure``/``rerunError``.
* GitLab and the GitHub reporters tell cases apart by class name and name: the cell is part of the class name.
* Azure and GitLab take ``[[ATTACHMENT|path]]`` in output for a file to upload: defused.
* Times have three decimals at most (Jenkins), timestamps are ISO 8601 (Azure).
* ``aborted`` and ``not run`` are errors of that type; ``quarantined`` and ``xfail`` are skips of that type; ``flaky``
  and ``xpass`` pass. All of them are counted in properties of the suite.

Source: the schema of Jenkins' xunit plugin, junit-10.xsd (MIT), kept under tests/data.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import quoteattr

from junitparser import Error, Failure, Properties, Skipped
from junitparser.xunit2 import FlakyError, FlakyFailure, RerunError, RerunFailure, TestCase

from corstone.causes import Outcome
from corstone.dashboard.text import visible
from corstone.ledger.model import Attempt, Merged, MergedCase, State
from corstone.report.junit import properties

FLAVOURS = ("properties", "strict")
_FAILURES = {State.FAILED}
_ABOVE = {"cause", "network", "bits", "policy", "target", "board", "provider", "case_id", "worst_lsb"}
_SKIPS = {State.SKIPPED, State.XFAIL, State.QUARANTINED}


def xml_text(text: object) -> str:
    """Text that any XML parser takes and no reader mistakes for an attachment."""
    return visible(str(text)).replace("[[ATTACHMENT", "[ [ATTACHMENT")


def split_id(test_id: str) -> tuple[str, str]:
    """Class name and name of a node id, as pytest's own JUnit has them; a bracket may hold any separator."""
    head, bracket, rest = test_id.partition("[")
    parts = head.split("::")
    module = parts[0].removesuffix(".py").replace("/", ".")
    return ".".join([module, *parts[1:-1]]), parts[-1] + bracket + rest if len(parts) > 1 else bracket + rest or module


def write_junit(merged: Merged, path: Path, *, flavour: str = "properties") -> None:
    """Write one file with a suite a run and cell; a problem of the merge is an error in a suite of its own.

    The file is written beside its place and renamed, so that a reader never sees half of it.
    """
    if flavour not in FLAVOURS:
        raise ValueError(f"flavour is {flavour!r}, not one of {', '.join(FLAVOURS)}")
    waiting = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with waiting.open("w", encoding="utf-8") as stream:
            _document(merged, stream, flavour)
        waiting.replace(path)
    finally:
        waiting.unlink(missing_ok=True)


def _document(merged: Merged, stream: TextIO, flavour: str) -> None:
    problems = merged.problems
    total = _counts(merged.cases)
    if problems:
        total = {"tests": total["tests"] + 1, "failures": total["failures"], "errors": total["errors"] + 1}
    seconds = sum(c.seconds for c in merged.cases)
    stream.write('<?xml version="1.0" encoding="utf-8"?>\n')
    counts = "".join(f' {k}="{v}"' for k, v in total.items() if k != "skipped")
    stream.write(f'<testsuites name="corstone"{counts} time="{seconds:.3f}">\n')
    runs = len({c.run for c in merged.cases}) > 1
    for (run, cell), cases in groupby(merged.cases, key=lambda c: (c.run, c.cell)):
        _suite(merged, run, cell, list(cases), stream, flavour, runs)
    if problems:
        case = TestCase("collected and reported agree")
        case.classname, case.time = "corstone.merge", 0
        case.result = [_result(Error, "merge", problems[0], "\n".join(problems))]
        stream.write('<testsuite name="corstone.merge" tests="1" failures="0" errors="1" skipped="0" time="0.000">\n')
        stream.write(_element(case) + "</testsuite>\n")
    stream.write("</testsuites>\n")


def _suite(
    merged: Merged, run: str, cell: str, cases: list[MergedCase], stream: TextIO, flavour: str, several: bool
) -> None:
    name = ".".join(p for p in ("corstone", cell, run if several else "") if p)
    begun = min((a.wall for c in cases for a in c.attempts), default=0.0)
    attributes = {"name": name, **{k: str(v) for k, v in _counts(cases).items()}}
    attributes["time"] = f"{sum(c.seconds for c in cases):.3f}"
    attributes["timestamp"] = _timestamp(begun)
    hosts = {str(s.head.get("host", "")) for s in merged.sources if s.head["run"] == run and s.head["cell"] == cell}
    attributes["hostname"] = ",".join(sorted(h for h in hosts if h))[:200]
    written = "".join(f" {k}={quoteattr(xml_text(v))}" for k, v in attributes.items())
    stream.write(f"<testsuite{written}>\n<properties>\n")
    stream.writelines(
        f"<property name={quoteattr(xml_text(key))} value={quoteattr(xml_text(value))} />\n"
        for key, value in _suite_properties(merged, run, cell, cases)
    )
    stream.write("</properties>\n")
    stream.writelines(_element(case_element(case, flavour)) for case in cases)
    stream.write("</testsuite>\n")


def _timestamp(wall: float) -> str:
    # A host whose clock is far off still gives a date that XML readers take.
    try:
        return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "1970-01-01T00:00:00"


def _suite_properties(merged: Merged, run: str, cell: str, cases: Iterable[MergedCase]) -> Iterator[tuple[str, str]]:
    cases = list(cases)
    yield "corstone.run", run
    if cell:
        yield "corstone.cell", cell
    yield "corstone.collected", str(sum(c.collected for c in cases))
    yield "corstone.reported", str(len(cases))
    for state in State:
        yield f"corstone.count.{state.value.replace(' ', '-')}", str(sum(c.state is state for c in cases))
    yield from sorted(merged.properties.items())
    versions: dict[str, str] = {}
    for case in cases:
        if case.last is not None:
            versions |= case.last.versions
    for tool, version in sorted(versions.items()):
        yield f"version.{tool}", version


def case_element(case: MergedCase, flavour: str) -> TestCase:
    """One case with its attempts inside."""
    classname, name = split_id(case.test_id)
    element = TestCase(xml_text(name) or "unnamed")
    element.classname = xml_text(f"{case.cell}.{classname}" if case.cell else classname)
    element.time = round(case.seconds, 3)
    if flavour == "properties":
        element.append(_properties(case_properties(case)))
    detail = case.last.detail() if case.last is not None and case.last.finished else {}
    body = str(detail.get("text", ""))
    reason = case.reason
    if case.state in _FAILURES or (case.state is State.XPASS and case.strict_xpass):
        element.result = [_result(Failure, case.cause or "failed", reason, body)]
    elif case.red:
        kind = case.state.value.replace(" ", "-")
        element.result = [_result(Error, kind if case.cause in {"", "none"} else f"{kind}: {case.cause}", reason, body)]
    elif case.state is State.QUARANTINED:
        entry = case.quarantine or {}
        label = f"quarantined until {entry.get('expires')} ({entry.get('owner')}, {entry.get('issue')}): {reason}"
        element.result = [_result(Skipped, "quarantined", label, body)]
    elif case.state in _SKIPS:
        element.result = [_result(Skipped, f"pytest.{'xfail' if case.state is State.XFAIL else 'skip'}", reason, body)]
    for attempt in case.attempts[:-1]:
        element.add_interim_result(_attempt(attempt, followed_by_pass=case.state is State.FLAKY))
    if out := str(detail.get("out", "")):
        element.system_out = xml_text(out)
    if err := str(detail.get("err", "")):
        element.system_err = xml_text(err)
    return element


def _properties(pairs: Iterable[tuple[str, str]]) -> Properties:
    # Parsed from text: made one Property at a time they take most of the time of the file.
    listed = "".join(f"<property name={_quoted(key)} value={_quoted(value)}/>" for key, value in pairs)
    parsed: Properties = Properties.fromstring(f"<properties>{listed}</properties>")
    return parsed


def _quoted(text: str) -> str:
    # Names, versions and boards are those of thousands of cases.
    return _quoted_once(text) if len(text) < 80 else quoteattr(xml_text(text))


@functools.lru_cache(maxsize=4096)
def _quoted_once(text: str) -> str:
    return quoteattr(xml_text(text))


def _attempt(attempt: Attempt, followed_by_pass: bool) -> RerunFailure | RerunError | FlakyFailure | FlakyError:
    failed = attempt.finished and attempt.outcome in {Outcome.FAILED, Outcome.PASSED, Outcome.SKIPPED}
    kinds = (FlakyFailure, FlakyError) if followed_by_pass else (RerunFailure, RerunError)
    reason = attempt.reason if attempt.finished else "started, but never finished"
    interim = kinds[0 if failed else 1](xml_text(reason), attempt.cause or "aborted")
    detail = attempt.detail()
    if detail["text"]:
        interim.stack_trace = xml_text(detail["text"])
    if detail["out"]:
        interim.system_out = xml_text(detail["out"])
    if detail["err"]:
        interim.system_err = xml_text(detail["err"])
    return interim


def case_properties(case: MergedCase) -> Iterator[tuple[str, str]]:
    """Facts of one case: state, cause, what it ran on, figures, versions, attempts, what the test recorded, repro."""
    yield "state", case.state.value
    yield "outcome", case.outcome.value
    if case.cause not in {"", "none"}:
        yield "cause", case.cause
    yield "attempts", str(len(case.attempts))
    for key, value in case.names.items():
        if value not in ("", 0, None):
            yield key, str(value)
    for key, figure in case.figures.items():
        yield key, f"{figure:g}"
    if case.quarantine:
        yield "quarantine.owner", case.quarantine["owner"]
        yield "quarantine.issue", case.quarantine["issue"]
        yield "quarantine.expires", case.quarantine["expires"]
    if case.last is None:
        return
    for name, value in case.last.detail()["props"]:
        yield name, value
    if not case.names:
        return
    for number, record in enumerate(case.last.records()):
        # The same names as in pytest's own file; the outcome of the test itself is ``state`` and ``outcome`` above.
        for fact, value in properties(record):
            if number or fact not in _ABOVE:
                yield (fact if number == 0 else f"{number + 1}.{fact}"), value


def _counts(cases: Iterable[MergedCase]) -> dict[str, int]:
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for case in cases:
        counts["tests"] += 1
        if case.state in _FAILURES or (case.state is State.XPASS and case.strict_xpass):
            counts["failures"] += 1
        elif case.red:
            counts["errors"] += 1
        elif case.state in _SKIPS:
            counts["skipped"] += 1
    return counts


def _result(kind: type[Failure | Error | Skipped], word: str, message: str, text: str) -> Failure | Error | Skipped:
    result = kind(xml_text(message), xml_text(word))
    if text:
        result.text = xml_text(text)
    return result


def _element(case: TestCase) -> str:
    text: bytes | str = case.tostring()
    written = text.decode("utf-8") if isinstance(text, bytes) else text
    if written.startswith("<?xml"):
        written = written.partition("?>")[2].lstrip()
    return written.rstrip() + "\n"
