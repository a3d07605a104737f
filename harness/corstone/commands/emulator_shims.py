"""``corstone emulator-shims``: put the emulator under the names of Arm's FVPs.

What to export goes to standard output in the shell's own words, so that ``eval "$(corstone emulator-shims DIR)"`` sets
it; everything else goes to standard error.
"""

from __future__ import annotations

import argparse
import shlex
import sys

from corstone.boards.shims.install import install
from corstone.commands import options


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "emulator-shims",
        help="put the emulator under the names of Arm's FVPs",
        description="Write into DIR: bin/ with the emulator under the names of Arm's FVPs for Corstone-300 and "
        "Corstone-320, and arm_test/ with our runner where ExecuTorch's tests look for theirs. Scripts that call an "
        "FVP then run on the emulator. The shims say that they are none, and never satisfy --require-fvp.",
        epilog='eval "$(corstone emulator-shims DIR)" sets what it prints.',
    )
    parser.add_argument("folder", type=options.path, metavar="DIR", help="the folder; made when it is not there")
    parser.add_argument("--no-runners", action="store_true", help="only the shims; needs no compiler")
    return parser


def run(args: argparse.Namespace) -> int:
    """Install and print what to export."""
    installed = install(args.folder, runners=not args.no_runners)
    for path in installed.shims:
        print(f"shim    {path}", file=sys.stderr)
    for path in installed.runners:
        print(f"runner  {path}", file=sys.stderr)
    sys.stderr.flush()
    for name, value in installed.exports().items():
        print(f"export {name}={shlex.quote(value)}" + (':"$PATH"' if name == "PATH" else ""))
    return 0
