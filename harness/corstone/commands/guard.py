"""``corstone guard``: find codes and table nodes outside an operator's domain, before anything runs."""

from __future__ import annotations

import argparse
import itertools
import json

from corstone.accuracy.finding import GuardReport, Severity
from corstone.commands import options
from corstone.errors import ConfigError

CLEAN, FOUND = 0, 1


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "guard",
        help="find codes and table nodes outside an operator's domain",
        description="Look at every TABLE of a lowered network: codes and nodes outside the operator's domain, NaN and "
        "infinity, constant, truncated and degenerate tables, wrong ends, and what interpolation and clipping cost.",
        epilog="exit status: 0 no errors, 1 inputs inside a domain get wrong answers (with --strict: any finding but "
        "notes), 2 the caller's error, 3 the network cannot be lowered",
    )
    parser.add_argument(
        "sources",
        metavar="MODULE",
        type=options.words,
        help="a registered network, module:attribute, path.py:attribute, path.pt2, the folder of a program or capture, "
        "or a path.tosa; several with commas",
    )
    parser.add_argument("--bits", type=options.widths, default=[8], help="8, 16 or 8,16 (default: 8)")
    parser.add_argument(
        "--policy", type=options.words, default=["fixed"], help="quantization policies (default: fixed)"
    )
    parser.add_argument("--target", default="ethos-u55-128", help="NPU by its Vela name (default: ethos-u55-128)")
    parser.add_argument(
        "--shape", type=options.shape, action="append", default=[], metavar="N,N", help="shape of an input; once each"
    )
    parser.add_argument("--json", type=options.path, metavar="FILE", help="write the findings as JSON")
    parser.add_argument("--strict", action="store_true", help="warnings are red, too")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the findings of every combination; 1 when there are errors."""
    from corstone.accuracy.look import guard_source

    reports = []
    for source, bits, policy in itertools.product(args.sources, args.bits, args.policy):
        stored = source.endswith(".tosa") or options.path(source).is_dir()
        report = (
            guard_source(options.path(source))
            if stored
            else guard_source(source, target=args.target, bits=bits, policy=policy, shapes=tuple(args.shape))
        )
        title = report.program if stored else f"{report.program}, int{bits}, {policy}, {args.target}"
        _print(title, report)
        reports.append(report)
        if stored and len(args.sources) == 1:
            break
    if args.json:
        try:
            args.json.write_text(json.dumps([r.to_json() for r in reports], indent=1) + "\n")
        except OSError as error:
            raise ConfigError(f"cannot write {args.json}: {error.strerror}") from error
    red = {Severity.ERROR, Severity.WARNING} if args.strict else {Severity.ERROR}
    return FOUND if any(f.severity in red for r in reports for f in r.findings) else CLEAN


def _print(title: str, report: GuardReport) -> None:
    counts = ", ".join(
        f"{n} {severity}{'s' if n != 1 else ''}"
        for severity in Severity
        if (n := sum(f.severity is severity for f in report.findings))
    )
    print(f"{title}: {len(report.tables)} tables, {counts or 'no findings'}")
    for finding in report.findings:
        print(f"  {str(finding).replace(chr(10), chr(10) + '  ')}")
    for note in report.notes:
        print(f"  ({note})")
    print()
