r"""JUnit XML by junitparser: one testcase a case, its facts as properties, the console transcript as system-out.

Safe for XML whatever bytes came: what XML cannot hold is written as its escape (``\x04``), and nothing is dropped.
``properties`` is also what the pytest plugin adds to pytest's own file. Leaves out attempts and states of a test,
which need a ledger.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import junitparser

from corstone.causes import Outcome
from corstone.errors import ConfigError
from corstone.report import terminal
from corstone.report.record import CaseRecord

# Everything outside XML 1.0's Char production; a lone surrogate can come out of a surrogateescape decode.
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TRANSCRIPT_CAP = 256 * 1024


@dataclass(frozen=True)
class JUnitCase:
    """One testcase. ``kind`` is passed, failure, error or skipped; ``records`` are the device cases run in it."""

    name: str
    classname: str
    kind: str = "passed"
    message: str = ""
    cause: str = ""
    text: str = ""
    seconds: float = 0.0
    records: tuple[CaseRecord, ...] = ()


def xml_safe(text: str) -> str:
    r"""Text that any XML parser takes: characters XML 1.0 lacks become ``\xNN`` or ``\uNNNN``."""
    return _ILLEGAL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def transcript(record: CaseRecord) -> str:
    """The console of a case, XML-safe; bytes that are no UTF-8 as escapes; the middle left out beyond 256 KiB."""
    path = Path(record.capture) / "console.log" if record.capture else None
    try:
        raw = path.read_bytes() if path else b""
    except OSError:
        return ""
    if len(raw) > _TRANSCRIPT_CAP:
        half = _TRANSCRIPT_CAP // 2
        left_out = f"\n[... {len(raw) - 2 * half} bytes left out; the whole is in {path} ...]\n".encode()
        raw = raw[:half] + left_out + raw[-half:]
    return xml_safe(raw.decode("utf-8", "backslashreplace"))


def properties(record: CaseRecord) -> list[tuple[str, str]]:
    """The facts of a case by name, in a fixed order; empty ones are left out."""
    verdict = record.verdict
    floats = [c for c in verdict.comparisons if not c.exact]
    exact = [c for c in verdict.comparisons if c.exact]
    shares = [c.budget_share for c in floats if c.budget_share is not None]
    executor = record.executor
    rows: list[tuple[str, object]] = [
        ("verdict", verdict.outcome),
        ("cause", verdict.cause),
        ("provider", executor.kind if executor else "none"),
        ("provider_name", executor.name if executor else ""),
        ("provider_version", executor.version if executor else ""),
        ("board", record.board),
        ("target", record.target),
        ("network", record.network),
        ("bits", record.bits or ""),
        ("policy", record.policy),
        ("stimulus", record.stimulus),
        ("seed", record.seed),
        ("program", record.program),
        ("runner", record.runner),
        ("runner_sha256", record.runner_sha256),
        ("worst_lsb", _number(max((c.max_lsb for c in floats), default=None))),
        ("worst_lsb_exact", _number(max((c.max_lsb for c in exact), default=None))),
        ("differing_elements", max((c.differing for c in exact), default="")),
        ("budget_share", _number(max(shares, default=None))),
        ("first_difference", verdict.first_difference),
        ("case_id", record.case_id),
        ("capture", record.capture),
        ("repro", record.repro),
    ]
    rows += [(f"version.{name}", text) for name, text in sorted(record.versions.items())]
    rows += [(f"npu.{name}", count) for name, count in sorted(record.counters.items())]
    rows += [(f"seconds.{name}", f"{value:.6f}") for name, value in sorted(record.seconds.items())]
    return [(xml_safe(name), xml_safe(str(value))) for name, value in rows if value not in ("", None)]


def case_of(record: CaseRecord) -> JUnitCase:
    """A record by itself as a testcase: its case id names it."""
    return JUnitCase(
        name=record.case_id,
        classname=f"corstone.{record.network or 'program'}",
        kind=kind_of(record.verdict.outcome),
        message=record.verdict.reason,
        cause=str(record.verdict.cause),
        text=terminal.page(record),
        seconds=record.seconds.get("total", math.fsum(record.seconds.values())),
        records=(record,),
    )


def kind_of(outcome: Outcome) -> str:
    """Wrong numbers are a failure; a run that did not come to numbers is an error."""
    if outcome is Outcome.PASSED:
        return "passed"
    if outcome is Outcome.SKIPPED:
        return "skipped"
    return "failure" if outcome is Outcome.FAILED else "error"


def write_junit(path: Path, records: Iterable[CaseRecord]) -> None:
    """One testcase a record."""
    write_cases(path, [case_of(record) for record in records])


def write_cases(
    path: Path, cases: Sequence[JUnitCase], name: str = "corstone", facts: Sequence[tuple[str, str]] = ()
) -> None:
    """Write the file, whole or not at all; ``facts`` become properties of the suite.

    Raises
    ------
    ConfigError: the file cannot be written.
    """
    suite = junitparser.TestSuite(name)
    for fact, value in [*facts, *_common_versions(cases)]:
        suite.add_property(xml_safe(fact), xml_safe(value))
    suite.add_testcases([_element(case) for case in cases])  # at once: each time it counts all of them
    document = junitparser.JUnitXml("corstone")
    document.add_testsuite(suite)
    document.update_statistics()
    aside = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        document.write(str(aside), pretty=False)
        aside.replace(path)
    except OSError as error:
        raise ConfigError(
            f"cannot write {path}: {error.strerror or error}", hint="name a file you can write"
        ) from error


def _element(case: JUnitCase) -> junitparser.TestCase:
    element = junitparser.TestCase(xml_safe(case.name), xml_safe(case.classname), round(case.seconds, 6))
    if case.records:
        listed = junitparser.Properties()
        for number, record in enumerate(case.records):
            for fact, value in properties(record):
                listed.add_property(junitparser.Property(fact if number == 0 else f"{number + 1}.{fact}", value))
        element.append(listed)
    kinds = {"failure": junitparser.Failure, "error": junitparser.Error, "skipped": junitparser.Skipped}
    if case.kind in kinds:
        result = kinds[case.kind](xml_safe(case.message), xml_safe(case.cause))
        result.text = xml_safe(case.text)
        element.append(result)
    consoles = [text for record in case.records if (text := transcript(record))]
    if consoles:
        element.append(junitparser.SystemOut("\n".join(consoles)))
    return element


def _common_versions(cases: Sequence[JUnitCase]) -> list[tuple[str, str]]:
    """Versions that all cases share: what a reader wants to know of the whole file."""
    every = [record.versions for case in cases for record in case.records]
    if not every:
        return []
    return [(f"version.{n}", v) for n, v in sorted(every[0].items()) if all(versions.get(n) == v for versions in every)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
