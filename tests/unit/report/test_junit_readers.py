"""How known readers take our JUnit: each rule is theirs, and every reader must come to the counts that we print.

GitLab: class name and name are the key, duplicates are dropped, 30 MB and 500,000 cases a file, 250,000 XML objects,
``[[ATTACHMENT|`` starts an upload. GitHub reporters (dorny/test-reporter, EnricoMi's, mikepenz'): suites with cases in
them, failure or error is failed, then ``skipped``. Azure: a name in each case, ISO 8601 timestamps, decimal
seconds. Jenkins: one result a case.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import junitparser
import pytest

from corstone.causes import Cause, Outcome
from corstone.ledger import Ledger, open_ledger
from corstone.ledger.merge import merge
from corstone.ledger.model import Merged, State
from corstone.ledger.quarantine import Entry, Quarantine
from corstone.ledger.writer import Identity
from corstone.report.merged_junit import FLAVOURS, write_junit
from corstone.report.merged_markdown import markdown

NAMES = ("passed", "failed", "error", "crashed", "timed-out", "no-output", "skipped", "xfail", "xpass", "quarantined")
ENDS = {
    "failed": (Outcome.FAILED, "failed"),
    "quarantined": (Outcome.FAILED, "failed"),
    "error": (Outcome.ERROR, "error"),
    "crashed": (Outcome.CRASHED, "failed"),
    "timed-out": (Outcome.TIMED_OUT, "failed"),
    "no-output": (Outcome.NO_OUTPUT, "failed"),
    "skipped": (Outcome.SKIPPED, "skipped"),
    "xfail": (Outcome.SKIPPED, "xfailed"),
    "xpass": (Outcome.PASSED, "xpassed"),
}


def run(book: Ledger, test_id: str, outcome: Outcome = Outcome.PASSED, word: str = "passed") -> None:
    book.started(test_id)
    bad = outcome is not Outcome.PASSED
    cause = Cause.BITS if bad else Cause.NONE
    book.finished(test_id, outcome, cause, word=word, reason="why" * bad, text="trace" * bad, out="[[ATTACHMENT|/x]]")


def every_state(folder: Path, cells: tuple[str, ...] = ("u55", "u85")) -> Merged:
    """A case in every state, in each cell."""
    for cell in cells:
        book = open_ledger(folder, Identity("r", cell))
        ids = {n: f"tests/fvp/test_net.py::TestAcos::test_codes[int8-fixed-{n}]" for n in (*NAMES, "flaky", "aborted")}
        book.collected([*ids.values(), "tests/fvp/test_net.py::test_not_run"])
        for name in NAMES:
            run(book, ids[name], *ENDS.get(name, (Outcome.PASSED, "passed")))
        run(book, ids["flaky"], Outcome.FAILED, "failed")
        run(book, ids["flaky"])
        book.started(ids["aborted"])
    listed = Quarantine((Entry("*quarantined]", "me", "#1", date(2099, 1, 1)),))
    merged = merge([folder], quarantine=listed, today=date(2026, 1, 1))
    assert set(merged.counts) == set(State), set(State) - set(merged.counts)
    return merged


@pytest.fixture(params=FLAVOURS)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> ET.Element:
    path = tmp_path / "junit.xml"
    write_junit(every_state(tmp_path / "led"), path, flavour=request.param)
    return ET.parse(path).getroot()


# What each state is to a reader that knows three results.
EXPECTED = {"failed": 2 * 7, "skipped": 2 * 3, "passed": 2 * 3}


def result(case: ET.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    return "skipped" if case.find("skipped") is not None else "passed"


def test_gitlab_sees_every_case_once(root: ET.Element) -> None:
    seen: dict[tuple[str | None, str | None], str] = {}
    for case in root.iter("testcase"):
        assert case.get("classname")
        seen.setdefault((case.get("classname"), case.get("name")), result(case))
    assert Counter(seen.values()) == EXPECTED
    assert "[[ATTACHMENT|" not in ET.tostring(root, encoding="unicode")


def test_github_reporters_count_what_we_count(root: ET.Element, tmp_path: Path) -> None:
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    assert all(s.findall("testcase") for s in suites)
    assert Counter(result(c) for s in suites for c in s.findall("testcase")) == EXPECTED
    read = junitparser.JUnitXml.fromfile(str(tmp_path / "junit.xml"))  # what EnricoMi's action reads with
    assert (read.tests, read.failures + read.errors) == (26, 14)
    assert sum(int(s.get("skipped", "-1")) for s in suites) == 6


def test_azure_finds_names_dates_and_seconds(root: ET.Element) -> None:
    for case in root.iter("testcase"):
        assert case.get("name")
        assert re.fullmatch(r"\d+(\.\d{1,3})?", str(case.get("time")))
    for suite in root.findall("testsuite"):
        datetime.fromisoformat(str(suite.get("timestamp")))
        assert int(str(suite.get("tests"))) == len(suite.findall("testcase"))


def test_jenkins_finds_one_result_a_case_and_each_states_count(root: ET.Element) -> None:
    for case in root.iter("testcase"):
        assert sum(child.tag in {"failure", "error", "skipped"} for child in case) <= 1
    for suite in root.findall("testsuite"):
        counted = {str(p.get("name")): p.get("value") for p in suite.findall("properties/property")}
        for state in State:
            assert counted[f"corstone.count.{state.value.replace(' ', '-')}"] == "1"


def test_names_do_not_move_with_versions_hosts_shards_or_attempts(tmp_path: Path) -> None:
    test_id = "tests/fvp/test_net.py::TestAcos::test_codes[int8-fixed-ethos-u55-128]"
    names = set()
    identities = [Identity("r1", "u55", "1/2"), Identity("r2", "u55", "2/2", "gw3", 2), Identity("r3", "u55")]
    for n, identity in enumerate(identities):
        with open_ledger(tmp_path / str(n), identity) as book:
            book.collected([test_id])
            if n:
                run(book, test_id, Outcome.CRASHED)
            run(book, test_id)
        write_junit(merge([tmp_path / str(n)], alone=True), tmp_path / "x.xml")
        case = ET.parse(tmp_path / "x.xml").getroot().find(".//testcase")
        assert case is not None
        names.add((case.get("classname"), case.get("name")))
    assert names == {("u55.tests.fvp.test_net.TestAcos", "test_codes[int8-fixed-ethos-u55-128]")}


def test_a_night_of_three_thousand_failures_fits_gitlab_and_githubs_summary(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "led", Identity("r", "u55"), fsync="never") as book:
        ids = [f"tests/fvp/test_net.py::test_codes[{n}]" for n in range(3000)]
        book.collected(ids)
        for test_id in ids:
            book.started(test_id)
            book.finished(test_id, Outcome.FAILED, Cause.BITS, reason="<&|" * 600, text="x" * 3000)
    merged = merge([tmp_path / "led"])
    write_junit(merged, tmp_path / "strict.xml", flavour="strict")
    assert (tmp_path / "strict.xml").stat().st_size < 30_000_000
    # Elements, attributes and texts of an average case, against GitLab's 250,000 objects.
    assert sum(1 + len(e.attrib) for e in ET.parse(tmp_path / "strict.xml").getroot().iter()) < 250_000
    assert len(markdown(merged).encode()) < 1024 * 1024
