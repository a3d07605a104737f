"""Small projects for the plugin's acceptance tests, and how pytest is started on them.

The device behind most of them is played by ``FAKE_DEVICE``: it answers ``corstone.pipeline.check`` with the record that
a network's name asks for, so that wiring is tested in seconds. That the real path works is shown beside it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

FAKE_DEVICE = """
import corstone.pipeline
from corstone.capture import Executor
from corstone.causes import Cause, Outcome
from corstone.judge.verdict import Comparison, Verdict, WorstElement
from corstone.report.record import CaseRecord

EMULATOR = Executor("emulator", "corstone-emulator", "0.1.0 (QEMU 7.2.22)")
FVP = Executor("fvp", "FVP_Corstone_SSE-300_Ethos-U55", "11.27.42")
VERDICTS = {
    "good": (Outcome.PASSED, Cause.NONE, EMULATOR),
    "onfvp": (Outcome.PASSED, Cause.NONE, FVP),
    "wrong": (Outcome.FAILED, Cause.BITS, EMULATOR),
    "crash": (Outcome.CRASHED, Cause.CPU_FAULT, EMULATOR),
    "tool": (Outcome.ERROR, Cause.COMPILE, None),
    "absent": (Outcome.SKIPPED, Cause.NO_DEVICE, None),
}

def check(network, example_inputs=None, **options):
    outcome, cause, executor = VERDICTS[network]
    folder = options["out"] / "cases" / network
    folder.mkdir(parents=True)
    (folder / "console.log").write_bytes(b"console of " + network.encode() + b" \\x00\\x1b[31m\\xff")
    worst = (WorstElement((7,), 1.5, 2.5, 81.0, 0.25, 32, 10, 91),)
    wrong = outcome is Outcome.FAILED
    figures = (int(wrong), 81.0 * wrong, 1.0 * wrong, True, not wrong)
    comparison = Comparison("table", 0, 256, *figures, worst=worst * wrong)
    verdict = Verdict(outcome, cause, f"reason of {network} \\x04", "hint of it", (comparison,))
    return CaseRecord(
        f"{network}-int{options['bits']}-{options['policy']}-{options['target']}", network, options["bits"],
        options["policy"], options["target"], "corstone-300", options.get("stimulus", "codes"), verdict, executor,
        "arm-executorch-u55", "59dd86b8", options["seed"], str(folder), {"NPU ACTIVE": 12}, {"torch": "2.13.0"},
        {"boot": 0.25}, f"corstone check {network}",
    )

corstone.pipeline.check = check
"""


def environment(**more: str) -> dict[str, str]:
    """An environment without a developer's settings."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COV_"))}
    for name in [k for k in clean if k.startswith("CORSTONE_") and k != "CORSTONE_CACHE"]:
        del clean[name]
    # Plugins that come along with ExecuTorch cost seconds to import and have no part in this.
    unused = "-p no:hydra_pytest -p no:anyio -p no:kgb -p no:hypothesispytest"
    return clean | {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": f"{unused} -p no:cacheprovider"} | more


def write_project(folder: Path, tests: str, *, fake: bool = True, ini: str = "") -> Path:
    """A project with one test file, on the played device unless told otherwise."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers\n{ini}")
    (folder / "test_it.py").write_text(textwrap.dedent(tests))
    if fake:
        (folder / "fake_device.py").write_text(FAKE_DEVICE)
        (folder / "conftest.py").write_text("import fake_device\n")
    return folder


def run_pytest(
    folder: Path, *args: str, env: Mapping[str, str] | None = None, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run to the end, within the timeout in seconds."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", *args],
        cwd=folder,
        env=dict(env or environment()),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
