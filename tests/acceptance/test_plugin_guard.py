"""The fixture ``corstone_guard``: findings fail the test in words, nothing is booted, and no device is asked for."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.plugin_project import run_pytest, write_project

BY_NAME = """
    def test_guarded(corstone_guard):
        report = corstone_guard("acos")
        assert report.tables
"""
LIVE = """
    import torch

    class Angle(torch.nn.Module):
        def forward(self, x):
            return torch.acos(x)

    X = (torch.linspace(-1, 1, 16).reshape(2, 8),)

    def test_module(corstone_guard):
        corstone_guard(Angle(), X)

    def test_look(corstone_guard):
        report = corstone_guard.look(Angle(), X, policy="observer", calibration=[X])
        assert report.errors
        assert any(finding.hits for finding in report.errors)
"""
BOTH = """
    def test_both(corstone, corstone_guard, corstone_guard_case):
        assert corstone_guard_case == corstone.case
        corstone_guard("acos")
"""


def test_an_observed_range_fails_with_code_and_repair_and_the_fixed_one_passes(tmp_path: Path) -> None:
    project = write_project(tmp_path, BY_NAME, fake=False)
    done = run_pytest(project, "--corstone-policy", "fixed,observer")
    assert done.returncode == 1, done.stdout
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED test_it.py::test_guarded[int8-observer-ethos-u55-128]" in done.stdout
    assert "error: " in done.stdout
    assert "code outside the domain" in done.stdout
    assert "repair: " in done.stdout
    assert "ran on a device" not in done.stdout, "it is no device test, and none is missed"


def test_a_live_module_is_looked_at_with_the_inputs_that_hit(tmp_path: Path) -> None:
    done = run_pytest(write_project(tmp_path, LIVE, fake=False))
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_without_an_error_strict_fails_on_warnings(tmp_path: Path) -> None:
    body = BY_NAME.replace('("acos")', '("acos", bits=16, strict=True)')
    done = run_pytest(write_project(tmp_path, body, fake=False))
    assert done.returncode == 1, done.stdout
    assert "warning: " in done.stdout


def test_beside_the_device_it_looks_at_the_devices_case(tmp_path: Path) -> None:
    done = run_pytest(write_project(tmp_path, BOTH, fake=False), "--collect-only", "-q", "--corstone-bits", "8,16")
    assert "test_both[int8-fixed-ethos-u55-128]\n" in done.stdout
    assert "2 tests collected" in done.stdout
    assert "2 tests collected" in run_pytest(tmp_path, "--collect-only", "-m", "fvp", "--corstone-bits", "8,16").stdout


def test_it_needs_no_marker_and_is_not_selected_as_a_device_test(tmp_path: Path) -> None:
    done = run_pytest(write_project(tmp_path, BY_NAME, fake=False), "-m", "fvp", "--collect-only")
    assert "1 deselected" in done.stdout
