"""What users reported of other harnesses' reports, played on small projects: pytest is run, ledgers merged, XML parsed.

The numbers in the names are those of the reports: 58 control characters, 59 a crashed worker, 60 nothing written, 61
suite properties under xdist, 62 strict readers, 63 reruns, 64 two results in a case, 65 exit 0, 66 verdict overwritten,
67 devices that overwrite each other, 68 seeds. 69, a fail pattern before a pass pattern and a silent simulator, is in
``tests/fvp`` (``test_session_endings``), where simulators are played.
"""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import junitparser
import pytest
from tests.acceptance import nightly_project as project

from corstone.cli import main
from corstone.ledger.merge import merge
from corstone.ledger.model import Merged, State
from corstone.report.merged_junit import FLAVOURS, write_junit

SCHEMA = Path(__file__).parents[1] / "data" / "schemas" / "junit-10.xsd"


def junit(merged: Merged, folder: Path) -> dict[str, ET.Element]:
    """Both flavours, parsed; the strict one checked against the schema of Jenkins' xunit plugin."""
    xmlschema = pytest.importorskip("xmlschema", reason="xmlschema is missing: pip install '.[ci]'")
    roots = {}
    for flavour in FLAVOURS:
        path = folder / f"{flavour}.xml"
        write_junit(merged, path, flavour=flavour)
        roots[flavour] = ET.parse(path).getroot()
        assert junitparser.JUnitXml.fromfile(str(path)).tests == len(roots[flavour].findall(".//testcase"))
    xmlschema.XMLSchema(SCHEMA).validate(str(folder / "strict.xml"))
    return roots


def states(merged: Merged) -> dict[str, State]:
    return {c.test_id.rsplit("::", 1)[1]: c.state for c in merged.cases}


HOSTILE = r"""
    import pytest
    BAD = "\x00 \x04 \x1b[31m \r\n <script>alert(1)</script> ]]> \u202e \ud800 \ufffe [[ATTACHMENT|/etc/passwd]] Ende"
    def test_output(record_property):
        print(BAD)
        record_property("console", BAD)
        assert 0, BAD
    def test_skip():
        pytest.skip(BAD)
    @pytest.mark.parametrize("x", [1], ids=["\x04\x1b[31m<b>&\u202e"])
    def test_id(x):
        pass
    @pytest.mark.xfail(reason=BAD)
    def test_xfail():
        raise ValueError(BAD)
"""


def test_58_any_bytes_give_xml_that_parses_and_can_be_read(tmp_path: Path) -> None:
    folder = project.write_project(tmp_path / "p", HOSTILE)
    done = project.run_pytest(folder, "-n", "2", "--corstone-ledger=led", "-p", "no:junitxml")
    assert done.returncode == 1, done.stdout
    merged = merge([folder / "led"])
    assert len(merged.cases) == merged.collected == 4
    for root in junit(merged, tmp_path).values():
        text = ET.tostring(root, encoding="unicode")
        assert "Ende" in text
        assert "␄" in text
        assert "␛[31m" in text
        assert "[[ATTACHMENT" not in text
        assert "\u202e" not in text
    for flag in ("--html", "--markdown", "--json"):
        assert main(["report", "merge", str(folder / "led"), flag, str(tmp_path / flag.strip("-"))]) == 1
    html = (tmp_path / "html").read_text()
    assert "<script>alert" not in html
    assert "<script>" not in (tmp_path / "markdown").read_text()
    json.loads((tmp_path / "json").read_text())


def test_59_a_crashed_worker_leaves_its_test_once_and_as_an_error(tmp_path: Path) -> None:
    source = """
        import os, pytest
        @pytest.mark.parametrize("i", range(6))
        def test_it(i):
            if i == 3:
                os._exit(1)
    """
    folder = project.write_project(tmp_path / "p", source)
    project.run_pytest(folder, "-n", "2", "--corstone-ledger=led")
    merged = merge([folder / "led"])
    assert merged.counts == {State.PASSED: 5, State.ABORTED: 1}
    assert "crashed" in merged.cases[3].reason
    for root in junit(merged, tmp_path).values():
        crashed = [c for c in root.iter("testcase") if c.get("name") == "test_it[3]"]
        assert len(crashed) == 1
        assert [child.tag for child in crashed[0] if child.tag != "properties"] == ["error"]


def test_60_kill_9_during_test_5_of_10_gives_four_results_one_aborted_five_not_run(tmp_path: Path) -> None:
    source = """
        import os, signal, pytest
        @pytest.mark.parametrize("i", range(1, 11))
        def test_it(i):
            if i == 5:
                os.kill(os.getpid(), signal.SIGKILL)
    """
    folder = project.write_project(tmp_path / "p", source)
    project.run_pytest(folder, "--corstone-ledger=led")
    merged = merge([folder / "led"])
    assert merged.counts == {State.PASSED: 4, State.ABORTED: 1, State.NOT_RUN: 5}
    root = junit(merged, tmp_path)["strict"]
    assert root.get("tests") == "10"
    assert root.get("errors") == "6"


def test_61_suite_properties_stay_under_xdist(tmp_path: Path) -> None:
    source = """
        import pytest
        @pytest.fixture(scope="session", autouse=True)
        def fvp_version(corstone_property):
            corstone_property("fvp version", "11.27.42")
        @pytest.mark.parametrize("i", range(4))
        def test_it(i, record_property):
            record_property("board serial", f"no-{i}")
    """
    folder = project.write_project(tmp_path / "p", source)
    project.run_pytest(folder, "-n", "4", "--corstone-ledger=led")
    roots = junit(merge([folder / "led"]), tmp_path)
    for root in roots.values():
        listed = {p.get("name"): p.get("value") for p in root.findall("testsuite/properties/property")}
        assert listed["fvp version"] == "11.27.42"
        assert listed["corstone.collected"] == listed["corstone.reported"] == "4"
    for i, case in enumerate(roots["properties"].iter("testcase")):
        recorded = {p.get("name"): p.get("value") for p in case.findall("properties/property")}
        assert recorded["board serial"] == f"no-{i}"


def test_62_the_strict_flavour_has_no_properties_in_a_case_and_the_json_beside_it_has_them(tmp_path: Path) -> None:
    source = """
        def test_it(record_property):
            record_property("board serial", "no-7")
    """
    folder = project.write_project(tmp_path / "p", source)
    project.run_pytest(folder, "--corstone-ledger=led")
    xml, data = tmp_path / "strict.xml", tmp_path / "all.json"
    argv = ["report", "merge", str(folder / "led"), "--junit", str(xml), "--junit-flavour", "strict"]
    assert main([*argv, "--json", str(data)]) == 0
    assert ET.parse(xml).getroot().findall(".//testcase/properties") == []
    assert json.loads(data.read_text())["cases"][0]["attempts"][0]["properties"] == [["board serial", "no-7"]]


RETRIED = """
    import pathlib
    def test_flaky():
        seen = pathlib.Path("seen")
        print("log of attempt", 2 if seen.exists() else 1)
        if not seen.exists():
            seen.write_text("")
            assert 0, "first attempt"
    def test_always():
        print("always")
        assert 0, "never passes"
    def test_good():
        pass
"""


def test_63_reruns_are_attempts_of_one_case_and_the_first_log_stays(tmp_path: Path) -> None:
    pytest.importorskip("pytest_rerunfailures", reason="pytest-rerunfailures is missing: pip install '.[ci]'")
    folder = project.write_project(tmp_path / "p", RETRIED)
    arguments = ("-n", "2", "--corstone-ledger=led", "--reruns", "1")
    project.run_pytest(folder, *arguments, plugins=("pytest_rerunfailures",))
    merged = merge([folder / "led"])
    assert states(merged) == {"test_always": State.FAILED, "test_flaky": State.FLAKY, "test_good": State.PASSED}
    assert [len(c.attempts) for c in merged.cases] == [2, 2, 1]
    roots = junit(merged, tmp_path)
    for root in roots.values():
        flaky = next(c for c in root.iter("testcase") if c.get("name") == "test_flaky")
        assert flaky.find("failure") is None
        first = flaky.find("flakyFailure")
        assert first is not None
        assert "log of attempt 1" in (first.findtext("system-out") or "")
        always = next(c for c in root.iter("testcase") if c.get("name") == "test_always")
        assert len(always.findall("failure")) == len(always.findall("rerunFailure")) == 1
        counted = {p.get("name"): p.get("value") for p in root.findall("testsuite/properties/property")}
        assert counted["corstone.count.flaky"] == "1"


def test_64_a_failure_and_a_teardown_error_are_one_result(tmp_path: Path) -> None:
    source = """
        import pytest
        @pytest.fixture
        def board():
            yield
            raise RuntimeError("would not stop")
        def test_it(board):
            assert 0, "wrong bits"
    """
    folder = project.write_project(tmp_path / "p", source)
    project.run_pytest(folder, "--corstone-ledger=led")
    merged = merge([folder / "led"])
    assert states(merged) == {"test_it": State.ERROR}
    case = junit(merged, tmp_path)["strict"].find(".//testcase")
    assert case is not None
    assert [c.tag for c in case] == ["error"]
    assert "wrong bits" in (case.findtext("error") or "")
    assert "would not stop" in (case.findtext("error") or "")


@pytest.mark.parametrize("status", [0, 1])
def test_65_an_exit_in_the_middle_is_red_whatever_its_status(
    tmp_path: Path, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    source = f"""
        import os
        def test_a(): pass
        def test_b(): os._exit({status})
        def test_c(): pass
    """
    folder = project.write_project(tmp_path / "p", source)
    assert project.run_pytest(folder, "--corstone-ledger=led").returncode == status
    assert main(["report", "merge", str(folder / "led")]) == 1
    assert "3 collected = 3 reported: 1 passed, 1 aborted, 1 not run" in capsys.readouterr().out


def test_66_a_hook_that_turns_failures_into_passes_is_seen_through(tmp_path: Path) -> None:
    source = """
        def test_it():
            assert 0, "wrong bits"
    """
    folder = project.write_project(tmp_path / "p", source)
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    out = yield\n    out.get_result().outcome = 'passed'\n"
    )
    assert project.run_pytest(folder, "--corstone-ledger=led").returncode == 0
    case = merge([folder / "led"]).cases[0]
    assert case.state is State.FAILED
    assert "reported it as passed" in case.reason


DEVICES = """
    import pathlib, sys, pytest
    sys.path.insert(0, {here!r})
    from test_ledger_merge import record
    from dataclasses import replace
    from pytest_corstone.ledger_hooks import add_record
    def test_two(request):
        for target in ("ethos-u55-128", "ethos-u85-256"):
            add_record(request.node, replace(record(), target=target, case_id="acos-" + target))
"""


def test_67_two_devices_in_one_test_and_two_cells_in_one_folder_keep_all_reports(tmp_path: Path) -> None:
    here = str(Path(__file__).parents[1] / "unit" / "ledger")
    folder = project.write_project(tmp_path / "p", DEVICES.format(here=here))
    for cell in ("u55", "u85"):
        project.run_pytest(folder, "--corstone-ledger=led", env=project.environment(CORSTONE_CELL=cell))
    merged = merge([folder / "led"])
    assert [(c.cell, c.state) for c in merged.cases] == [("u55", State.PASSED), ("u85", State.PASSED)]
    root = junit(merged, tmp_path)["properties"]
    assert [s.get("name") for s in root.findall("testsuite")] == ["corstone.u55", "corstone.u85"] or not merged.red
    for case in root.iter("testcase"):
        named = {str(p.get("name")): p.get("value") for p in case.findall("properties/property")}
        assert {named["target"], named["2.target"]} == {"ethos-u55-128", "ethos-u85-256"}


def test_68_what_a_test_draws_is_seeded_from_its_id_printed_and_stored(tmp_path: Path) -> None:
    source = """
        import pathlib, random, numpy
        def draw(name):
            with open(name, "a") as f:
                print(random.random(), numpy.random.rand(), file=f)
        def test_a(corstone):
            draw("a")
            assert 0
        def test_b(corstone):
            draw("b")
        def test_without():
            draw("c")
    """
    folder = project.write_project(tmp_path / "p", source)
    plugin = ("pytest_corstone.plugin",)
    for arguments in (("--corstone-ledger=led",), ("-n", "2"), ("--corstone-seed=5",)):
        done = project.run_pytest(folder, *arguments, plugins=plugin)
    first, second, other = (folder / "a").read_text().splitlines()
    assert first == second != other
    assert first != (folder / "b").read_text().splitlines()[0]
    assert len(set((folder / "c").read_text().splitlines())) == 3
    assert "are seeded with" in done.stdout
    case = next(c for c in merge([folder / "led"]).cases if "test_a" in c.test_id)
    assert case.last is not None
    assert case.last.detail()["props"][0][0] == "corstone.test_seed"


def test_two_runs_at_once_into_one_folder_do_not_mix(tmp_path: Path) -> None:
    source = """
        import time, pytest
        @pytest.mark.parametrize("i", range(8))
        def test_it(i):
            time.sleep(0.02)
    """
    folder = project.write_project(tmp_path / "p", source)
    argv = project.command("-n", "2", "--corstone-ledger=led")
    with project.started(argv, folder) as one, project.started(argv, folder) as two:
        assert one.wait(60) == 0
        assert two.wait(60) == 0
    merged = merge([folder / "led"])
    assert not merged.red, merged.problems
    assert len({c.run for c in merged.cases}) == 2
    assert len(merged.cases) == merged.collected == 16


@pytest.mark.parametrize("args", [("-k", "a"), ("--deselect", "test_it.py::test_b"), ("-x",), ("--collect-only",)])
def test_selection_and_stops_of_any_suite_work(tmp_path: Path, args: tuple[str, ...]) -> None:
    folder = project.write_project(tmp_path / "p", "def test_a(): pass\ndef test_b(): assert 0\ndef test_c(): pass\n")
    project.run_pytest(folder, "--corstone-ledger=led", *args)
    if args == ("--collect-only",):
        assert not (folder / "led").exists()
        return
    found = states(merge([folder / "led"]))
    if args == ("-k", "a"):
        assert found == {"test_a": State.PASSED}
    elif args == ("-x",):
        assert found == {"test_a": State.PASSED, "test_b": State.FAILED, "test_c": State.NOT_RUN}
    else:
        assert found == {"test_a": State.PASSED, "test_c": State.PASSED}


def test_progress_is_plain_lines_when_there_is_no_terminal(tmp_path: Path) -> None:
    folder = project.write_project(tmp_path / "p", "def test_a(): pass\ndef test_b(): assert 0\n")
    argv = [a for a in project.command("--corstone-ledger=led") if a != "-q"]
    done = subprocess.run(
        argv, cwd=folder, env=project.environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert "corstone 2/2 | 1 failed | 1 passed" in done.stdout
    assert "\x1b" not in done.stdout


def test_progress_on_a_terminal_leaves_pytests_own_output_whole(tmp_path: Path) -> None:
    import pexpect

    source = "import time\ndef test_a(): time.sleep(.05)\ndef test_b(): time.sleep(.05)\ndef test_c(): pass\n"
    folder = project.write_project(tmp_path / "p", source)
    argv = [a for a in project.command("--corstone-ledger=led") if a != "-q"]
    env = project.environment(TERM="xterm", COLUMNS="100")
    child = pexpect.spawn(sys.executable, argv[1:], cwd=str(folder), env=env, dimensions=(24, 100), timeout=60)
    child.expect(pexpect.EOF)
    text = child.before.decode()
    assert "corstone 2/3" in text
    assert "on the boards: test_b" in text
    rows = _screen(text)
    assert any(r.startswith("test_it.py ...") and r.rstrip().endswith("[100%]") for r in rows), rows
    assert not any(r.startswith("corstone 2/3") for r in rows), rows
    child.close()


def _screen(text: str) -> list[str]:
    """What a terminal of 100 columns shows at the end; knows the few sequences that are used."""
    import re

    rows: list[list[str]] = [[]]
    y = x = 0
    saved = (0, 0)
    for token in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[78D]|.|\n", text, re.DOTALL):
        if token in {"\n", "\x1bD"}:
            y += 1
        elif token == "\r":
            x = 0
        elif token == "\x1b7":
            saved = (y, x)
        elif token == "\x1b8":
            y, x = saved
        elif token.startswith("\x1b["):
            kind, count = token[-1], int(re.sub(r"\D", "", token[2:-1] or "1") or 1)
            if kind == "A":
                y = max(0, y - count)
            elif kind == "B":
                y += count
            elif kind == "K":
                rows[y : y + 1] = [[]] if y < len(rows) else []
            elif kind == "J":
                rows = [r[:x] if i == y else r for i, r in enumerate(rows[: y + 1])]
        else:
            while len(rows) <= y:
                rows.append([])
            rows[y] += [" "] * (x + 1 - len(rows[y]))
            rows[y][x] = token
            x += 1
        while len(rows) <= y:
            rows.append([])
    return ["".join(r) for r in rows]
