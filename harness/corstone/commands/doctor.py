"""``corstone doctor``: what is installed, what is missing, what to do."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from corstone.commands import options
from corstone.doctor import as_json, as_text, examine, healthy, imports


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "doctor",
        help="what is installed, what is missing, what to do",
        description="Look at versions, tools, runner images and simulators. Status 3 when something needed is missing.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--imports", action="store_true", help="also import the compiler stack, in child processes")
    parser.add_argument("--fvp-dir", type=options.path, metavar="DIR", help="where Arm's FVPs are installed")
    parser.add_argument(
        "--fvp-report",
        type=options.path,
        metavar="FILE",
        help="try an installed FVP on what no public log shows, and write a report to send us (minutes)",
    )
    parser.add_argument("--target", default="ethos-u55-128", help="whose FVP the report is about")
    return parser


def run(args: argparse.Namespace) -> int:
    """Look and print."""
    if args.fvp_report is not None:
        return _report(args.target, args.fvp_dir, args.fvp_report)
    rows = examine(args.fvp_dir) + (imports() if args.imports else [])
    print(json.dumps(as_json(rows), indent=1) if args.json else as_text(rows))
    return 0 if healthy(rows) else 3


def _report(target: str, fvp_dir: Path | None, file: Path) -> int:
    from corstone.boards.fvp_report import fvp_report
    from corstone.boards.providers import find_simulator
    from corstone.boards.registry import board_for_target
    from corstone.runners import default_runner
    from corstone.setup import image_path
    from corstone.targets import target as target_named

    board = board_for_target(target)
    simulator = find_simulator(board, target_named(target).product, "fvp", fvp_dir)
    print(f"trying {simulator.name} {simulator.version}; this takes a few minutes", file=sys.stderr)
    fvp_report(simulator, image_path(default_runner(board.name, target, "fvp")), file)
    print(f"wrote {file}")
    return 0
