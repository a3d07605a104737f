"""JUnit: junitparser reads it back, whatever bytes came; properties and kinds are as documented."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import junitparser
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corstone.capture import Ending
from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError
from corstone.report.junit import JUnitCase, kind_of, properties, write_cases, write_junit, xml_safe

EVIL = b"\x00\x04\x1b[31m red \r\n \xff\xfe ]]> <tag> & \xc2\x85 \xed\xa0\x80"


def read_cases(path: Path) -> list[ET.Element]:
    return ET.parse(path).getroot().findall(".//testcase")


def test_properties_say_who_what_and_how_far(make_record: Any, tmp_path: Path) -> None:
    write_junit(tmp_path / "j.xml", [make_record()])
    [case] = read_cases(tmp_path / "j.xml")
    found = {p.get("name"): p.get("value") for p in case.findall("properties/property")}
    assert found["provider"] == "emulator"
    assert found["provider_version"] == "0.1.0 (QEMU 7.2.22)"
    assert (found["board"], found["target"], found["network"]) == ("corstone-300", "ethos-u55-128", "acos")
    assert (found["bits"], found["policy"]) == ("8", "fixed")
    assert {"version.torch", "version.executorch", "version.vela", "version.tosa"} <= found.keys()
    assert found["runner_sha256"] == "59dd86b8"
    assert found["npu.NPU ACTIVE"] == "33074"
    assert float(str(found["worst_lsb"])) == pytest.approx(0.5, abs=0.01)
    assert case.findtext("system-out") == "INFO - Inference completed.\n\\x04"


def test_any_bytes_in_any_place_stay_readable_xml(make_record: Any, tmp_path: Path) -> None:
    text = EVIL.decode("utf-8", "surrogateescape")
    record = make_record(console=EVIL, change=np.zeros_like)
    verdict = replace(record.verdict, reason=text, hint=text, notes=(text,))
    record = replace(record, verdict=verdict, network=text, case_id=text, repro=text, versions={text: text})
    write_junit(tmp_path / "j.xml", [record])
    [case] = read_cases(tmp_path / "j.xml")
    out = str(case.findtext("system-out"))
    assert "\\x00\\x04\\x1b[31m red" in out
    assert "\\xff\\xfe ]]> <tag> &" in out
    assert "\\x1b[31m" in str(case.get("name"))
    [suite] = junitparser.JUnitXml.fromfile(str(tmp_path / "j.xml"))
    assert suite.failures == 1


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_xml_safe_text_survives_a_parser(text: str) -> None:
    element = ET.Element("a")
    element.text = xml_safe(text)
    again = ET.fromstring(ET.tostring(element, encoding="unicode"))
    assert (again.text or "") == xml_safe(text).replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome.PASSED, "passed"),
        (Outcome.FAILED, "failure"),
        (Outcome.SKIPPED, "skipped"),
        (Outcome.ERROR, "error"),
        (Outcome.CRASHED, "error"),
        (Outcome.TIMED_OUT, "error"),
        (Outcome.NO_OUTPUT, "error"),
    ],
)
def test_wrong_numbers_fail_and_everything_before_numbers_is_an_error(outcome: Outcome, kind: str) -> None:
    assert kind_of(outcome) == kind


def test_counts_of_the_suite_agree(make_record: Any, tmp_path: Path) -> None:
    crash = Ending(Outcome.CRASHED, Cause.CPU_FAULT, "HardFault")
    records = [make_record("a"), make_record("b", change=np.zeros_like), make_record("c", ending=crash)]
    write_junit(tmp_path / "j.xml", records)
    [suite] = junitparser.JUnitXml.fromfile(str(tmp_path / "j.xml"))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (3, 1, 1, 0)
    messages = {c.name.split("-")[0]: [(r.type, r.message) for r in c.result] for c in suite}
    assert messages["a"] == []
    assert messages["b"][0][0] == "bits"
    assert messages["c"] == [("cpu-fault", "HardFault")]


def test_two_device_cases_in_one_test_keep_their_properties_apart(make_record: Any, tmp_path: Path) -> None:
    records = (make_record("acos"), make_record("asin"))
    write_cases(tmp_path / "j.xml", [JUnitCase("test_both", "tests.test_x", records=records)])
    [case] = read_cases(tmp_path / "j.xml")
    found = {p.get("name"): p.get("value") for p in case.findall("properties/property")}
    assert (found["network"], found["2.network"]) == ("acos", "asin")


def test_a_long_transcript_keeps_its_ends(make_record: Any, tmp_path: Path) -> None:
    record = make_record(console=b"first line\n" + b"x" * 400_000 + b"\nlast line")
    write_junit(tmp_path / "j.xml", [record])
    out = str(read_cases(tmp_path / "j.xml")[0].findtext("system-out"))
    assert out.startswith("first line")
    assert out.endswith("last line")
    assert "bytes left out" in out
    assert len(out) < 300_000


def test_a_file_that_cannot_be_written_is_the_callers_error(make_record: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write"):
        write_junit(tmp_path / "file" / "j.xml", [make_record()])


def test_a_case_that_was_not_executed_says_none(make_record: Any) -> None:
    found = dict(properties(replace(make_record(), executor=None)))
    assert found["provider"] == "none"
    assert "provider_version" not in found
