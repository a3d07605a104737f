"""``corstone ci``: generate the workflows of the matrix, check them, run one here, and say what the matrix costs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

_MATRIX = Path("ci/matrix.toml")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The subcommand and its actions."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "ci", help="generate workflows from the matrix; budget of time and cost"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    generate = actions.add_parser("generate", help="write the workflows of an engine")
    generate.add_argument("engine", choices=("github", "gitlab"))
    generate.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is out of date")
    generate.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="top of the project (default: here)"
    )

    run_ = actions.add_parser("run", help="run jobs of a generated GitHub workflow on this machine")
    run_.add_argument("stage", choices=("pull-request", "nightly", "weekly"))
    run_.add_argument("--cell", default="", help="only this cell's jobs, and the merge")
    run_.add_argument("--workspace", type=Path, default=Path("corstone-out/ci"), metavar="DIR")
    run_.add_argument("--skip", action="append", default=[], metavar="STEP", help="leave out a step by its name")
    run_.add_argument("--var", action="append", default=[], metavar="NAME=VALUE", help="a variable of the repository")
    run_.add_argument(
        "--here",
        action="store_true",
        help="jobs use this Python's environment, and install into it; without, each job gets an empty one of its own",
    )
    run_.add_argument(
        "--kill", action="append", default=[], metavar="JOB@SECONDS", help="kill -9 the tests of a job: 'u55 2/2@20'"
    )

    budget = actions.add_parser("budget", help="time and cost by cell, what to cut, how the matrix grows")
    budget.add_argument("--history", type=Path, metavar="HISTORY_DIR", help="take measured times from a history")

    for sub in (generate, budget):
        sub.add_argument("--matrix", type=Path, default=_MATRIX, metavar="FILE")
    return parser


def run(args: argparse.Namespace) -> int:
    """Do one action."""
    return {"generate": _generate, "run": _run, "budget": _budget}[args.action](args)


def _generate(args: argparse.Namespace) -> int:
    from corstone.ci import github, gitlab
    from corstone.ci.matrix import Matrix

    files = {"github": github, "gitlab": gitlab}[args.engine].generate(Matrix.load(args.matrix))
    stale = [p for p, text in files.items() if not (args.output / p).exists() or (args.output / p).read_text() != text]
    if args.check:
        for path in stale:
            print(f"{path} is out of date: corstone ci generate {args.engine}", file=sys.stderr)
        return 1 if stale else 0
    for path in stale:
        (args.output / path).parent.mkdir(parents=True, exist_ok=True)
        (args.output / path).write_text(files[path], encoding="utf-8")
    print(f"{len(files)} files, {len(stale)} written")
    return 0


def _run(args: argparse.Namespace) -> int:
    from corstone.ci.localrun import JobResult, LocalRunner

    variables = dict(v.partition("=")[::2] for v in args.var)
    workflow = Path(f".github/workflows/corstone-{args.stage}.yml")
    runner = LocalRunner(
        workflow,
        Path(),
        args.workspace.resolve(),
        skip=args.skip,
        fresh=not args.here,
        variables=variables,
        kill_after_s={job: _seconds(text) for job, _, text in (k.rpartition("@") for k in args.kill)},
    )
    results: list[JobResult] = []
    for job in runner.data["jobs"]:
        for row in runner.rows(job):
            if args.cell and row and row.get("cell") != args.cell:
                continue
            result = runner.run(job, row)
            if result is None:
                print(f"-- {job}: left out by its condition")
                continue
            results.append(result)
            for step in result.steps:
                word = "skipped" if step.status is None else "ok" if step.status == 0 else f"FAILED ({step.status})"
                print(f"{result.name}: {step.name}: {word}", flush=True)
                if step.status not in (0, None) or job == "merge":
                    print("    " + step.output.rstrip().replace("\n", "\n    "))
    return 1 if any(r.failed for r in results) else 0


def _seconds(text: str) -> float:
    from corstone.errors import ConfigError

    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"--kill: {text!r} is no number of seconds", hint="write JOB@SECONDS") from None


def _budget(args: argparse.Namespace) -> int:
    from corstone.ci.budget import report
    from corstone.ci.matrix import Matrix
    from corstone.ci.measured import measure

    measured = measure(args.history) if args.history else None
    print(report(Matrix.load(args.matrix), measured), end="")
    return 0
