"""Options that several subcommands share, and how their words become values."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from corstone.paths import user_path
from corstone.targets import expand


def words(text: str) -> list[str]:
    """``a,b`` as a list without repetitions; empty items are refused."""
    return list(dict.fromkeys(_items(text)))


def _items(text: str) -> list[str]:
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise argparse.ArgumentTypeError(f"expected a list like a,b, got {text!r}")
    return items


def targets(text: str) -> list[str]:
    """``a,b`` as targets, with groups (``all``, ``host``, ``vgf``) replaced by what they stand for."""
    return expand(words(text))


def widths(text: str) -> list[int]:
    """``8,16`` as integers."""
    try:
        return [int(item) for item in words(text)]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected bit widths like 8,16, got {text!r}") from None


def shape(text: str) -> tuple[int, ...]:
    """``2,3,4`` as a shape; ``()`` is rank 0."""
    if text.strip() == "()":
        return ()
    try:
        sizes = tuple(int(item) for item in _items(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a shape like 2,3,4, got {text!r}") from None
    if min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"expected sizes of at least 1, got {text!r}")
    return sizes


def seconds(text: str) -> float:
    """A positive number of seconds."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got {text!r}")
    return value


def path(text: str) -> Path:
    """A path with ``~`` expanded."""
    return user_path(text)


def add_device_options(parser: argparse.ArgumentParser) -> None:
    """Which board, who plays it, which runner, how long."""
    group = parser.add_argument_group("device")
    group.add_argument("--board", help="board by name; by default the one that has the target's NPU")
    group.add_argument(
        "--provider", choices=("auto", "fvp", "emulator"), default="auto", help="what plays the board (default: auto)"
    )
    group.add_argument("--fvp-dir", type=path, metavar="DIR", help="where Arm's FVPs are installed")
    group.add_argument("--require-fvp", action="store_true", help="red unless an FVP executed it")
    group.add_argument("--runner", help="runner image by name; by default the board's")
    group.add_argument("--runner-elf", type=path, metavar="ELF", help="a runner image of your own")
    group.add_argument("--timeout", type=seconds, metavar="SECONDS", help="limit of one whole boot")
    group.add_argument("--trace", action="store_true", help="keep the decoded NPU command stream (emulator)")


def device_settings(args: argparse.Namespace) -> dict[str, Any]:
    """What ``add_device_options`` asked, under the names that ``CheckRequest`` and ``run_program`` have for it."""
    names = ("board", "provider", "fvp_dir", "require_fvp", "runner", "runner_elf", "trace")
    return {name: getattr(args, name) for name in names} | {"timeout_s": args.timeout}


def add_inputs(parser: argparse.ArgumentParser, what: str) -> None:
    """``-i FILE...``: ``what`` says whose inputs these are."""
    parser.add_argument(
        "-i",
        "--input",
        metavar="FILE",
        type=path,
        nargs="+",
        action="extend",
        default=[],
        help=f"{what}: row-major, little endian, no header",
    )
