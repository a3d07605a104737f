"""``corstone sweep``: every input code of networks, widths, policies and targets, side by side on one page."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from corstone.commands import options
from corstone.commands.progress import Lines
from corstone.report.folder import make_folder, not_writable

NOTHING_RAN = 5


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "sweep",
        help="every input code of networks and policies, side by side",
        description="Run every input code of each network on the device and write one page (sweep.html), what it "
        "shows at the ends of each domain and over all codes (findings.md), two tables (summary.csv, codes.csv) and "
        "sweep.json into the folder --out. A combination that does not exist is listed "
        "with its reason.",
        epilog="exit status: 0 every case was swept (whatever its accuracy: `corstone check` judges), 1 a device "
        "answered other bits than the references, 2 the caller's error, 3 or 4 the worst of cases that gave no curve, "
        "5 nothing ran",
    )
    parser.add_argument("networks", metavar="NETWORK", type=options.words, help="as in `corstone check`")
    parser.add_argument("--bits", type=options.widths, default=[8, 16], help="8, 16 or 8,16 (default: 8,16)")
    parser.add_argument(
        "--policy",
        type=options.words,
        default=["observer", "fixed", "edge_exact", "segmented"],
        help="quantization policies (default: observer,fixed,edge_exact,segmented)",
    )
    parser.add_argument("--target", type=options.words, default=["ethos-u55-128"], help="NPUs by their Vela names")
    parser.add_argument(
        "-o", "--out", type=options.path, default=Path("corstone-sweep"), metavar="DIR", help="folder of the files"
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="boots at a time (default: 2)")
    parser.add_argument("--no-codes", action="store_true", help="leave out codes.csv, which has a row for every code")
    parser.add_argument("--quiet", "-q", action="store_true", help="only the table and the reasons")
    options.add_device_options(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run the sweep and write its files."""
    from corstone.accuracy.sweep import requests, sweep
    from corstone.accuracy.sweep_page import write_page
    from corstone.accuracy.tabular import summary_rows, write_csv, write_findings, write_json
    from corstone.causes import Cause
    from corstone.report import terminal

    began = time.monotonic()
    cases, refused = requests(
        args.networks,
        args.bits,
        args.policy,
        args.target,
        **options.device_settings(args),
        out=args.out,
    )
    _ = [case.case_id for case in cases]  # an unknown target is found here, before any work
    make_folder(args.out)
    lines = Lines(cases, sys.stderr, quiet=args.quiet)
    with lines:
        swept = sweep(cases, lines.progress, refused, args.jobs)
    drawing = time.monotonic()
    try:
        page = write_page(args.out / "sweep.html", swept, f"Sweep of {', '.join(args.networks)}")
        swept.seconds["page"] = time.monotonic() - drawing
        write_findings(args.out / "findings.md", swept, f"Findings of {', '.join(args.networks)}")
        write_csv(args.out, swept, codes=not args.no_codes)
        swept.seconds["total"] = time.monotonic() - began
        write_json(args.out / "sweep.json", swept)
    except OSError as error:
        raise not_writable(args.out, error) from error
    head = ["network", "bits", "policy", "target", "codes", "within_0.5_lsb", "within_1_lsb", "within_2_lsb"]
    head += ["within_8_lsb", "max_lsb"]
    rows = [head] + [[_cell(row[name]) for name in head] for row in summary_rows(swept) if "refused" not in row]
    print("\n".join(terminal.columns(rows)))
    for item in swept.refused:
        print(f"refused: {item.title}: {item.reason}")
    seconds = ", ".join(f"{name} {value:.1f} s" for name, value in swept.seconds.items())
    print(f"\n{terminal.ran_on_device(swept.records, len(cases))}; {seconds}\npage: {page.resolve()}")
    if not swept.curves:
        return max((r.verdict.exit_code for r in swept.records), default=NOTHING_RAN) or NOTHING_RAN
    drawn = {curve.record.case_id for curve in swept.curves}
    lost = [r.verdict.exit_code for r in swept.records if r.case_id not in drawn]
    bits = any(r.verdict.cause is Cause.BITS for r in swept.records)
    return max([*lost, int(bits)])


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
