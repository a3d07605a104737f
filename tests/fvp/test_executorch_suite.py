"""ExecuTorch's own Arm tests from the installed wheel, unmodified, on the emulator through the shims: a named few.

The whole suite is for ``scripts/upstream_suite``; what it gave is in ``docs/upstream-suite.md``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from corstone.boards.shims.install import Installed, environment, install
from corstone.boards.shims.suite_run import Plan, Suite, load, suite_folder
from corstone.errors import ToolError

# Tables on both NPUs, at the ends of their domains too.
NAMED = (
    "test_acos::test_acos_u55_INT[edge_cases]",
    "test_asin::test_asin_u85_INT[ones]",
    "test_atanh::test_atanh_u85_INT[near_bounds]",
)

pytestmark = [
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="qemu-system-arm is not installed"),
    pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang builds the runners"),
]


@pytest.fixture(scope="module")
def shims(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("a folder with blanks"))


@pytest.mark.slow
@pytest.mark.timeout(1200)  # three compilations: 20 s on an idle machine
def test_named_tests_of_executorch_pass_on_the_emulator(tmp_path: Path) -> None:
    try:
        suite_folder()
    except ToolError as error:
        pytest.skip(str(error))
    Suite(Plan(out=tmp_path / "out", tests=NAMED, files=_files(), say=print)).run()
    rows = load(tmp_path / "out" / "results.ndjson")
    assert {test: row["state"] for test, row in rows.items()} == dict.fromkeys(NAMED, "passed"), rows
    assert [row["exits"] for row in rows.values()] == [[0]] * len(NAMED)


def _files() -> tuple[str, ...]:
    return tuple(sorted({test.partition("::")[0] for test in NAMED}))


def test_the_runner_without_portable_operators_has_none(shims: Installed) -> None:
    """ExecuTorch has two runners a board, and some of its tests expect the first to refuse an operator."""
    names = [b"aten::where.self_out", b"dim_order_ops::_to_dim_order_copy.out", b"aten::mm.out"]
    for path in shims.runners:
        content = path.read_bytes()
        assert b"quantized_decomposed::quantize_per_tensor.out" in content
        portable = "portable-ops_" in path.parent.name
        assert [name in content for name in names] == [portable] * len(names), path


@pytest.mark.parametrize(
    ("name", "prefix"),
    [("FVP_Corstone_SSE-300_Ethos-U65", ""), ("FVP_Corstone_SSE-320", "mps4_board.subsystem.")],
)
def test_a_shim_boots_the_runner_and_logs_it(shims: Installed, tmp_path: Path, name: str, prefix: str) -> None:
    """ExecuTorch's command line, with a program that is none: our runner says so, and its code comes through."""
    kind = "corstone-320" if prefix else "corstone-300-u65"
    elf = shims.folder / "arm_test" / f"arm_semihosting_executor_runner_{kind}" / "arm_executor_runner"
    work = tmp_path / "work folder"
    work.mkdir()
    (work / "program.pte").write_bytes(b"no program at all, but more than a header")
    settings = {"semihosting-enable": "1", "semihosting-cwd": str(work)}
    settings["semihosting-cmd_line"] = "'executor_runner -m program.pte -o out'"
    command = [name, "-a", str(elf), "--timelimit", "60", "-C", f"{prefix}ethosu.num_macs=256"]
    command += [word for key, value in settings.items() for word in ("-C", f"{prefix}cpu0.{key}={value}")]
    found = environment(shims, dict(os.environ)) | {
        "CORSTONE_BOOT_LOG": str(tmp_path / "boots"),
        "PYTEST_CURRENT_TEST": "x",
    }
    done = subprocess.run(command, env=found, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "bad-program" in done.stdout
    # An image that is refused has started nothing, and does not count as a boot.
    refused = subprocess.run(
        [name, "-a", str(work / "program.pte")], env=found, capture_output=True, timeout=60, check=False
    )
    assert refused.returncode == 2
    rows = [json.loads(line) for line in (tmp_path / "boots").read_text().splitlines()]
    assert [(row["fvp"], row["test"], row["started"], row["exit"]) for row in rows] == [
        (name, "x", True, 3),
        (name, "x", False, 2),
    ]
