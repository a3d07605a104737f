"""``corstone compare``: stored results of two versions, targets or providers; differences listed by code."""

from __future__ import annotations

import argparse

from corstone.commands import options
from corstone.errors import ConfigError
from corstone.report.terminal import safe

SAME, DIFFERENT = 0, 1


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "compare",
        help="the same network on two versions, targets or providers",
        description="Compare what two environments, targets or providers wrote; nothing is run. A and B are --out "
        "folders of `corstone check`, single cases, or report.json files. With A alone: its targets with each other.",
        epilog="exit status: 0 nothing differs, 1 bits, verdicts or cases differ, or an expected failure passes now, "
        "2 the caller's error",
    )
    parser.add_argument("a", metavar="A", type=options.path)
    parser.add_argument("b", metavar="B", type=options.path, nargs="?")
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="differing codes shown of each output")
    parser.add_argument("--accept-news", action="store_true", help="failures that pass now are not red")
    parser.add_argument("--json", type=options.path, metavar="FILE", help="write everything as JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print what differs; 1 when anything does."""
    from corstone.accuracy.compare import Kind, compare
    from corstone.report.json_file import write_json

    report = compare(args.a, args.b)
    for tool, (mine, theirs) in report.versions.items():
        print(f"version of {tool}: {safe(mine)} in A, {safe(theirs)} in B")
    for pair in report.pairs:
        word = "NEWS" if pair.kind is Kind.NEWS else str(pair.kind)
        print(f"{word}: {safe(pair.name)}: {safe(pair.message)}")
        for note in pair.notes:
            print(f"  note: {safe(note)}")
        for output in pair.outputs:
            _print(output, args.limit)
    counts = ", ".join(f"{n} {kind}" for kind in Kind if (n := sum(p.kind is kind for p in report.pairs)))
    print(f"{len(report.pairs)} pairs: {counts}")
    if args.json:
        try:
            write_json(args.json, report.to_json())
        except OSError as error:
            raise ConfigError(f"cannot write {args.json}: {error.strerror}") from error
    accepted = report.same or (args.accept_news and report.only_news)
    return SAME if accepted else DIFFERENT


def _print(output: object, limit: int) -> None:
    from corstone.accuracy.compare import OutputDifference

    assert isinstance(output, OutputDifference)
    if output.elements[:limit]:
        print(f"  output {output.output}:  input code  input value    A code    B code       A value       B value")
    for e in output.elements[:limit]:
        given = f"{_number(e.input_code):>11}  {_value(e.input_value):>11}"
        codes = f"{_number(e.a_code):>8}  {_number(e.b_code):>8}"
        print(f"  {e.index:>9}  {given}  {codes}  {e.a_value:>12.6g}  {e.b_value:>12.6g}")
    if output.differing > limit:
        print(f"  ... {output.differing - limit} more")


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
