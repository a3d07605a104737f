"""Budgets as data beside a network: one JSON file, which a command may tighten and only a hand may loosen.

``{"schema": 1, "budgets": {"acos/8/fixed": [row, ...]}}``; a row is a region of the input, ``max_lsb``, its reason, and
what it was derived from (``input_lsb``, ``table_lsb``) or measured as (``measured_lsb``). The narrowest region comes
first, since the first that holds an input counts. Registered networks have one file in their package; a network of
yours has one beside its source (``path.budgets.json``). Leaves out deriving (``derive_budget``) and tightening
(``tighten``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.judge.budget import Budget, Region

SCHEMA = 1
SUFFIX = ".budgets.json"
JUDGED_AS = {"observer": "fixed", "upstream": "fixed"}
"""Policies without budgets of their own: the question is whether they are as good."""


@dataclass(frozen=True)
class Row:
    """A budget and where it comes from, all in output steps; None: not known that way."""

    budget: Budget
    input_lsb: float | None = None
    table_lsb: float | None = None
    measured_lsb: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data; infinite ends are words."""
        region = self.budget.region
        given = {
            "region": region.name,
            "lo": _number(region.lo),
            "hi": _number(region.hi),
            "max_lsb": self.budget.max_lsb,
            "reason": self.budget.reason,
        }
        parts = {"input_lsb": self.input_lsb, "table_lsb": self.table_lsb, "measured_lsb": self.measured_lsb}
        return given | {name: value for name, value in parts.items() if value is not None}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Row:
        """Inverse of ``to_json``."""
        region = Region(float(data["lo"]), float(data["hi"]), str(data["region"]))
        budget = Budget(region, float(data["max_lsb"]), str(data["reason"]))
        return Row(budget, *(_optional(data.get(name)) for name in ("input_lsb", "table_lsb", "measured_lsb")))


Rows = dict[str, tuple[Row, ...]]


def key(network: str, bits: int, policy: str) -> str:
    """How a file names a combination: ``acos/8/fixed``."""
    return f"{network}/{bits}/{policy}"


def load(path: Path) -> Rows:
    """All rows of a file; none when there is no file.

    Raises
    ------
    ConfigError: it cannot be read, or is no such file.
    """
    if not path.is_file():
        return {}
    try:
        data = json.loads(path.read_text())
        if int(data["schema"]) > SCHEMA:
            raise ConfigError(f"{path} has schema {data['schema']}, this version reads up to {SCHEMA}")
        return {name: tuple(Row.from_json(row) for row in rows) for name, rows in data["budgets"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"the budgets in {path} cannot be read: {type(error).__name__}: {error}", cause=Cause.BAD_INPUT
        ) from error


def save(path: Path, rows: Rows) -> None:
    """Write a file, sorted by name, so that a change of one budget is one line.

    Raises
    ------
    ConfigError: it cannot be written.
    """
    lines = []
    for name in sorted(rows):
        listed = ",\n   ".join(json.dumps(row.to_json()) for row in rows[name])
        lines.append(f"  {json.dumps(name)}: [\n   {listed}\n  ]")
    text = f'{{\n "schema": {SCHEMA},\n "budgets": {{\n' + ",\n".join(lines) + "\n }\n}\n"
    try:
        path.write_text(text)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}", cause=Cause.NOT_WRITABLE) from error


def file_of(network: str) -> Path:
    """Where the budgets of a network lie, whether the file is there or not.

    Parameters
    ----------
    network: registered name, ``module:attribute``, ``path.py:attribute`` or ``path.pt2``.

    Raises
    ------
    ConfigError: a module that cannot be found.
    """
    from corstone_models.budgets import FILE
    from corstone_models.networks import NETWORKS

    if network in NETWORKS:
        return FILE
    where, colon, _ = network.rpartition(":")
    if not colon or where.endswith(".py"):
        return Path(where or network).with_suffix(SUFFIX)
    from corstone.accuracy.bundle import module_file

    found = module_file(where)
    if found is None:
        raise ConfigError(f"the module {where} cannot be found", hint="give path.py:attribute")
    return found.with_suffix(SUFFIX)


def name_in_file(network: str) -> str:
    """What the file calls a network: its registered name, its attribute, or the stem of a ``.pt2``."""
    where, colon, attribute = network.rpartition(":")
    return attribute if colon else Path(where or network).stem if network.endswith(".pt2") else network


def budgets_of(network: str, bits: int, policy: str) -> tuple[Budget, ...]:
    """The stored budgets of any network; empty when there are none.

    Raises
    ------
    ConfigError: the file cannot be read.
    """
    rows = load(file_of(network))
    name = name_in_file(network)
    found = rows.get(key(name, bits, policy)) or rows.get(key(name, bits, JUDGED_AS.get(policy, policy)), ())
    return tuple(row.budget for row in found)


def _number(value: float) -> float | str:
    return str(value) if math.isinf(value) else value


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)
