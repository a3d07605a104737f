"""``corstone bundle``: one zip with which somebody else can replay a case, and replaying one."""

from __future__ import annotations

import argparse
from pathlib import Path

from corstone.commands import options
from corstone.errors import ConfigError

SAME, OTHER = 0, 1


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "bundle",
        help="one zip with which somebody else can replay a case",
        description="Write one zip of a capture: module, inputs, scales, TOSA, .pte, NPU commands, outputs, versions, "
        "and a README with the one command that replays it. Paths, user and host names are taken out.",
        epilog="exit status of --replay: 0 the same verdict and bytes, 1 something else came",
    )
    parser.add_argument("capture", metavar="CAPTURE", type=options.path, help="folder with capture.json")
    parser.add_argument("-o", "--out", type=options.path, metavar="FILE.zip", help="default: CASE.zip here")
    parser.add_argument("--replay", action="store_true", help="CAPTURE is a bundle, or its folder: boot it again")
    parser.add_argument(
        "--provider", choices=("auto", "fvp", "emulator"), default="auto", help="what plays the board in --replay"
    )
    parser.add_argument("--fvp-dir", type=options.path, metavar="DIR", help="where Arm's FVPs are installed")
    parser.add_argument("--board", help="board by name, in --replay")
    parser.add_argument("--runner", help="runner image by name, in --replay")
    parser.add_argument("--keep", type=options.path, metavar="DIR", help="keep the capture of --replay")
    return parser


def run(args: argparse.Namespace) -> int:
    """Write, or replay."""
    return _replay(args) if args.replay else _make(args)


def _make(args: argparse.Namespace) -> int:
    from corstone.accuracy.bundle import make_bundle

    if not args.capture.is_dir():
        raise ConfigError(f"there is no folder {args.capture}", hint="give a folder with capture.json")
    into = args.out or Path(f"{args.capture.resolve().name}.zip")
    bundle = make_bundle(args.capture, into)
    print(f"{bundle.path}: {len(bundle.files)} files, {into.stat().st_size:,} bytes")
    print(f"  verdict: {bundle.verdict.outcome} ({bundle.verdict.cause}): {bundle.verdict.reason}")
    print(f"  replay:  corstone bundle --replay {into.name}")
    for leak in bundle.leaks:
        print(f"  still personal, in a binary file that was not changed: {leak}")
    return SAME


def _replay(args: argparse.Namespace) -> int:
    from corstone.accuracy.replay import replay

    result = replay(
        args.capture, args.keep, provider=args.provider, fvp_dir=args.fvp_dir, board=args.board, runner=args.runner
    )
    print(f"{result.case}: bundle says {result.said}; now {result.now}, by {result.executor}")
    print(f"  {result.verdict.reason}")
    for number in result.outputs:
        print(f"  output {number} has other bytes than the bundle's")
    print("the same verdict, and every output byte is the same" if result.same else "NOT the same")
    return SAME if result.same else OTHER
