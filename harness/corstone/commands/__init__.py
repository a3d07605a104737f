"""The subcommands of ``corstone``: one module each, imported only when it is asked for.

A module has ``add_parser(subparsers)``, which makes its parser and returns it, and ``run(args) -> int``, which returns
the exit status. A row here makes it known; a row whose module is not there is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Command:
    """A row: the name on the command line, the module in this package, and one line of help."""

    name: str
    module: str
    help: str


TABLE = (
    Command("check", "check", "networks, from PyTorch to a verdict: quantize, lower, boot, judge"),
    Command("run", "run", "boot a .pte on raw inputs and keep what came out"),
    Command("judge", "judge", "judge a stored capture again, without a board"),
    Command("report", "report", "make HTML, JUnit, Markdown or JSON of stored cases; merge ledgers"),
    Command("doctor", "doctor", "what is installed, what is missing, what to do"),
    Command("setup", "setup", "fetch what pip cannot: runner images and tools"),
    Command("preflight", "preflight", "would this .pte run on that board? Checks before the boot"),
    Command("explain", "explain", "what is inside a .pte: delegates, memory, NPU commands"),
    Command("trace", "trace", "each NPU command of a run, with the feature maps it wrote"),
    Command("sweep", "sweep", "every input code of networks and policies, side by side"),
    Command("guard", "guard", "find codes and table nodes outside an operator's domain"),
    Command("budget", "budget", "measure and tighten the budgets of a network"),
    Command("bundle", "bundle", "one zip with which somebody else can replay a case"),
    Command("compare", "compare", "the same network on two versions, targets or providers"),
    Command("cache", "cache", "list, prune and verify cached programs"),
    Command("dashboard", "dashboard", "a static site of many nights, or a look at a run in progress"),
    Command("ci", "ci", "generate workflows from the matrix; budget of time and cost"),
    Command("emulator-shims", "emulator_shims", "put the emulator under the names of Arm's FVPs"),
)


def available() -> tuple[Command, ...]:
    """Rows whose module is there; a look at the file names, nothing is imported."""
    folder = Path(__file__).parent
    return tuple(row for row in TABLE if (folder / f"{row.module}.py").exists() or (folder / row.module).is_dir())
