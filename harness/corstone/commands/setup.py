"""``corstone setup``: fetch what pip cannot express, hash checked, into the cache."""

from __future__ import annotations

import argparse
import sys

from corstone.paths import cache_dir
from corstone.setup import setup


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "setup",
        help="fetch runner images and tools",
        description="Fetch runner images out of their wheels and build our own; CORSTONE_CACHE moves the cache.",
    )
    parser.add_argument("--vgf", action="store_true", help="also the tools of the VGF target (45 MB)")
    parser.add_argument("--times", action="store_true", help="also the seconds of each part, in one line")
    parser.add_argument("--quiet", "-q", action="store_true", help="say nothing but what failed (and --times)")
    return parser


def run(args: argparse.Namespace) -> int:
    """Fetch all; the status is 3 when something needed cannot be had."""

    def say(text: str) -> None:
        if not args.quiet:
            print(text)

    say(f"cache: {cache_dir()}")
    done = setup(say=say)
    if args.vgf:
        from corstone.vgf.tools import fetch_tools

        done.attempt("VGF tools", "VGF tools", lambda: fetch_tools(say=say).converter, say)
    if args.quiet:
        for failure in done.failures:
            print(f"corstone setup: {failure}", file=sys.stderr)
    if args.times and done.times():
        print(done.times())
    return done.failures[0].exit_code if done.failures else 0
