"""``corstone report build``: HTML, JUnit, Markdown or JSON of stored cases; no ledger is needed."""

from __future__ import annotations

import argparse
from typing import Any

from corstone.commands import options
from corstone.commands.check import status_of
from corstone.report import terminal
from corstone.report.folder import load_records, make_folder


def add_action(actions: Any) -> None:
    """Add ``build`` to the actions of ``corstone report``."""
    build = actions.add_parser(
        "build",
        help="reports of stored cases: folders of runs, record.json or report.json files",
        description="Exit status: that of the worst case, as `corstone check` gives it.",
    )
    build.add_argument("places", metavar="FROM", nargs="+", type=options.path)
    for name, what in (("html", "one page"), ("junit", "JUnit XML"), ("markdown", "a summary"), ("json", "all data")):
        build.add_argument(f"--{name}", metavar="FILE", type=options.path, help=f"write {what}")


def run(args: argparse.Namespace) -> int:
    """Write what was asked for, print the table."""
    records = load_records(args.places)
    status = status_of(records).status
    for file in filter(None, (args.html, args.junit, args.markdown, args.json)):
        make_folder(file.parent)
    if args.html:
        from corstone.report.html_report import write_html

        write_html(args.html, records)
    if args.junit:
        from corstone.report.junit import write_junit

        write_junit(args.junit, records)
    if args.markdown:
        from corstone.report.markdown import write_markdown

        write_markdown(args.markdown, records)
    if args.json:
        from corstone.report.json_file import summary, write_json

        write_json(args.json, summary(records, status))
    print("\n".join(terminal.table(records)))
    print(f"{terminal.summary(records)}; {terminal.ran_on_device(records)}")
    return status
