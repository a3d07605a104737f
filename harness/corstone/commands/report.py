"""``corstone report``: merge ledgers into reports, and watch a run from its ledgers."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from corstone.commands import report_build


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The subcommand and its actions."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "report", help="make HTML, JUnit, Markdown or JSON of stored cases; merge ledgers"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    merge = actions.add_parser(
        "merge",
        help="one report from the ledgers of all shards, workers and retries",
        description="Exit status 0: green. 1: something is red, or the counts do not agree. 2: no such ledger.",
    )
    merge.add_argument(
        "ledgers", type=Path, nargs="+", metavar="LEDGER", help="ledger files, or folders that hold some"
    )
    merge.add_argument("--junit", type=Path, metavar="FILE")
    merge.add_argument("--junit-flavour", choices=("properties", "strict"), default="properties")
    merge.add_argument("--html", type=Path, metavar="FILE", help="one self-contained page")
    merge.add_argument("--markdown", type=Path, metavar="FILE", help="summary for a job page; appended if it exists")
    merge.add_argument("--json", type=Path, metavar="FILE")
    merge.add_argument("--quarantine", type=Path, metavar="FILE", help="list of quarantined tests")
    merge.add_argument("--expect", type=Path, metavar="MATRIX", help="ci/matrix.toml: every shard in it must be there")
    merge.add_argument("--stage", help="with --expect: pull-request, nightly or weekly")
    merge.add_argument("--fvp", action="store_true", help="with --expect: cells that need an FVP ran as well")
    merge.add_argument("--alone", action="store_true", help="one shard by itself: do not miss the others")
    merge.add_argument("--durations", type=Path, metavar="FILE", help="seconds by test, for pytest-split's next run")
    merge.add_argument("--title", default="Corstone")

    report_build.add_action(actions)

    watch = actions.add_parser("watch", help="progress of a run, read from its ledgers")
    watch.add_argument("ledgers", type=Path, metavar="LEDGER_DIR")
    watch.add_argument("--every", type=float, default=2.0, metavar="SECONDS")
    watch.add_argument("--once", action="store_true", help="print one line and end")
    return parser


def run(args: argparse.Namespace) -> int:
    """Do one action."""
    if args.action == "build":
        return report_build.run(args)
    return _merge(args) if args.action == "merge" else _watch(args)


def _merge(args: argparse.Namespace) -> int:
    from corstone.ledger.merge import merge
    from corstone.ledger.quarantine import Quarantine

    expected = []
    if args.expect:
        from corstone.ci.matrix import Matrix

        matrix = Matrix.load(args.expect)
        expected = matrix.expected_shards(args.stage or "nightly", fvp=args.fvp)
    listed = Quarantine.load(args.quarantine) if args.quarantine else None
    merged = merge(args.ledgers, quarantine=listed, expected=expected, alone=args.alone)
    for path in (args.junit, args.html, args.markdown, args.json, args.durations):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
    if args.junit:
        from corstone.report.merged_junit import write_junit

        write_junit(merged, args.junit, flavour=args.junit_flavour)
    if args.html:
        from corstone.report.merged_html import write_html

        write_html(merged, args.html, title=args.title)
    if args.markdown:
        from corstone.report.merged_markdown import markdown

        with args.markdown.open("a", encoding="utf-8") as stream:
            stream.write(markdown(merged, title=args.title))
    if args.json:
        from corstone.report.merged_json import write_json

        write_json(merged, args.json)
    if args.durations:
        from corstone.ci.durations import write_durations

        write_durations(merged, args.durations)
    for note in merged.notes:
        print(f"note: {note}")
    for case in [c for c in merged.cases if c.red][:50]:
        print(_printable(f"{case.state.value}: {case.cell + ' ' if case.cell else ''}{case.test_id}: {case.reason}"))
    for problem in merged.problems:
        print(f"problem: {_printable(problem)}", file=sys.stderr)
    print(merged.final_line)
    return 1 if merged.red else 0


def _printable(text: str) -> str:
    from corstone.dashboard.text import visible

    return visible(text).replace("\n", " ")


def _watch(args: argparse.Namespace) -> int:
    from corstone.dashboard.live import LiveRun
    from corstone.ledger.progress import duration, short

    live, terminal, last = LiveRun(args.ledgers), sys.stdout.isatty(), ""
    while True:
        state = live.state()
        if state.get("empty"):
            line = f"no run in {args.ledgers} yet"
        else:
            words = ", ".join(f"{n} {w}" for w, n in sorted(state["words"].items(), key=lambda x: -x[1]))
            parts = [f"{state['done']}/{state['total']}", words]
            if state["left_s"] is not None:
                parts.append(f"about {duration(state['left_s'])} left")
            if state["running"]:
                parts.append("on the boards: " + ", ".join(short(c["id"]) for c in state["running"][:6]))
            line = " | ".join(parts).replace("\n", " ")
        if terminal:
            print(f"\r\x1b[K{line}", end="", flush=True)
        elif line != last:
            print(line, flush=True)
        last = line
        if args.once or (not state.get("empty") and not state["busy"]):
            if terminal:
                print()
            return 0
        time.sleep(args.every)
