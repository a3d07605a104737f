"""Another repository, with its own ``models`` and ``fixtures`` folders: five lines, and a verdict from a device."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from tests.acceptance import plugin_project as project

MINE = """
import torch

class Mine(torch.nn.Module):
    def forward(self, x):
        return torch.asin(x)
"""
TESTS = """
import torch
from fixtures import answer
from models import Mine

def test_mine(corstone):
    assert answer == 42
    corstone.check(Mine(), torch.linspace(-1, 1, 24).reshape(2, 3, 4))

def test_mine_in_steps(corstone, tmp_path):
    x = torch.zeros(2, 3, 4)
    program = corstone.program(Mine(), (x,))
    capture = corstone.boot(program, [x])
    assert capture.ending.outcome == "PASSED"
    assert len(capture.output_bytes()[0]) == x.numel() * 4
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing: apt-get install qemu-system-arm")
def test_a_network_of_ones_own_gets_a_verdict(tmp_path: Path) -> None:
    for name, source in (("models", MINE), ("fixtures", "answer = 42\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(source)
    project.write_project(tmp_path, "", fake=False, ini="pythonpath = .\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    # An emulator, whatever FVPs this machine may have: the verdict must be the same everywhere.
    done = project.run_pytest(
        tmp_path, "-m", "fvp", "--corstone-provider", "emulator", "--corstone-junit", "j.xml", timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith("corstone: 2 of 2 ran on a device, 0 on an FVP, 2 on the emulator")
    cases = {str(c.get("name")).split("[")[0]: c for c in ET.parse(tmp_path / "j.xml").getroot().iter("testcase")}
    facts = {p.get("name"): p.get("value") for p in cases["test_mine"].findall("properties/property")}
    assert (facts["network"], facts["verdict"], facts["provider"]) == ("Mine", "PASSED", "emulator")
    # The command that the report names runs the same network on the same inputs, without pytest and its source.
    again = subprocess.run(
        [*shlex.split(facts["repro"]), "--provider", "emulator", "--out", str(tmp_path / "again"), "--json", "r.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    [case] = json.loads((tmp_path / "r.json").read_text())["cases"]
    assert (case["stimulus"], case["verdict"]["outcome"]) == ("given", "PASSED")
    assert "Inference completed" in str(cases["test_mine"].findtext("system-out"))


MANY = """
import numpy as np

def draw(seed, *shapes):
    return [np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32") for shape in shapes]

def test_many_sets(corstone):
    captures = corstone.boot_sets(ACOS, [draw(seed, 256) for seed in range(5)])
    assert [str(capture.ending.outcome) for capture in captures] == ["PASSED"] * 5
    assert len({capture.output_bytes() for capture in captures}) == 5
    assert {capture.evidence["shared boot"][-10:] for capture in captures} == {"boot-0.log"}
    alone = corstone.boot(ACOS, draw(3, 256), runner="corstone-300")
    assert alone.output_bytes() == captures[3].output_bytes()

def test_many_programs(corstone):
    captures = corstone.boot_programs([(ACOS, draw(0, 256)), (TWO, draw(0, (64, 2), (64, 2))), (ACOS, draw(1, 256))])
    assert [str(capture.ending.outcome) for capture in captures] == ["PASSED"] * 3
    assert [len(capture.output_bytes()[0]) for capture in captures] == [1024, 512, 1024]
    assert all("shared boot" in capture.evidence for capture in captures)

def test_one_that_is_refused(corstone):
    corstone.boot_programs([(ACOS, draw(0, 256)), (TWO, draw(0, 256))])
"""


@pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="QEMU is missing: apt-get install qemu-system-arm")
def test_the_fixture_boots_many_sets_and_many_programs_at_once(tmp_path: Path) -> None:
    data = Path(__file__).parents[1] / "data"
    paths = f"ACOS, TWO = {str(data / 'acos-int8-u55-128.pte')!r}, {str(data / 'orientation-int8-u55-128.pte')!r}\n"
    project.write_project(tmp_path, "", fake=False)
    (tmp_path / "test_it.py").write_text(paths + MANY)
    done = project.run_pytest(tmp_path, "--corstone-provider", "emulator", "-rA", timeout=280)
    assert done.returncode == 1, done.stdout + done.stderr
    for name, word in (("many_sets", "PASSED"), ("many_programs", "PASSED"), ("one_that_is_refused", "FAILED")):
        assert f"{word} test_it.py::test_{name}[" in done.stdout, done.stdout
    assert "ConfigError" in done.stdout
    assert "corstone: 3 of 3 ran on a device, 0 on an FVP, 3 on the emulator" in done.stdout
