"""The ``corstone`` command: picks a subcommand, and turns every end into an exit status.

0 passed; 1 failed numerically; 2 the caller's error; 3 a host tool or compile error; 4 the device crashed, hung or
returned nothing; 5 nothing ran; 130 ctrl-C; 143 terminated. What the subcommands do is in ``corstone.commands``; only
the one asked for is imported, so that ``corstone --help`` costs nothing.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType
from typing import NoReturn

from corstone import __version__
from corstone.commands import Command, available
from corstone.errors import HarnessError

INTERRUPTED = 130
TERMINATED = 143
DEFECT = 3
_EPILOG = """exit status: 0 passed, 1 failed numerically, 2 the caller's error, 3 a host tool or compile error,
4 the device crashed, hung or returned nothing, 5 nothing ran, 130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    rows = {row.name: row for row in available()}
    chosen = next((rows[word] for word in arguments if not word.startswith("-") and word in rows), None)
    try:
        if chosen is None or arguments[0] != chosen.name:
            return _without_command(arguments, rows)
        return _guarded(chosen, arguments)
    except SystemExit as ended:  # argparse ends so; its 2 is our 2
        return ended.code if isinstance(ended.code, int) else 2


def _parser(rows: dict[str, Command]) -> tuple[argparse.ArgumentParser, argparse._SubParsersAction]:  # type: ignore[type-arg]
    parser = argparse.ArgumentParser(
        prog="corstone",
        description="Hardware-in-the-loop tests for Arm Ethos-U: from a PyTorch module to a device verdict.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"corstone {__version__}")
    metavar = next(iter(rows)) if len(rows) == 1 else "COMMAND"
    return parser, parser.add_subparsers(dest="command", metavar=metavar, required=True)


def _without_command(arguments: Sequence[str], rows: dict[str, Command]) -> int:
    """Help, version, or an unknown command: answered from the table alone."""
    parser, subparsers = _parser(rows)
    for row in rows.values():
        subparsers.add_parser(row.name, help=row.help)
    if not arguments:
        parser.print_help(sys.stderr)
        return 2
    parser.parse_args(arguments)
    return 2


def _guarded(row: Command, arguments: Sequence[str]) -> int:
    """Run one subcommand; whatever happens becomes a message and a status, and whatever was started is stopped.

    Boots are context managers in sessions of their own, so a KeyboardInterrupt that unwinds the stack ends them;
    SIGTERM takes the same way, and is told apart only by the status.
    """
    terminated: list[int] = []

    def terminate(number: int, _frame: FrameType | None) -> NoReturn:
        terminated.append(number)
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, terminate)
    try:
        module = importlib.import_module(f"corstone.commands.{row.module}")
        status = _run(module, row, arguments)
        sys.stdout.flush()
        return status
    except HarnessError as error:
        print(f"corstone {row.name}: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        word = "terminated" if terminated else "interrupted"
        print(f"corstone {row.name}: {word}; what was started is stopped", file=sys.stderr)
        return TERMINATED if terminated else INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`corstone ... | head`): nothing to tell anybody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except PermissionError as error:
        print(f"corstone {row.name}: no permission: {error}", file=sys.stderr)
        return 2
    except (SystemExit, GeneratorExit):
        raise
    except BaseException:
        import traceback

        traceback.print_exc()
        print(f"corstone {row.name}: this is a defect of the harness, please report it", file=sys.stderr)
        return DEFECT
    finally:
        signal.signal(signal.SIGTERM, previous)


def _run(module: ModuleType, row: Command, arguments: Sequence[str]) -> int:
    parser, subparsers = _parser({row.name: row})
    module.add_parser(subparsers)
    return int(module.run(parser.parse_args(arguments)))


if __name__ == "__main__":
    sys.exit(main())
