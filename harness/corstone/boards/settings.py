"""Turns a board's parameter rows into ``-C name=value`` arguments for one version of one simulator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from corstone.boards.board import Board, Parameter
from corstone.errors import ConfigError

# Roles set in every boot: text on the standard output, stop on EOT, no windows, no telnet servers, no ports.
ALWAYS = (
    "uart-out",
    "uart-unbuffered",
    "uart-eot",
    "terminal-0",
    "terminal-1",
    "terminal-2",
    "terminal-5",
    "display-off",
    "macs",
)
SEMIHOSTING = ("semihosting", "semihosting-stack", "semihosting-heap", "semihosting-cwd", "semihosting-line")


def version_key(text: str) -> tuple[int, ...]:
    """The numbers of a version: ``11.27.42`` and ``11.27_42`` alike."""
    return tuple(int(part) for part in re.findall(r"\d+", text))


def applies(parameter: Parameter, version: str) -> bool:
    """Whether that version of the simulator knows the parameter; an unknown version knows the newest rows."""
    key = version_key(version)
    if not key:
        return not parameter.until
    since, until = version_key(parameter.since), version_key(parameter.until)
    if since and key[: len(since)] < since:
        return False
    return not (until and key[: len(until)] > until)


def settings(board: Board, version: str, roles: Iterable[str], facts: Mapping[str, object]) -> tuple[str, ...]:
    """``-C`` arguments for the roles, in the order of the board's table.

    Raises
    ------
    ConfigError: a role that no row of this version serves.
    """
    wanted = list(roles)
    rows = [p for p in board.parameters if p.role in wanted and applies(p, version)]
    missing = set(wanted) - {p.role for p in rows}
    if missing:
        raise ConfigError(
            f"{board.name}, simulator version {version or 'unknown'}: no parameter for {', '.join(sorted(missing))}",
            hint="add the parameter's name for this version to the board's file",
        )
    arguments: list[str] = []
    for row in rows:
        arguments += ["-C", f"{row.name}={row.value.format_map(dict(facts))}"]
    return tuple(arguments)
