"""The GitHub workflows of a matrix: one file a stage, with a job for cells, one for FVP cells and one that merges.

Actions are named by their major tags; a project that pins them by commit sets ``[project.actions]``.
"""

from __future__ import annotations

from typing import Any

from corstone.ci import steps
from corstone.ci.checks import Check
from corstone.ci.matrix import STAGES, Cell, Matrix
from corstone.ci.yaml_text import dump

FOLDER = ".github/workflows"
_ACTIONS = {
    "checkout": "actions/checkout@v6",
    "cache": "actions/cache@v5",
    "restore": "actions/cache/restore@v5",
    "save": "actions/cache/save@v5",
    "upload": "actions/upload-artifact@v6",
    "download": "actions/download-artifact@v7",
}
# From the shell: in a container the expression github.workspace names the host's folder (actions/runner issue 2058).
_FOLDERS = """echo "CORSTONE_CACHE=$GITHUB_WORKSPACE/.corstone-cache" >> "$GITHUB_ENV"
echo "PIP_CACHE_DIR=$GITHUB_WORKSPACE/.pip-cache" >> "$GITHUB_ENV\""""
_HAS_FVP = "vars.CORSTONE_FVP_LICENCE != ''"


def generate(matrix: Matrix) -> dict[str, str]:
    """Text of each workflow by its path; a stage without cells has none."""
    files = {f"{FOLDER}/corstone-{s}.yml": s for s in STAGES if matrix.stage(s)}
    head = steps.header(matrix, "github", list(files))
    return {path: head + dump(_workflow(matrix, stage)) for path, stage in files.items()}


def _workflow(matrix: Matrix, stage: str) -> dict[str, Any]:
    triggers: dict[str, Any] = {"workflow_dispatch": None}
    if stage == "pull-request":
        triggers["pull_request"] = None
    elif stage in matrix.schedule:
        triggers["schedule"] = [{"cron": matrix.schedule[stage]}]
    jobs: dict[str, Any] = {"plan": _plan_job(matrix)}
    if plain := matrix.stage(stage, fvp=False):
        jobs["test"] = _test_job(matrix, stage, plain)
    if licensed := matrix.stage(stage, fvp=True):
        jobs["fvp"] = {"if": f"${{{{ {_HAS_FVP} }}}}"} | _test_job(matrix, stage, licensed)
    jobs["merge"] = _merge_job(matrix, stage, [name for name in jobs if name != "plan"])
    jobs |= {c.name: _check_job(matrix, c) for c in matrix.checks if stage in c.stages}
    cancel = stage == "pull-request"
    group = "corstone-${{ github.ref }}" if cancel else f"corstone-{stage}"
    return {
        "name": f"corstone {stage}",
        "on": triggers,
        "permissions": {"contents": "read"},
        "concurrency": {"group": group, "cancel-in-progress": cancel},
        "jobs": jobs,
    }


def _uses(matrix: Matrix, name: str) -> str:
    return str(matrix.project.get("actions", {}).get(name, _ACTIONS[name]))


def _test_job(matrix: Matrix, stage: str, cells: list[Cell]) -> dict[str, Any]:
    rows = []
    for cell in cells:
        names = {k.lower(): v for k, v in steps.cell_environment(cell, stage).items()}
        facts = {"minutes": cell.minutes, "image": cell.image, "runs_on": list(cell.runs_on)}
        rows += [names | facts | {"shard": str(i)} for i in range(1, cell.shards[stage] + 1)]
    keys = sorted({k for row in rows for k in row} - {"minutes", "image", "runs_on"})
    env = {k.upper(): f"${{{{ matrix.{k} }}}}" for k in keys}
    env |= {
        "CORSTONE_RUN": f"{stage}-${{{{ github.run_id }}}}",
        "CORSTONE_JOB_ATTEMPT": "${{ github.run_attempt }}",
        "CORSTONE_CELL": "${{ matrix.cell }}",
        "CORSTONE_SHARD": "${{ matrix.shard }}/${{ matrix.shards }}",
    }
    fvp = any(c.needs_fvp for c in cells)
    if fvp:
        env["ARMLMD_LICENSE_FILE"] = "${{ vars.CORSTONE_FVP_LICENCE }}"
    job: dict[str, Any] = {
        "name": "${{ matrix.cell }} ${{ matrix.shard }}/${{ matrix.shards }}",
        "needs": ["plan"],
        "runs-on": "${{ matrix.runs_on }}",
        "timeout-minutes": "${{ matrix.minutes }}",
        "strategy": {"fail-fast": False, "matrix": {"include": rows}},
        "env": env,
    }
    if not fvp:
        # FVP runners are machines of their own, with the simulators on them; the rest runs in a clean image.
        job["container"] = {"image": "${{ matrix.image }}"}
    job["steps"] = _test_steps(matrix)
    return job


def _plan_job(matrix: Matrix) -> dict[str, Any]:
    keep = {"name": "plan", "path": steps.DURATIONS, "overwrite": True}
    return {
        "name": "plan",
        "runs-on": "ubuntu-24.04",
        "timeout-minutes": 10,
        "steps": [
            _restore(matrix, "Recorded durations", steps.DURATIONS, "durations"),
            {"name": "One split for all shards", "run": steps.plan_script()},
            {"name": "Keep the split", "uses": _uses(matrix, "upload"), "with": keep},
        ],
    }


def _check_job(matrix: Matrix, check: Check) -> dict[str, Any]:
    listed: list[dict[str, Any]] = [{"name": "Check out", "uses": _uses(matrix, "checkout")}]
    if script := steps.packages_script(check.system_packages):
        listed.append({"name": "System packages", "run": script})
    if check.install:
        listed.append({"name": "Install", "run": "\n".join(check.install)})
    listed.append({"name": "Check", "run": "\n".join(check.run)})
    if check.artifacts:
        keep = {
            "name": f"{check.name}-attempt-${{{{ github.run_attempt }}}}",
            "path": "".join(f"{a}\n" for a in check.artifacts),
            "retention-days": 30,
            "if-no-files-found": "error",
        }
        listed.append({"name": "Keep", "if": "always()", "uses": _uses(matrix, "upload"), "with": keep})
    return {
        "name": check.name,
        "runs-on": "ubuntu-24.04",
        "timeout-minutes": check.minutes,
        "container": {"image": check.image},
        "steps": listed,
    }


def _test_steps(matrix: Matrix) -> list[dict[str, Any]]:
    compiler = ", ".join(f"'{f}'" for f in steps.COMPILER_FILES)
    images = ", ".join(f"'{f}'" for f in steps.IMAGE_FILES)
    result: list[dict[str, Any]] = [{"name": "Check out", "uses": _uses(matrix, "checkout")}]
    result.append({"name": "Folders", "run": _FOLDERS})
    if script := steps.system_script(matrix):
        result.append({"name": "System packages", "run": script})
    pip_key = "pip-${{ matrix.image }}-${{ hashFiles('pyproject.toml') }}-${{ matrix.cell }}"
    result.append(_cache(matrix, "Wheels by content", ".pip-cache", pip_key, ["pip-${{ matrix.image }}-"]))
    key = f"corstone-${{{{ matrix.cell }}}}-${{{{ hashFiles({images}) }}}}-${{{{ hashFiles({compiler}) }}}}"
    restore = [f"corstone-${{{{ matrix.cell }}}}-${{{{ hashFiles({images}) }}}}-"]
    result.append(_cache(matrix, "Programs and runner images by content", ".corstone-cache", key, restore))
    result.append({"name": "Install", "run": steps.install_script(matrix)})
    if script := steps.setup_script(matrix):
        result.append({"name": "Set up", "run": script})
    result.append({"name": "Recorded durations", "uses": _uses(matrix, "download"), "with": {"name": "plan"}})
    result.append({"name": "Test", "shell": "bash", "run": steps.test_script(matrix)})
    name = "ledger-${{ matrix.cell }}-${{ matrix.shard }}-attempt-${{ github.run_attempt }}"
    result.append(
        {
            "name": "Keep the ledgers",
            "if": "always()",
            "uses": _uses(matrix, "upload"),
            "with": {
                "name": name,
                "path": f"{steps.LEDGERS}\n{steps.OUT}\n",
                "retention-days": 30,
                "if-no-files-found": "error",
            },
        }
    )
    return result


def _merge_job(matrix: Matrix, stage: str, needs: list[str]) -> dict[str, Any]:
    quarantine = matrix.quarantine
    flag = " ${FVP_RAN:+--fvp}" if "fvp" in needs else ""
    script = steps.merge_script(matrix, stage, fvp_flag=flag, summary='"$GITHUB_STEP_SUMMARY"', quarantine=quarantine)
    history = stage != "pull-request"
    result: list[dict[str, Any]] = [
        {"name": "Check out", "uses": _uses(matrix, "checkout")},
        {
            "name": "Install",
            "run": "\n".join(steps.lines(matrix.project.get("merge_install", matrix.project["install"]))),
        },
        {
            "name": "Fetch the ledgers",
            "uses": _uses(matrix, "download"),
            "with": {"pattern": "ledger-*", "path": steps.LEDGERS},
        },
        {"name": "One report, one answer", "run": script},
    ]
    if history:
        result += [
            _restore(matrix, "History so far", steps.HISTORY, "history", always=True),
            {"name": "Dashboard", "if": "always()", "run": steps.dashboard_script(quarantine)},
            _save(matrix, "Keep the history", steps.HISTORY, "history"),
        ]
    result += [
        _save(matrix, "Keep the durations", steps.DURATIONS, "durations"),
        {
            "name": "Keep the report",
            "if": "always()",
            "uses": _uses(matrix, "upload"),
            "with": {
                "name": f"corstone-{stage}-attempt-${{{{ github.run_attempt }}}}",
                "path": f"{steps.REPORT}\n{steps.SITE}\n" if history else f"{steps.REPORT}\n",
            },
        },
    ]
    job: dict[str, Any] = {
        "name": "merge",
        "needs": needs,
        # A skipped FVP job and a dead shard both leave this job to say what is missing.
        "if": "${{ !cancelled() }}",
        "runs-on": "ubuntu-24.04",
        "timeout-minutes": 30,
        "container": {"image": matrix.project.get("merge_image", "python:3.12-bookworm")},
    }
    if "fvp" in needs:
        job["env"] = {"FVP_RAN": f"${{{{ {_HAS_FVP} && 'yes' || '' }}}}"}
    return job | {"steps": result}


def _cache(matrix: Matrix, name: str, path: str, key: str, restore: list[str]) -> dict[str, Any]:
    keys = {"path": path, "key": key, "restore-keys": "".join(f"{k}\n" for k in restore)}
    return {"name": name, "uses": _uses(matrix, "cache"), "with": keys}


def _restore(matrix: Matrix, name: str, path: str, key: str, *, always: bool = False) -> dict[str, Any]:
    keys = {"path": path, "key": f"{key}-${{{{ github.run_id }}}}", "restore-keys": f"{key}-\n"}
    step: dict[str, Any] = {"name": name, "uses": _uses(matrix, "restore"), "with": keys}
    return {"name": name, "if": "always()", **step} if always else step


def _save(matrix: Matrix, name: str, path: str, key: str) -> dict[str, Any]:
    keys = {"path": path, "key": f"{key}-${{{{ github.run_id }}}}-${{{{ github.run_attempt }}}}"}
    return {"name": name, "if": "always()", "uses": _uses(matrix, "save"), "with": keys}
