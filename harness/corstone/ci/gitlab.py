"""The GitLab pipeline of a matrix: one file, the stage chosen by the kind of pipeline.

A merge request runs ``pull-request``; a schedule runs what its variable ``CORSTONE_STAGE`` says.
"""

from __future__ import annotations

import shlex
from typing import Any

from corstone.ci import steps
from corstone.ci.checks import Check
from corstone.ci.matrix import STAGES, Cell, Matrix
from corstone.ci.yaml_text import dump

FILE = ".gitlab-ci.yml"


def generate(matrix: Matrix) -> dict[str, str]:
    """Text of the pipeline by its path."""
    data: dict[str, Any] = {
        "stages": ["plan", "test", "merge"],
        "variables": {
            "PIP_CACHE_DIR": "$CI_PROJECT_DIR/.pip-cache",
            "CORSTONE_CACHE": "$CI_PROJECT_DIR/.corstone-cache",
        },
        "workflow": {
            "rules": [
                {"if": '$CI_PIPELINE_SOURCE == "merge_request_event"', "variables": {"CORSTONE_STAGE": "pull-request"}},
                {"if": "$CORSTONE_STAGE"},
            ]
        },
    }
    for stage in STAGES:
        if not matrix.stage(stage):
            continue
        data[f"{stage}:plan"] = _plan_job(stage)
        needs = []
        for fvp in (False, True):
            if cells := matrix.stage(stage, fvp=fvp):
                name = f"{stage}:{'fvp' if fvp else 'test'}"
                needs.append({"job": name, "artifacts": True} | ({"optional": True} if fvp else {}))
                data[name] = _test_job(matrix, stage, cells, fvp=fvp)
        data |= {f"{stage}:{c.name}": _check_job(stage, c) for c in matrix.checks if stage in c.stages}
        data[f"{stage}:merge"] = _merge_job(matrix, stage, needs, fvp=bool(matrix.stage(stage, fvp=True)))
    return {FILE: steps.header(matrix, "gitlab", [FILE]) + dump(data)}


def _rule(stage: str, more: str = "") -> str:
    return f'$CORSTONE_STAGE == "{stage}"{more}'


def _plan_job(stage: str) -> dict[str, Any]:
    return {
        "stage": "plan",
        "rules": [{"if": _rule(stage)}],
        "cache": [{"key": "durations", "paths": [steps.DURATIONS], "policy": "pull"}],
        "script": [steps.plan_script()],
        "artifacts": {"paths": [steps.DURATIONS], "expire_in": "30 days"},
    }


def _test_job(matrix: Matrix, stage: str, cells: list[Cell], *, fvp: bool) -> dict[str, Any]:
    rows = []
    for cell in cells:
        row: dict[str, Any] = steps.cell_environment(cell, stage)
        rows.append(row | {"IMAGE": cell.image, "SHARD": [str(i) for i in range(1, cell.shards[stage] + 1)]})
    scripts = [steps.system_script(matrix), steps.install_script(matrix), steps.setup_script(matrix)]
    lines = [s for s in scripts if s]
    # Names with a slash or a sign GitLab would expand reach the tools through variables, set here.
    export = (
        'export CORSTONE_RUN="$CORSTONE_STAGE-$CI_PIPELINE_ID" CORSTONE_CELL="$CELL" '
        'CORSTONE_SHARD="$SHARD/$SHARDS" CORSTONE_JOB_ATTEMPT="${CORSTONE_JOB_ATTEMPT:-1}"'
    )
    job: dict[str, Any] = {
        "stage": "test",
        "needs": [{"job": f"{stage}:plan", "artifacts": True}],
        "timeout": f"{max(c.minutes for c in cells)} minutes",
        "parallel": {"matrix": rows},
        "rules": [{"if": _rule(stage, " && $CORSTONE_FVP_LICENCE" if fvp else "")}],
        "cache": [
            {"key": {"files": ["pyproject.toml"], "prefix": "pip-$CELL"}, "paths": [".pip-cache"]},
            {
                "key": {"files": ["pyproject.toml", steps.IMAGE_FILES[0]], "prefix": "corstone-$CELL"},
                "paths": [".corstone-cache"],
            },
        ],
        "before_script": lines,
        "script": [export, steps.test_script(matrix)],
        "artifacts": {"when": "always", "expire_in": "30 days", "paths": [steps.LEDGERS, steps.OUT]},
    }
    if fvp:
        job["tags"] = sorted({t for c in cells for t in c.runs_on})
        job["variables"] = {"ARMLMD_LICENSE_FILE": "$CORSTONE_FVP_LICENCE"}
    else:
        job["image"] = "$IMAGE"
    return job


def _check_job(stage: str, check: Check) -> dict[str, Any]:
    before = [steps.packages_script(check.system_packages), *check.install]
    job: dict[str, Any] = {
        "stage": "test",
        "image": check.image,
        "needs": [],
        "timeout": f"{check.minutes} minutes",
        "rules": [{"if": _rule(stage)}],
        "before_script": [line for line in before if line],
        "script": list(check.run),
    }
    if check.artifacts:
        job["artifacts"] = {"when": "always", "expire_in": "30 days", "paths": list(check.artifacts)}
        # GitLab warns where an artifact is missing, and goes on.
        job["script"] += [f"test -e {shlex.quote(a)}" for a in check.artifacts]
    return job


def _merge_job(matrix: Matrix, stage: str, needs: list[dict[str, Any]], *, fvp: bool) -> dict[str, Any]:
    quarantine = matrix.quarantine
    flag = " ${CORSTONE_FVP_LICENCE:+--fvp}" if fvp else ""
    summary = f"{steps.REPORT}/summary.md"
    # GitLab shows no properties of a case, and refuses a file of more than 250,000 XML objects.
    script = [
        steps.merge_script(matrix, stage, fvp_flag=flag, summary=summary, quarantine=quarantine, flavour="strict")
    ]
    paths, caches = [steps.REPORT], [{"key": "durations", "paths": [steps.DURATIONS]}]
    job: dict[str, Any] = {
        "stage": "merge",
        "image": matrix.project.get("merge_image", "python:3.12-bookworm"),
        "rules": [{"if": _rule(stage), "when": "always"}],
        "needs": needs,
    }
    if stage != "pull-request":
        paths.append(steps.SITE)
        caches.append({"key": "history", "paths": [steps.HISTORY]})
        # The dashboard must know a red night as well, so it is built after the script, whatever that said.
        job["after_script"] = [*steps.lines(matrix.project.get("merge_path", [])), steps.dashboard_script(quarantine)]
    install = steps.lines(matrix.project.get("merge_install", matrix.project["install"]))
    reports = {"junit": f"{steps.REPORT}/junit.xml"}
    return job | {
        "cache": caches,
        "before_script": install,
        "script": script,
        "artifacts": {"when": "always", "expire_in": "1 year", "paths": paths, "reports": reports},
    }
