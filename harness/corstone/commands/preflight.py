"""``corstone preflight``: would this program run on that board? Nothing is booted."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from corstone.boards.registry import board_for_target
from corstone.commands import options
from corstone.errors import ConfigError, HarnessError
from corstone.formats.program_file import compiled_for
from corstone.preflight import ERROR, Subject, preflight
from corstone.runners import default_runner, elf_runner
from corstone.runners import runner as runner_named
from corstone.setup import image_path
from corstone.targets import target as target_named


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "preflight",
        help="would this .pte run on that board?",
        description="Check a program against board, NPU and runner without booting. Status 2 when it would not run.",
    )
    parser.add_argument("program", type=options.path, metavar="PROGRAM.pte")
    parser.add_argument("--target", help="NPU by its Vela name (default: the one the program was compiled for)")
    parser.add_argument("--board", help="board by name (default: the one that carries the target)")
    parser.add_argument("--provider", choices=("fvp", "emulator"), default="emulator", help="who would play the board")
    parser.add_argument("--runner", help="runner image by name; by default the board's")
    parser.add_argument("--runner-elf", type=options.path, metavar="ELF", help="a runner image of your own")
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    return parser


def run(args: argparse.Namespace) -> int:
    """Check and print every finding."""
    findings = preflight(_subject(args))
    if args.json:
        print(json.dumps({"schema": 1, "findings": [asdict(finding) for finding in findings]}, indent=1))
    else:
        for finding in findings:
            print(finding)
        if not findings:
            print("nothing found that would keep it from running")
    return 2 if any(finding.severity == ERROR for finding in findings) else 0


def _subject(args: argparse.Namespace) -> Subject:
    try:
        program = args.program.read_bytes()
    except OSError as error:
        raise ConfigError(f"the program cannot be read: {error}", hint="name an existing .pte file") from error
    name = args.target or compiled_for(program, "ethos-u55-128")
    board = board_for_target(name, args.board)
    if args.runner_elf is not None:
        runner = elf_runner(args.runner_elf, board.name, runner_named(args.runner).dialect if args.runner else None)
    else:
        runner = runner_named(args.runner) if args.runner else default_runner(board.name, name, args.provider)
    try:
        image = image_path(runner, fetch=False)
    except HarnessError:
        image = None  # its checks are left out; the others need no image
    deep = args.runner_elf is not None
    return Subject(program, board, target_named(name), runner, args.provider, image, deep)
