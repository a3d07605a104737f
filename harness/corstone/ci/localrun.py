"""Run jobs of a generated GitHub workflow on this machine, as the runner would: to see what CI will do before it does.

Steps are taken from the generated file itself. ``run:`` steps go through the shell with an environment that holds
nothing but what the workflow gives; the few actions our workflows use (check out, cache, artifacts) are played with
folders. An expression or an action this does not know is an error, not a guess. Containers are not started: the job
gets this machine's programs, and on request a virtual environment of its own with nothing in it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from corstone.errors import ConfigError, ToolError

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_HASH = re.compile(r"hashFiles\((.*)\)\Z")
_CONDITION = re.compile(r"(\w[\w.]*) (!=|==) '([^']*)'(?: && '([^']*)' \|\| '([^']*)')?\Z")
_NOT_IN_GIT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "corstone-out", "*.egg-info")
_ALWAYS = {"always()", "!cancelled()"}


@dataclass
class StepResult:
    """One step that was run: its name, exit status (None where it was skipped), and its output."""

    name: str
    status: int | None
    output: str = ""


@dataclass
class JobResult:
    """One job: its name as shown, and its steps."""

    name: str
    steps: list[StepResult] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether any step failed."""
        return any(s.status not in (0, None) for s in self.steps)


@dataclass
class LocalRunner:
    """Plays one workflow.

    Parameters
    ----------
    project: what a check-out gives: a copy of this folder, without ``.git`` and caches.
    workspace: where jobs, caches and artifacts lie.
    python: the interpreter jobs find as ``python``; its environment stands for the image.
    fresh: each job gets a new virtual environment made by that interpreter and thrown away after it; what its steps
        install touches nothing else.
    skip: names of steps left out.
    variables: ``vars.`` of the repository.
    kill_after_s: jobs, by the name shown, whose test step is killed (SIGKILL to all of it) after so many seconds: what
        a machine that goes away leaves.
    """

    workflow: Path
    project: Path
    workspace: Path
    python: Path = Path(sys.executable)
    fresh: bool = False
    skip: Sequence[str] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    run_id: str = "1"
    run_attempt: str = "1"
    step_timeout_s: float = 3600.0
    kill_after_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            import yaml
        except ImportError as error:
            raise ToolError("PyYAML is needed to read a workflow", hint="pip install 'corstone-harness[ci]'") from error
        try:
            self.data: dict[str, Any] = yaml.safe_load(self.workflow.read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise ConfigError(f"cannot read the workflow {self.workflow}: {error}") from error

    def rows(self, job: str) -> list[dict[str, Any]]:
        """Matrix rows of a job; one empty row for a job without a matrix."""
        if job not in self.data["jobs"]:
            raise ConfigError(f"no job {job!r} in {self.workflow}", hint=f"there are {', '.join(self.data['jobs'])}")
        return list(self.data["jobs"][job].get("strategy", {}).get("matrix", {}).get("include", [{}]))

    def run(self, job: str, row: Mapping[str, Any] | None = None) -> JobResult | None:
        """Run one job (for one row of its matrix); None when its condition leaves it out."""
        spec = self.data["jobs"][job]
        context = _Context(self, dict(row or {}))
        result = JobResult(context.text(spec.get("name", job)))
        if not context.holds(spec.get("if", ""), failed=False):
            return None
        folder = self.workspace / "jobs" / re.sub(r"[^A-Za-z0-9]+", "-", f"{job}-{result.name}-{self.run_attempt}")
        shutil.rmtree(folder, ignore_errors=True)
        context.folder = folder / "work"
        context.folder.mkdir(parents=True)
        context.in_container = "container" in spec
        programs = self._virtual_environment(folder / "venv") if self.fresh else self.python.parent
        try:
            self._steps(spec, context, result, self._environment(folder, programs))
        finally:
            shutil.rmtree(folder / "venv", ignore_errors=True)
        return result

    def _steps(
        self, spec: Mapping[str, Any], context: _Context, result: JobResult, environment: dict[str, str]
    ) -> None:
        folder = context.folder.parent
        environment |= context.table(spec.get("env", {}))
        saves: list[Callable[[], object]] = []
        for number, step in enumerate(spec["steps"], start=1):
            name = context.text(step.get("name", f"step {number}"))
            if name in self.skip or not context.holds(step.get("if", ""), failed=result.failed):
                result.steps.append(StepResult(name, None))
            elif "run" in step:
                limit_s = self.kill_after_s.get(result.name) if name == "Test" else None
                result.steps.append(self._shell(name, step, context, environment, limit_s))
                environment |= _said_variables(folder / "env")
            else:
                result.steps.append(self._action(name, step, context, saves))
        for save in saves if not result.failed else ():
            save()

    def _virtual_environment(self, folder: Path) -> Path:
        """Make an empty one; returns the folder of its programs."""
        made = subprocess.run(
            [str(self.python), "-m", "venv", str(folder)], capture_output=True, text=True, timeout=300, check=False
        )
        if made.returncode:
            raise ToolError(
                f"{self.python} -m venv ended with status {made.returncode}: {(made.stderr or made.stdout).strip()}",
                hint="Debian and Ubuntu have it in the package python3-venv",
            )
        return folder / "bin"

    def _environment(self, folder: Path, programs: Path) -> dict[str, str]:
        home = folder / "home"
        home.mkdir(parents=True)
        return {
            "PATH": f"{programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_WORKSPACE": str(folder / "work"),
            "GITHUB_ENV": str(folder / "env"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _shell(
        self, name: str, step: Mapping[str, Any], context: _Context, environment: dict[str, str], kill_s: float | None
    ) -> StepResult:
        # The runner's own words: sh -e for the default, and for bash also a pipe that fails when its parts do.
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"] if step.get("shell") == "bash" else ["sh", "-e"]
        script = context.folder.parent / "step.sh"
        script.write_text(context.text(step["run"]), encoding="utf-8")
        env = environment | context.table(step.get("env", {}))
        log = context.folder.parent / "step.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [*shell, str(script)],
                cwd=context.folder,
                env=env,
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                status = process.wait(timeout=self.step_timeout_s if kill_s is None else kill_s)
            except subprocess.TimeoutExpired:
                status = 124 if kill_s is None else 137
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return StepResult(name, status, log.read_text(encoding="utf-8", errors="backslashreplace"))

    def _action(
        self, name: str, step: Mapping[str, Any], context: _Context, saves: list[Callable[[], object]]
    ) -> StepResult:
        action = str(step["uses"]).partition("@")[0]
        given = {k: context.text(str(v)) for k, v in step.get("with", {}).items()}
        cache = self.workspace / "caches"
        if action == "actions/checkout":
            shutil.copytree(self.project, context.folder, dirs_exist_ok=True, ignore=self._not_checked_out)
        elif action in {"actions/cache", "actions/cache/restore"}:
            hit = self._restore(cache, given, context.folder)
            if action == "actions/cache" and hit != given["key"]:
                saves.append(lambda: _copy(context.folder, given["path"].split(), cache / _safe(given["key"])))
        elif action == "actions/cache/save":
            _copy(context.folder, given["path"].split(), cache / _safe(given["key"]))
        elif action == "actions/upload-artifact":
            found = _copy(context.folder, given["path"].split(), self.workspace / "artifacts" / _safe(given["name"]))
            if not found and given.get("if-no-files-found") == "error":
                return StepResult(name, 1, f"no files found for {given['path']}")
        elif action == "actions/download-artifact" and "name" in given:
            artifact = self.workspace / "artifacts" / _safe(given["name"])
            if not artifact.exists():
                return StepResult(name, 1, f"no artifact {given['name']}")
            shutil.copytree(artifact, context.folder / given.get("path", ""), dirs_exist_ok=True)
        elif action == "actions/download-artifact":
            for artifact in sorted((self.workspace / "artifacts").glob("*")):
                if fnmatchcase(artifact.name, given.get("pattern", "*")):
                    shutil.copytree(artifact, context.folder / given["path"] / artifact.name, dirs_exist_ok=True)
        else:
            raise ConfigError(f"step {name!r} uses {step['uses']}, which cannot be played here")
        return StepResult(name, 0)

    def _not_checked_out(self, folder: str, names: list[str]) -> set[str]:
        # The workspace may lie inside the project: a copy of it would hold itself.
        own = {n for n in names if (Path(folder) / n).resolve() == self.workspace.resolve()}
        return own | _NOT_IN_GIT(folder, names)

    def _restore(self, cache: Path, given: Mapping[str, str], folder: Path) -> str:
        """Copy back the entry of the key, or the newest that begins as a restore key says; returns its key or ''."""
        exact = cache / _safe(given["key"])
        found = [exact] if exact.exists() else []
        for prefix in given.get("restore-keys", "").split():
            found += sorted(cache.glob(_safe(prefix) + "*"), key=lambda p: -p.stat().st_mtime)
        if not found:
            return ""
        shutil.copytree(found[0], folder, dirs_exist_ok=True)
        return given["key"] if found[0] == exact else found[0].name


@dataclass
class _Context:
    """Expressions of one job."""

    runner: LocalRunner
    row: dict[str, Any]
    folder: Path = Path()
    in_container: bool = False

    def text(self, template: Any) -> str:
        return _EXPRESSION.sub(lambda m: self.value(m.group(1).strip()), str(template))

    def table(self, table: Mapping[str, Any]) -> dict[str, str]:
        return {k: self.text(v) for k, v in table.items()}

    def holds(self, condition: str, *, failed: bool) -> bool:
        """Whether a step or job with this ``if`` runs; without one it runs while nothing has failed."""
        inner = condition.strip().removeprefix("${{").removesuffix("}}").strip()
        if not inner:
            return not failed
        return inner in _ALWAYS or bool(self.value(inner))

    def value(self, expression: str) -> str:
        if match := _HASH.match(expression):
            return self._hash([p.strip().strip("'") for p in match.group(1).split(",")])
        if match := _CONDITION.match(expression):
            name, sign, right, yes, no = match.groups()
            true = (self._name(name) == right) == (sign == "==")
            return (yes if true else no) if yes is not None else ("true" if true else "")
        return self._name(expression)

    def _name(self, name: str) -> str:
        scope, _, key = name.partition(".")
        github = {
            "run_id": self.runner.run_id,
            "run_attempt": self.runner.run_attempt,
            "workspace": str(self.folder),
            "ref": "refs/heads/main",
        }
        if scope == "matrix":
            return str(self.row.get(key, ""))
        if scope == "vars":
            return self.runner.variables.get(key, "")
        if scope == "github" and key == "workspace" and self.in_container:
            raise ConfigError(
                "github.workspace names a folder of the host, which a container does not have",
                hint="use $GITHUB_WORKSPACE in a step",
            )
        if scope == "github" and key in github:
            return github[key]
        raise ConfigError(f"the expression {name!r} cannot be evaluated here")

    def _hash(self, patterns: Sequence[str]) -> str:
        total = hashlib.sha256()
        for pattern in patterns:
            for path in sorted(p for p in self.folder.glob(pattern) if p.is_file()):
                total.update(hashlib.sha256(path.read_bytes()).digest())
        return total.hexdigest()


def _said_variables(path: Path) -> dict[str, str]:
    """What steps wrote to ``GITHUB_ENV``: ``NAME=value`` lines."""
    if not path.exists():
        return {}
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: value for name, sign, value in (x.partition("=") for x in lines) if sign}


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)


def _copy(folder: Path, names: Sequence[str], target: Path) -> int:
    """Copy what is there of the named files and folders, keeping their places; returns how many files."""
    count = 0
    for name in names:
        path = folder / name
        files = [p for p in path.rglob("*") if p.is_file()] if path.is_dir() else [path] if path.exists() else []
        for file in files:
            place = target / file.relative_to(folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
            count += 1
    return count
