"""The plugin in small projects: what is red, what is counted, what the files say, with and without xdist."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.acceptance import plugin_project as project

FOUR = """
    import pytest
    @pytest.mark.parametrize("i", range(4))
    def test_good(corstone, i):
        corstone.check("good")
"""


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


def properties(path: Path, name: str) -> dict[str, str]:
    found = [c for c in ET.parse(path).getroot().iter("testcase") if str(c.get("name")).startswith(name)]
    assert len(found) == 1, [c.get("name") for c in found]
    return {str(p.get("name")): str(p.get("value")) for p in found[0].findall("properties/property")}


def test_a_pass_is_counted_and_said_last(tmp_path: Path) -> None:
    project.write_project(tmp_path, 'def test_a(corstone):\n    corstone.check("good")\ndef test_b(): pass\n')
    done = project.run_pytest(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert last_line(done.stdout) == "corstone: 1 of 1 ran on a device, 0 on an FVP, 1 on the emulator"
    header = next(line for line in done.stdout.splitlines() if line.startswith("corstone: provider"))
    for words in ("provider auto", "target ethos-u55-128", "bits 8", "policy fixed", "seed 0"):
        assert words in header
    assert re.search(r"corstone: corstone-harness \S+, torch \S+, executorch \S+, vela \S+, tosa \S+", done.stdout)


def test_a_suite_without_device_tests_hears_nothing_at_the_end(tmp_path: Path) -> None:
    project.write_project(tmp_path, "def test_b(): pass\n", fake=False)
    done = project.run_pytest(tmp_path, "-q")
    assert done.returncode == 0
    assert "corstone" not in done.stdout


@pytest.mark.parametrize(
    "body",
    ["pytest.skip('no reason')", "corstone.check('absent')", "pass"],
    ids=["skipped", "no-device", "did-nothing"],
)
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one-process", "xdist"])
def test_selected_but_nothing_executed_is_red(tmp_path: Path, body: str, workers: tuple[str, ...]) -> None:
    project.write_project(tmp_path, f"import pytest\ndef test_a(corstone):\n    {body}\n")
    done = project.run_pytest(tmp_path, "-m", "fvp", *workers)
    assert done.returncode == 1, done.stdout
    assert "1 fvp tests were selected and none was executed on a device: this run is red" in done.stdout
    assert last_line(done.stdout) == "corstone: 0 of 1 ran on a device, 0 on an FVP, 0 on the emulator"


def test_a_marked_test_that_boots_nothing_counts_as_selected(tmp_path: Path) -> None:
    project.write_project(tmp_path, "import pytest\n@pytest.mark.fvp\ndef test_a(): pass\n", fake=False)
    done = project.run_pytest(tmp_path)
    assert done.returncode == 1
    assert "0 of 1 ran on a device" in done.stdout


def test_collecting_alone_is_never_red(tmp_path: Path) -> None:
    project.write_project(tmp_path, FOUR)
    done = project.run_pytest(tmp_path, "--collect-only", "-q")
    assert done.returncode == 0
    assert "corstone:" not in done.stdout


def test_deselected_device_tests_are_not_missed(tmp_path: Path) -> None:
    project.write_project(tmp_path, 'def test_a(corstone):\n    corstone.check("good")\ndef test_b(): pass\n')
    done = project.run_pytest(tmp_path, "-m", "not fvp")
    assert done.returncode == 0
    assert "ran on a device" not in done.stdout


def test_a_failure_shows_the_users_line_and_the_whole_verdict(tmp_path: Path) -> None:
    project.write_project(tmp_path, 'def test_a(corstone):\n    corstone.check("wrong")\n')
    done = project.run_pytest(tmp_path)
    assert done.returncode == 1
    assert '>       corstone.check("wrong")' in done.stdout
    for words in (
        "FAILED (bits): wrong int8 fixed, ethos-u55-128 on corstone-300",
        "emulator, not an Arm product",
        "what to do: hint of it",
        "1 of 256 elements differ",
        "again: corstone check wrong",
    ):
        assert words in done.stdout
    assert re.search(r"E +7 +0\.25 +32 +1\.5 +10 +2\.5 +91 +81", done.stdout)
    assert "device.py" not in done.stdout  # our own frames are hidden
    assert "\\x04" in done.stdout


@pytest.mark.parametrize(
    ("network", "code", "words"),
    [("wrong", 0, "1 xfailed"), ("good", 0, "1 xpassed"), ("crash", 1, "1 failed"), ("tool", 1, "1 failed")],
)
def test_known_expects_wrong_numbers_and_nothing_else(tmp_path: Path, network: str, code: int, words: str) -> None:
    tests = f"""
        import pytest
        @pytest.mark.fvp(known={{"ethos-u55-128": "vela issue 23"}})
        def test_a(corstone):
            corstone.check("{network}")
        def test_other(corstone):
            corstone.check("good")
    """
    project.write_project(tmp_path, tests, ini="xfail_strict = true\n")
    done = project.run_pytest(tmp_path, "-rxX")
    assert done.returncode == code, done.stdout
    assert words in done.stdout
    if code == 0:
        assert "vela issue 23" in done.stdout


def test_an_expected_failure_can_be_asserted(tmp_path: Path) -> None:
    tests = """
        import pytest
        def test_a(corstone):
            assert corstone.check("wrong", expect="FAILED").verdict.cause == "bits"
        def test_b(corstone):
            with pytest.raises(AssertionError, match="expected FAILED"):
                corstone.check("good", expect="FAILED")
    """
    project.write_project(tmp_path, tests)
    assert project.run_pytest(tmp_path).returncode == 0


def test_lists_make_cases_with_stable_names(tmp_path: Path) -> None:
    project.write_project(tmp_path, FOUR)
    lists = ["--corstone-target", "ethos-u55-128,ethos-u85-256", "--corstone-bits", "8,16"]
    done = project.run_pytest(tmp_path, "--collect-only", "-q", "-k", "int16 and u85", *lists)
    names = [line for line in done.stdout.splitlines() if "::" in line]
    assert names == [f"test_it.py::test_good[int16-fixed-ethos-u85-256-{i}]" for i in range(4)]
    single = project.run_pytest(tmp_path, "--collect-only", "-q", "--corstone-bits", "16")
    assert "test_it.py::test_good[int16-fixed-ethos-u55-128-0]" in single.stdout


def test_ini_gives_defaults_and_the_command_line_wins(tmp_path: Path) -> None:
    ini = "corstone_bits = 16\ncorstone_policy = observer, fixed\ncorstone_seed = 7\n"
    project.write_project(tmp_path, FOUR, ini=ini)
    done = project.run_pytest(tmp_path, "--collect-only", "--corstone-policy", "fixed")
    assert "bits 16, policy fixed, stimulus default, seed 7" in done.stdout
    assert "[int16-fixed-ethos-u55-128-0]" in done.stdout


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--corstone-provider", "silicon", "expected auto, fvp or emulator"),
        ("--corstone-bits", "8,,16", "expected a list"),
        ("--corstone-bits", "eight", "expected a whole number"),
        ("--corstone-timeout", "-1", "expected a positive number"),
        ("--corstone-seed", "x", "expected a whole number"),
    ],
)
def test_nonsense_is_a_usage_error(tmp_path: Path, option: str, value: str, words: str) -> None:
    project.write_project(tmp_path, "def test_b(): pass\n", fake=False)
    done = project.run_pytest(tmp_path, f"{option}={value}")
    assert done.returncode == 4
    assert words in done.stderr


def test_a_marker_argument_that_does_not_exist_is_named(tmp_path: Path) -> None:
    project.write_project(tmp_path, "import pytest\n@pytest.mark.fvp(target='x')\ndef test_a(corstone): pass\n")
    done = project.run_pytest(tmp_path)
    assert done.returncode != 0
    assert "marker fvp: unknown argument target; it takes bits, known, policies, targets, timeout_s" in done.stdout


def test_a_markers_targets_replace_the_default_and_narrow_a_given_list(tmp_path: Path) -> None:
    tests = """
        import pytest
        @pytest.mark.fvp(targets=["ethos-u85-256", "ethos-u65-256"])
        def test_a(corstone):
            assert corstone.check("good").target == corstone.target
    """
    project.write_project(tmp_path, tests)
    done = project.run_pytest(tmp_path, "-v")
    assert "[int8-fixed-ethos-u85-256] PASSED" in done.stdout
    assert "[int8-fixed-ethos-u65-256] PASSED" in done.stdout
    done = project.run_pytest(tmp_path, "-v", "--corstone-target", "ethos-u65-256,ethos-u55-32")
    assert "[int8-fixed-ethos-u65-256] PASSED" in done.stdout
    assert "u55-32]" not in done.stdout
    done = project.run_pytest(tmp_path, "-rs", "--corstone-target", "ethos-u55-32")
    assert "this test is for ethos-u85-256, ethos-u65-256, which this run does not ask for" in done.stdout
    assert done.returncode == 1


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one-process", "xdist"])
def test_both_junit_files_have_the_facts(tmp_path: Path, workers: tuple[str, ...]) -> None:
    tests = """
        def test_good(corstone):
            corstone.check("good")
        def test_wrong(corstone):
            corstone.check("wrong")
        def test_fvp(corstone):
            corstone.check("onfvp")
        def test_plain():
            pass
    """
    project.write_project(tmp_path, tests)
    done = project.run_pytest(
        tmp_path, *workers, "--junitxml=pytest.xml", "--corstone-junit=ours.xml", "--corstone-out=out"
    )
    assert done.returncode == 1
    assert last_line(done.stdout) == "corstone: 3 of 3 ran on a device, 1 on an FVP, 2 on the emulator"
    theirs = properties(tmp_path / "pytest.xml", "test_good")
    assert theirs["corstone.provider"] == "emulator"
    assert theirs["corstone.version.torch"] == "2.13.0"
    ours = properties(tmp_path / "ours.xml", "test_wrong")
    assert (ours["network"], ours["cause"], ours["npu.NPU ACTIVE"]) == ("wrong", "bits", "12")
    assert ours["worst_lsb_exact"] == "81"
    root = ET.parse(tmp_path / "ours.xml").getroot()
    assert [c.get("name") for c in root.iter("testcase")].count("test_wrong[int8-fixed-ethos-u55-128]") == 1
    assert len(list(root.iter("testcase"))) == 3
    console = [str(c.findtext("system-out")) for c in root.iter("testcase") if c.find("failure") is not None]
    assert console == ["console of wrong \\x00\\x1b[31m\\xff"]
    suite = {p.get("name"): p.get("value") for p in root.findall("testsuite/properties/property")}
    assert {"torch", "seed", "provider"} <= suite.keys()
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert sorted(case["network"] for case in report["cases"]) == ["good", "onfvp", "wrong"]
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


def test_counts_come_together_from_workers(tmp_path: Path) -> None:
    project.write_project(tmp_path, FOUR)
    done = project.run_pytest(tmp_path, "-n", "2", "--corstone-bits", "8,16")
    assert done.returncode == 0, done.stdout
    assert last_line(done.stdout) == "corstone: 8 of 8 ran on a device, 0 on an FVP, 8 on the emulator"


def test_a_dead_worker_leaves_one_error_for_its_test(tmp_path: Path) -> None:
    tests = """
        import os
        def test_good(corstone):
            corstone.check("good")
        def test_dies(corstone):
            os._exit(1)
    """
    project.write_project(tmp_path, tests)
    done = project.run_pytest(tmp_path, "-n", "2", "--corstone-junit=ours.xml")
    assert done.returncode == 1
    cases = {str(c.get("name")).split("[")[0]: c for c in ET.parse(tmp_path / "ours.xml").getroot().iter("testcase")}
    assert set(cases) == {"test_good", "test_dies"}
    assert cases["test_dies"].find("error") is not None
    assert last_line(done.stdout) == "corstone: 1 of 2 ran on a device, 0 on an FVP, 1 on the emulator"


def test_a_rerun_counts_by_its_last_attempt(tmp_path: Path) -> None:
    pytest.importorskip("pytest_rerunfailures")
    tests = """
        import pathlib
        def test_flaky(corstone):
            flag = pathlib.Path("ran")
            first = not flag.exists()
            flag.write_text("")
            corstone.check("wrong" if first else "good")
    """
    project.write_project(tmp_path, tests)
    done = project.run_pytest(tmp_path, "--reruns", "1", "--corstone-junit=ours.xml")
    assert done.returncode == 0, done.stdout
    assert properties(tmp_path / "ours.xml", "test_flaky")["network"] == "good"
    assert last_line(done.stdout) == "corstone: 1 of 1 ran on a device, 0 on an FVP, 1 on the emulator"


def test_a_required_fvp_makes_the_emulator_red(tmp_path: Path) -> None:
    tests = 'def test_a(corstone):\n    corstone.check("onfvp")\ndef test_b(corstone):\n    corstone.check("good")\n'
    project.write_project(tmp_path, tests)
    done = project.run_pytest(tmp_path, "--corstone-require-fvp")
    assert done.returncode == 1
    assert "an FVP is required, and 1 of 2 fvp tests ran elsewhere" in done.stdout
    assert project.run_pytest(tmp_path, "--corstone-require-fvp", "-k", "test_a").returncode == 0


def test_a_report_that_cannot_be_written_is_said_and_red(tmp_path: Path) -> None:
    project.write_project(tmp_path, 'def test_a(corstone):\n    corstone.check("good")\n')
    (tmp_path / "file").write_text("")
    done = project.run_pytest(tmp_path, "--corstone-junit", "file/j.xml")
    assert done.returncode == 1
    assert "cannot write" in done.stdout
    assert "INTERNALERROR" not in done.stdout


def test_the_same_network_twice_has_two_folders_and_two_entries(tmp_path: Path) -> None:
    tests = """
        def test_a(corstone):
            one, two = corstone.check("good"), corstone.check("good")
            assert one.capture != two.capture
        def test_b(corstone):
            corstone.check("good")
    """
    project.write_project(tmp_path, tests)
    done = project.run_pytest(tmp_path, "--corstone-out", "out")
    assert done.returncode == 0, done.stdout
    cases = json.loads((tmp_path / "out" / "report.json").read_text())["cases"]
    assert len({case["case_id"] for case in cases}) == 3
    assert len({case["capture"] for case in cases}) == 3


def test_collecting_imports_neither_torch_nor_numpy(tmp_path: Path) -> None:
    project.write_project(tmp_path, FOUR, fake=False)
    (tmp_path / "conftest.py").write_text(
        "import sys\ndef pytest_collection_finish(session):\n"
        "    heavy = {'torch', 'numpy', 'executorch', 'ethosu', 'junitparser', 'pexpect'} & set(sys.modules)\n"
        "    print('\\nheavy:', sorted(heavy), len(session.items))\n"
    )
    done = project.run_pytest(tmp_path, "-m", "fvp", "--collect-only", "-s")
    assert "heavy: [] 4" in done.stdout, done.stdout + done.stderr
