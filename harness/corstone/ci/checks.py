"""Jobs beside the cells: they boot nothing and leave no ledger, but a stage is red where one fails.

A ``[[check]]`` of the matrix says ``name``, ``stages``, ``run`` and, where it needs them, ``image``,
``system_packages``, ``install``, ``minutes`` and ``artifacts``: files and folders that are kept whatever happened, and
whose absence is an error, so that a check that skipped everything is not taken for one that passed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from corstone.errors import ConfigError

_KEYS = {"name", "stages", "image", "system_packages", "install", "run", "artifacts", "minutes"}
_RESERVED = {"plan", "test", "fvp", "merge"}


@dataclass(frozen=True)
class Check:
    """One such job."""

    name: str
    stages: tuple[str, ...]
    image: str
    system_packages: tuple[str, ...]
    install: tuple[str, ...]
    run: tuple[str, ...]
    artifacts: tuple[str, ...]
    minutes: int


def load(tables: list[Mapping[str, Any]], stages: tuple[str, ...]) -> tuple[Check, ...]:
    """The checks of a matrix file.

    Raises
    ------
    ConfigError: an unknown key or stage, something missing, a name that is taken.
    """
    checks: list[Check] = []
    for table in tables:
        name = str(table.get("name", ""))
        if unknown := sorted(set(table) - _KEYS):
            raise ConfigError(
                f"check {name!r}: unknown {', '.join(unknown)}", hint=f"known: {', '.join(sorted(_KEYS))}"
            )
        for needed in ("name", "stages", "run"):
            if not table.get(needed):
                raise ConfigError(f"check {name!r} has no {needed}")
        if wrong := [s for s in table["stages"] if s not in stages]:
            raise ConfigError(f"check {name!r}: no stage {wrong[0]!r}", hint=f"one of {', '.join(stages)}")
        if name in _RESERVED | {c.name for c in checks}:
            raise ConfigError(f"check {name!r}: there is a job of that name already")
        checks.append(
            Check(
                name=name,
                stages=tuple(table["stages"]),
                image=str(table.get("image", "python:3.12-bookworm")),
                system_packages=_lines(table.get("system_packages", [])),
                install=_lines(table.get("install", [])),
                run=_lines(table["run"]),
                artifacts=_lines(table.get("artifacts", [])),
                minutes=int(table.get("minutes", 30)),
            )
        )
    return tuple(checks)


def _lines(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value))
