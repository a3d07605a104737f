"""The generated workflow run here, job by job, as the runner would: three shards, one of them killed, then merged."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from corstone.ci import github
from corstone.ci.localrun import JobResult, LocalRunner
from corstone.ci.matrix import Matrix
from corstone.cli import main
from corstone.errors import ConfigError
from corstone.ledger.merge import merge
from corstone.ledger.model import State

MATRIX = """
schema = 1
[project]
install = "python -c 'import corstone'"
setup = "echo set up"
test = "python -m pytest -q -p pytest_split.plugin -p pytest_rerunfailures -p pytest_corstone.ledger_hooks"
[systems.here]
image = "python:{python}-bookworm"
qemu = "7.2"
[defaults]
boards = ["corstone-300"]
targets = ["ethos-u55-128"]
bits = [8]
policies = ["fixed"]
provider = "emulator"
system = "here"
stages = ["nightly"]
retries = 1
versions = { python = "3.11" }
[[cell]]
name = "u55"
shards = 3
[[cell]]
name = "u55-fvp"
provider = "fvp"
"""

TESTS = """
import os, signal, pytest
@pytest.mark.parametrize("i", range(18))
def test_it(i):
    assert "SECRET" not in os.environ
    if os.environ.get("KILL") == os.environ["CORSTONE_SHARD"] and i == 10:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalRunner:
    for name in ("pytest_split", "pytest_rerunfailures", "yaml"):
        pytest.importorskip(name, reason=f"{name} is missing: pip install '.[ci]'")
    monkeypatch.setenv("SECRET", "of the developer")
    project = tmp_path / "project"
    (project / "ci").mkdir(parents=True)
    (project / "ci" / "matrix.toml").write_text(MATRIX)
    (project / "ci" / "quarantine.toml").write_text("")
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (project / "test_it.py").write_text(TESTS)
    files = github.generate(Matrix.load(project / "ci" / "matrix.toml"))
    assert list(files) == [".github/workflows/corstone-nightly.yml"]
    workflow = project / "nightly.yml"
    workflow.write_text(files[".github/workflows/corstone-nightly.yml"])
    runner = LocalRunner(workflow, project, tmp_path / "workspace", python=Path(sys.executable), step_timeout_s=120)
    runner.data["jobs"]["test"]["env"]["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # only to start faster
    assert runner.run("plan") is not None
    return runner


def run_all(runner: LocalRunner) -> tuple[list[JobResult], JobResult]:
    shards = [job for row in runner.rows("test") if (job := runner.run("test", row)) is not None]
    assert all(runner.run("fvp", row) is None for row in runner.rows("fvp")), "there is no licence here"
    merged = runner.run("merge")
    assert merged is not None
    return shards, merged


def output(job: JobResult, step: str) -> str:
    return next(s.output for s in job.steps if s.name == step)


def test_the_matrix_runs_here_and_a_killed_shard_turns_it_red_with_every_test_in_it(runner: LocalRunner) -> None:
    runner.data["jobs"]["test"]["env"]["KILL"] = "2/3"
    shards, merged = run_all(runner)
    assert [j.name for j in shards] == ["u55 1/3", "u55 2/3", "u55 3/3"]
    assert [j.failed for j in shards] == [False, True, False]
    assert "status 137" in output(shards[1], "Test") or "Killed" in output(shards[1], "Test")
    assert merged.failed
    answer = output(merged, "One report, one answer")
    assert "18 collected = 18 reported" in answer
    artifacts = runner.workspace / "artifacts"
    assert sorted(p.name for p in artifacts.glob("ledger-*")) == [f"ledger-u55-{n}-attempt-1" for n in (1, 2, 3)]
    kept = next(artifacts.glob("corstone-nightly-*"))
    report = json.loads((kept / "corstone-report" / "report.json").read_text())
    assert report["red"]
    assert report["counts"]["aborted"] >= 1
    assert report["counts"]["passed"] >= 12
    assert sum(report["counts"].values()) == 18
    assert (kept / "corstone-site" / "index.html").exists()
    summary = next((runner.workspace / "jobs").glob("merge-*")) / "summary.md"
    assert "red" in summary.read_text()

    # The failed jobs are run again, as a user would: the same run, attempt 2, with durations recorded in between.
    runner.run_attempt = "2"
    del runner.data["jobs"]["test"]["env"]["KILL"]
    again = runner.run("test", runner.rows("test")[1])
    assert again is not None
    assert not again.failed
    second = runner.run("merge")
    assert second is not None
    assert not second.failed, output(second, "One report, one answer")
    states = merge(list(artifacts.glob("ledger-*"))).counts
    assert states[State.FLAKY] >= 1, "what died at first and passed then is flaky, not forgotten"
    assert states[State.PASSED] + states[State.FLAKY] == 18
    caches = sorted(p.name for p in (runner.workspace / "caches").glob("durations-*"))
    assert caches == ["durations-1-1", "durations-1-2"]


def test_a_shard_that_never_ran_is_missed(runner: LocalRunner) -> None:
    for row in runner.rows("test")[:2]:
        assert runner.run("test", row) is not None
    merged = runner.run("merge")
    assert merged is not None
    assert merged.failed
    assert "cell u55, shard 3/3: left no ledger" in output(merged, "One report, one answer")


def test_an_expression_that_is_not_known_or_wrong_in_a_container_is_refused(runner: LocalRunner) -> None:
    runner.data["jobs"]["test"]["env"]["X"] = "${{ secrets.TOKEN }}"
    with pytest.raises(ConfigError, match=r"secrets\.TOKEN"):
        runner.run("test", runner.rows("test")[0])
    runner.data["jobs"]["test"]["env"]["X"] = "${{ github.workspace }}/cache"
    with pytest.raises(ConfigError, match="a container does not have"):
        runner.run("test", runner.rows("test")[0])


SMALL = """
jobs:
  test:
    name: "${{ matrix.cell }}"
    strategy: {matrix: {include: [{cell: kept}, {cell: killed}]}}
    env: {CELL: "${{ matrix.cell }}"}
    steps:
      - {name: Check out, uses: actions/checkout@v6}
      - name: Install
        run: echo 'installed = True' > $(python -c 'import site; print(site.getsitepackages()[0])')/small_one.py
      - name: Test
        run: |
          python -c 'import small_one, sys; print("prefix", sys.prefix)'
          mkdir -p out
          sleep 30 & echo $! > out/child; echo "$CELL" > out/begun
          [ "$CELL" = kept ] || wait
          echo "$CELL" > out/ended
      - {name: Keep, if: always(), uses: actions/upload-artifact@v6, with: {name: "out-${{ matrix.cell }}", path: out}}
  merge:
    name: merge
    needs: [test]
    if: "${{ !cancelled() }}"
    steps:
      - {name: Fetch, uses: actions/download-artifact@v7, with: {pattern: "out-*", path: all}}
      - {name: Answer, run: "find all; test -f all/out-killed/out/ended"}
"""


def test_the_command_gives_each_job_an_environment_of_its_own_and_kills_the_one_named(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="yaml is missing: pip install '.[ci]'")
    workflow = tmp_path / ".github" / "workflows" / "corstone-nightly.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(SMALL)
    command = [sys.executable, "-m", "corstone.cli", "ci", "run", "nightly", "--workspace", "out", "--kill", "killed@4"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    said = done.stdout.splitlines()
    assert done.returncode == 1, done.stdout + done.stderr
    assert "kept: Test: ok" in said
    assert "killed: Test: FAILED (137)" in said
    assert "killed: Keep: ok" in said, "what a machine left before it went away is kept"
    assert "merge: Answer: FAILED (1)" in said
    assert "all/out-kept/out/ended" in done.stdout

    artifacts = tmp_path / "out" / "artifacts"
    assert (artifacts / "out-killed" / "out" / "begun").exists()
    assert not (artifacts / "out-killed" / "out" / "ended").exists()
    for name in ("kept", "killed"):
        child = int((artifacts / f"out-{name}" / "out" / "child").read_text())
        assert not Path(f"/proc/{child}").exists(), "nothing of a job stays behind"
    jobs = tmp_path / "out" / "jobs"
    assert not list(jobs.glob("*/venv")), "an environment goes with its job"
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("small_one")


@pytest.mark.parametrize("kill", ["killed", "killed@soon"])
def test_a_kill_without_a_time_is_refused(tmp_path: Path, kill: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workflow = tmp_path / ".github" / "workflows" / "corstone-nightly.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text("jobs: {}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["ci", "run", "nightly", "--kill", kill]) == 2
