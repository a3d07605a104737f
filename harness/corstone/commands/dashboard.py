"""``corstone dashboard``: ingest ledgers into a history, build the site, follow a run, export."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """The subcommand and its four actions."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "dashboard", help="a static site of many nights, or a look at a run in progress"
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    ingest = actions.add_parser(
        "ingest", help="copy ledgers of a run into a history; giving them twice changes nothing"
    )
    ingest.add_argument("history", type=Path, metavar="HISTORY_DIR")
    ingest.add_argument(
        "ledgers", type=Path, nargs="+", metavar="LEDGER", help="ledger files, or folders that hold some"
    )

    build = actions.add_parser("build", help="make the static site of a history")
    build.add_argument("history", type=Path, metavar="HISTORY_DIR")
    build.add_argument("-o", "--output", type=Path, required=True, metavar="SITE")
    build.add_argument("--quarantine", type=Path, metavar="FILE", help="list of quarantined tests")
    build.add_argument("--nights", type=int, default=0, metavar="N", help="show the newest N nights only")

    serve = actions.add_parser("serve", help="follow a run in progress in the browser")
    serve.add_argument("ledgers", type=Path, metavar="LEDGER_DIR")
    serve.add_argument("--site", type=Path, help="a built site to serve beside it")
    serve.add_argument("--host", default="127.0.0.1")
    serve.add_argument("--port", type=int, default=8765)

    export = actions.add_parser("export", help="OpenMetrics, CSV or JUnit for another dashboard")
    export.add_argument("history", type=Path, metavar="HISTORY_DIR")
    export.add_argument("--openmetrics", type=Path, metavar="FILE")
    export.add_argument("--csv", type=Path, metavar="FILE")
    export.add_argument("--junit", type=Path, metavar="FOLDER", help="a folder a run, with a JUnit file in it")
    return parser


def run(args: argparse.Namespace) -> int:
    """Do one action. ``build`` returns 0 also for a red night: the merge is the judge, the site shows."""
    return {"ingest": _ingest, "build": _build, "serve": _serve, "export": _export}[args.action](args)


def _ingest(args: argparse.Namespace) -> int:
    from corstone.dashboard.history import open_history, sync, take_in

    new = take_in(args.history, args.ledgers)
    with open_history(args.history) as connection:
        merged = sync(args.history, connection)
    print(f"{new} ledgers new in {args.history}, {merged} runs merged")
    return 0


def _build(args: argparse.Namespace) -> int:
    from corstone.dashboard.build import build

    built = build(args.history, args.output, quarantine=args.quarantine, limit=args.nights)
    print(f"{built.site / 'index.html'}: {built.nights} nights, {built.cases} cases, {built.pages} pages")
    return 0


def _serve(args: argparse.Namespace) -> int:
    from corstone.dashboard.serve import LiveServer

    with LiveServer(args.ledgers, args.site, args.host, args.port) as server:
        print(f"{server.address} follows {args.ledgers}; Ctrl-C ends it", flush=True)
        server.wait()
    return 0


def _export(args: argparse.Namespace) -> int:
    from corstone.dashboard import export
    from corstone.dashboard.history import open_history, sync
    from corstone.errors import ConfigError

    if not (args.openmetrics or args.csv or args.junit):
        raise ConfigError("nothing to export", hint="name at least one of --openmetrics, --csv and --junit")
    with open_history(args.history) as connection:
        sync(args.history, connection)
        if args.openmetrics:
            with args.openmetrics.open("w", encoding="utf-8") as stream:
                stream.writelines(export.openmetrics(connection))
            print(args.openmetrics)
        if args.csv:
            print(f"{args.csv}: {export.write_csv(connection, args.csv)} rows")
    if args.junit:
        from corstone.dashboard.junit_folders import write_junit_folders

        print(f"{args.junit}: {write_junit_folders(args.history, args.junit)} files")
    return 0
