"""Replays programs that ExecuTorch's Arm tests compiled earlier: its command line, its error check, its comparison.

For a folder of captured cases (``<target>/<id>/case.json`` with ``program.pte``, ``input-<i>.bin``,
``expected-<i>.bin``, ``tosa-program-<i>.bin``). A case costs one boot instead of a compilation and a boot, so that
hundreds fit into minutes. It is not the test itself: compiler and reference are those of the day of the capture. Rows
have the form of ``suite_run.py``, and ``bits``: whether all outputs equal the TOSA reference model's, None where there
is none.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corstone.boards.shims.suite_run import Row, load, spread
from corstone.boards.shims.suite_worker import key
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.ndjson import append_row
from corstone.targets import target as target_named

# backends/arm/test/runner_utils.py, run_corstone: FVP, parameter prefix, folder of the runner.
_BOARDS = {
    "corstone-300": ("FVP_Corstone_SSE-300_Ethos-U55", "", "mps3_board."),
    "corstone-300-u65": ("FVP_Corstone_SSE-300_Ethos-U65", "", "mps3_board."),
    "corstone-320": ("FVP_Corstone_SSE-320", "mps4_board.subsystem.", "mps4_board."),
}
_ERROR = re.compile(r"(^[EF][: ].*$)|(^.*Hard fault.*$)|(^.*Assertion.*$)", re.MULTILINE)
LIMIT_S = 600


@dataclass(frozen=True)
class Case:
    """One captured program."""

    folder: Path
    facts: dict[str, Any]

    @property
    def test(self) -> str:
        """The test's key, as in the results of the suite."""
        return key(self.facts["node_id"])


def cases(folder: Path) -> list[Case]:
    """All cases below a folder, in an order whose every beginning is a fair sample.

    Raises
    ------
    ConfigError: there is none.
    """
    found = {case.test: case for case in _read(folder)}
    if not found:
        raise ConfigError(f"there is no captured case below {folder}", cause=Cause.BAD_INPUT)
    rows = [{"test": test, "function": test.partition("::")[2].partition("[")[0]} for test in found]
    return [found[test] for test in spread(rows)]


def _read(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*/*/case.json")):
        yield Case(path.parent, json.loads(path.read_text()))


def replay(
    todo: Sequence[Case], results: Path, environment: dict[str, str], jobs: int = 1, total_s: float | None = None
) -> int:
    """Boot each case without a row in ``results``, none after ``total_s``; returns the number of new rows."""
    done = load(results)
    left = [case for case in todo if case.test not in done]
    began = time.monotonic()

    def one(case: Case) -> Row | None:
        if total_s is not None and time.monotonic() - began > total_s:
            return None
        return run(case, environment)

    written = 0
    with ThreadPoolExecutor(jobs) as pool:
        for row in pool.map(one, left):
            if row is not None:
                append_row(results, row)
                written += 1
    return written


def run(case: Case, environment: dict[str, str]) -> Row:
    """Boot one case as ExecuTorch's tests do, and judge it as they do."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="replay-") as name:
        work = Path(name)
        shutil.copy(case.folder / "program.pte", work)
        for number, put in enumerate(case.facts["inputs"]):
            shutil.copy(case.folder / put["file"], work / f"i{number}.bin")
        try:
            booted = subprocess.run(
                _command(case, work, environment["EXECUTORCH_ROOT"]),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LIMIT_S + 60,
                check=False,
            )
            status, text = booted.returncode, booted.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired:
            status, text = -9, "did not end"
        boot_s = time.monotonic() - began
        why, bits = _judge(case, work, status, text)
    state = "failed" if why else "passed"
    if marks := case.facts.get("upstream", {}).get("xfail_marks"):
        # The suite itself expects this one to fail. Whether strictly is not captured.
        state, why = ("xfailed", f"{marks[0]} ({why})") if why else ("xpassed", marks[0])
    return {
        "test": case.test,
        "state": state,
        "boots": 1,
        "exits": [status],
        "boot_s": round(boot_s, 3),
        "wall_s": round(time.monotonic() - began, 3),
        "why": why,
        "bits": bits,
    }


def _command(case: Case, work: Path, root: str) -> list[str]:
    board = case.facts["target_board"]
    fvp, cpu, top = _BOARDS[board]
    kind = "portable-ops_" if case.facts["portable_ops_runner"] else ""
    line = "executor_runner -m program.pte -o out"
    line += "".join(f" -i i{number}.bin" for number in range(len(case.facts["inputs"])))
    settings = {
        f"{cpu}ethosu.num_macs": str(target_named(f"ethos-{case.facts['target']}").macs),
        f"{top}visualisation.disable-visualisation": "1",
        f"{top}telnetterminal0.start_telnet": "0",
        f"{top}uart0.out_file": "'-'",
        f"{cpu}cpu0.semihosting-enable": "1",
        f"{cpu}cpu0.semihosting-stack_base": "0",
        f"{cpu}cpu0.semihosting-heap_limit": "0",
        f"{cpu}cpu0.semihosting-cwd": str(work),
        f"{cpu}ethosu.extra_args": "'--fast'",
        f"{cpu}cpu0.semihosting-cmd_line": f"'{line}'",
    }
    elf = os.path.join(root, "arm_test", f"arm_semihosting_executor_runner_{kind}{board}", "arm_executor_runner")
    words = [word for name, value in settings.items() for word in ("-C", f"{name}={value}")]
    return [shutil.which(fvp) or fvp, *words, "-a", elf, "--timelimit", str(LIMIT_S)]


def _judge(case: Case, work: Path, status: int, text: str) -> tuple[str, bool | None]:
    """Why it failed, empty when it passed, and whether its bits are the TOSA reference model's."""
    tail = " | ".join(text.strip().splitlines()[-3:])[-400:]
    if status != 0:
        return f"exit {status}: {tail}", None
    if found := _ERROR.search(text):
        return f"error on the console: {found[0][:200]}", None
    equal: list[bool] = []
    tolerance = case.facts["tolerance"]
    for number, want in enumerate(case.facts["outputs"]):
        path = work / f"out-{number}.bin"
        if not path.is_file():
            return f"output {number} is missing: {tail}", None
        got = path.read_bytes()
        expected = (case.folder / want["file"]).read_bytes()
        if len(got) != len(expected):
            return f"output {number} has {len(got)} bytes, expected {len(expected)}", None
        tosa = case.folder / f"tosa-program-{number}.bin"
        if tosa.is_file():
            equal.append(tosa.read_bytes() == got)
        worst = _distance(got, expected, want, tolerance) if tolerance["compare_outputs"] else ""
        if worst:
            return f"output {number}: {worst}", all(equal) if equal else None
    return "", all(equal) if equal else None


def _distance(got: bytes, expected: bytes, want: dict[str, Any], tolerance: dict[str, Any]) -> str:
    """Empty when close as ``torch.allclose`` with NaN equal; else the worst element."""
    dtype = np.dtype(want["dtype"])
    have, reference = (np.frombuffer(data, dtype).astype(np.float64) for data in (got, expected))
    atol = tolerance["atol"]
    if want["qparams"] and dtype.kind == "f":
        atol += tolerance["qtol"] * want["qparams"]["scale"]
    if np.allclose(have, reference, rtol=tolerance["rtol"], atol=atol, equal_nan=True):
        return ""
    apart = np.nan_to_num(np.abs(have - reference), nan=np.inf)
    apart[np.isnan(have) & np.isnan(reference)] = 0
    at = int(np.argmax(apart))
    return f"element {at} is {have[at]}, expected {reference[at]}, of {have.size}"
