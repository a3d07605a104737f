"""``corstone judge``: judge stored captures again, without a board."""

from __future__ import annotations

import argparse
from pathlib import Path

from corstone.commands import options
from corstone.commands.check import status_of
from corstone.pipeline import judge_capture
from corstone.report import terminal
from corstone.report.json_file import summary, write_json


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "judge",
        help="judge a stored capture again, without a board",
        description="Judge captures by the references and budgets stored beside them.",
    )
    parser.add_argument("captures", metavar="CAPTURE", nargs="+", type=options.path, help="folder with capture.json")
    parser.add_argument("--json", metavar="FILE", type=options.path, help="write the verdicts as JSON")
    parser.add_argument("--save", action="store_true", help="replace the record in the folder")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print each verdict in full; return the worst status."""
    records = [judge_capture(folder) for folder in args.captures]
    status = status_of(records).status
    for folder, record in zip(args.captures, records, strict=True):
        console = folder / "console.log"
        print(terminal.page(record, console.read_bytes() if console.exists() else b""))
        if args.save:
            record.save(folder / "record.json")
    if args.json:
        write_json(Path(args.json), summary(records, status))
    return status
