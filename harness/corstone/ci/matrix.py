"""``ci/matrix.toml``: what is run, on which versions, at which stage. Everything generated comes from here.

A ``[[cell]]`` says boards, targets, bits, policies, a provider, stages and, where it differs from ``[defaults]``,
versions, system, shards and minutes. A list of versions (``versions.vela = ["5.0.0", "5.1.0"]``) makes one cell for
each, named after what differs, since each needs an environment of its own; boards, targets, bits and policies are
tests within one cell. Versions of Python and QEMU choose the image, that of the FVP the machine (``runs_on`` may hold
``{fvp}``), those of the other tools what pip installs.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corstone.ci import checks
from corstone.errors import ConfigError

SCHEMA = 1
STAGES = ("pull-request", "nightly", "weekly")
PROVIDERS = ("emulator", "fvp")
POLICIES = ("observer", "fixed", "edge_exact", "segmented", "upstream")
TOOLS = ("python", "executorch", "torch", "vela", "tosa", "qemu", "fvp")

# Tools that come from PyPI, with the package that carries them.
PACKAGES = {"executorch": "executorch", "torch": "torch", "vela": "ethos-u-vela", "tosa": "tosa-tools"}

_TOP = {"schema", "project", "defaults", "systems", "cell", "check", "budget", "schedule"}
_CELL = {"name", "boards", "targets", "bits", "policies", "provider", "stages", "versions", "system", "shards"}
_CELL |= {"minutes", "retries", "runs_on"}


@dataclass(frozen=True)
class Cell:
    """One job template: a cell of the matrix, ready to be run in any of its stages."""

    name: str
    boards: tuple[str, ...]
    targets: tuple[str, ...]
    bits: tuple[int, ...]
    policies: tuple[str, ...]
    provider: str
    stages: tuple[str, ...]
    versions: Mapping[str, str]
    system: str
    image: str
    shards: Mapping[str, int]
    minutes: int
    retries: int
    runs_on: tuple[str, ...]
    overrides: Mapping[str, str] = field(default_factory=dict)

    @property
    def needs_fvp(self) -> bool:
        """Whether the cell runs only where a licence is."""
        return self.provider == "fvp"


@dataclass(frozen=True)
class Matrix:
    """The whole file."""

    path: Path
    cells: tuple[Cell, ...]
    project: Mapping[str, Any]
    budget: Mapping[str, Any]
    schedule: Mapping[str, str]
    checks: tuple[checks.Check, ...] = ()

    @staticmethod
    def load(path: Path) -> Matrix:
        """Read and check.

        Raises
        ------
        ConfigError: no TOML, an unknown key or name (with the names there are), or a cell that is named twice.
        """
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot read the matrix {path}: {error}") from error
        if data.get("schema") != SCHEMA:
            raise ConfigError(f"{path}: schema is {data.get('schema')!r}, this corstone reads {SCHEMA}")
        _known(path, "the file", data, _TOP)
        systems = data.get("systems", {})
        cells = [
            cell for table in data.get("cell", []) for cell in _cells(path, table, data.get("defaults", {}), systems)
        ]
        if not cells:
            raise ConfigError(f"{path} has no [[cell]]")
        names = [c.name for c in cells]
        if twice := {n for n in names if names.count(n) > 1}:
            raise ConfigError(f"{path}: cells named twice: {', '.join(sorted(twice))}")
        project = data.get("project", {})
        for needed in ("install", "test"):
            if needed not in project:
                raise ConfigError(f"{path}: [project] has no {needed}")
        beside = checks.load(data.get("check", []), STAGES)
        return Matrix(path, tuple(cells), project, data.get("budget", {}), data.get("schedule", {}), beside)

    @property
    def reference(self) -> str:
        """The file as jobs name it, from the top of the project."""
        return f"{self.path.resolve().parent.name}/{self.path.name}"

    @property
    def quarantine(self) -> str:
        """The quarantine list, which lies beside the matrix, as jobs name it."""
        return f"{self.path.resolve().parent.name}/quarantine.toml"

    def stage(self, stage: str, *, fvp: bool | None = None) -> list[Cell]:
        """Cells of a stage; ``fvp``: only those that need an FVP, or only the others."""
        if stage not in STAGES:
            raise ConfigError(f"no stage {stage!r}", hint=f"one of {', '.join(STAGES)}")
        return [c for c in self.cells if stage in c.stages and (fvp is None or c.needs_fvp is fvp)]

    def expected_shards(self, stage: str, *, fvp: bool) -> list[tuple[str, str]]:
        """(cell, shard) of every job that must leave a ledger."""
        cells = [c for c in self.stage(stage) if fvp or not c.needs_fvp]
        return [(c.name, f"{i}/{c.shards[stage]}") for c in cells for i in range(1, c.shards[stage] + 1)]


def _cells(path: Path, table: dict[str, Any], defaults: dict[str, Any], systems: Mapping[str, Any]) -> list[Cell]:
    name = str(table.get("name", ""))
    where = f"cell {name!r}"
    _known(path, where, table, _CELL)
    _known(path, "[defaults]", defaults, _CELL)
    merged = {**defaults, **table, "versions": {**defaults.get("versions", {}), **table.get("versions", {})}}
    for needed in ("name", "boards", "targets", "bits", "policies", "provider", "stages", "system", "versions"):
        if not merged.get(needed):
            raise ConfigError(f"{path}: {where} has no {needed}")
    _choices(path, where, "stages", merged["stages"], STAGES)
    _choices(path, where, "provider", [merged["provider"]], PROVIDERS)
    _choices(path, where, "policies", merged["policies"], POLICIES)
    _choices(path, where, "bits", merged["bits"], (8, 16))
    _choices(path, where, "versions", list(merged["versions"]), TOOLS)
    _check_targets(path, where, merged)
    axes = {k: _list(v) for k, v in (merged["versions"] | {"system": merged["system"]}).items()}
    several = [k for k, v in axes.items() if len(v) > 1]
    default = {k: _list(v)[0] for k, v in defaults.get("versions", {}).items()}
    result = []
    for values in itertools.product(*axes.values()):
        versions = dict(zip(axes, map(str, values), strict=True))
        system = versions.pop("system")
        _choices(path, where, "system", [system], list(systems))
        suffix = "".join(f"-{k if k != 'system' else ''}{versions.get(k, system)}" for k in several)
        versions["qemu"] = str(systems[system]["qemu"])
        overrides = {k: v for k, v in versions.items() if k in PACKAGES and v != default.get(k)}
        result.append(
            Cell(
                name=name + suffix.replace("--", "-"),
                boards=tuple(merged["boards"]),
                targets=tuple(merged["targets"]),
                bits=tuple(merged["bits"]),
                policies=tuple(merged["policies"]),
                provider=merged["provider"],
                stages=tuple(merged["stages"]),
                versions=versions,
                system=system,
                image=str(systems[system]["image"]).format(python=versions.get("python", "3.11")),
                shards=_shards(path, where, merged.get("shards", 1), merged["stages"]),
                minutes=int(merged.get("minutes", 60)),
                retries=int(merged.get("retries", 0)),
                runs_on=tuple(str(x).format(**versions) for x in _list(merged.get("runs_on", "ubuntu-24.04"))),
                overrides=overrides,
            )
        )
    return result


def _shards(path: Path, where: str, value: Any, stages: Sequence[str]) -> dict[str, int]:
    table = value if isinstance(value, dict) else dict.fromkeys(stages, value)
    result = {stage: int(table.get(stage, 1)) for stage in stages}
    if any(n < 1 for n in result.values()):
        raise ConfigError(f"{path}: {where}: shards must be 1 or more, not {value}")
    return result


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [value]


def _known(path: Path, where: str, table: Mapping[str, Any], names: set[str]) -> None:
    if unknown := sorted(set(table) - names):
        raise ConfigError(f"{path}: {where}: unknown {', '.join(unknown)}", hint=f"known: {', '.join(sorted(names))}")


def _choices(path: Path, where: str, name: str, values: Sequence[Any], allowed: Sequence[Any]) -> None:
    for value in values:
        if value not in allowed:
            listed = ", ".join(map(str, allowed))
            raise ConfigError(f"{path}: {where}: {name} has {value!r}", hint=f"allowed: {listed}")


def _check_targets(path: Path, where: str, merged: Mapping[str, Any]) -> None:
    from corstone.boards.registry import board, board_for_target

    try:
        boards = [board(name) for name in merged["boards"]]
        for name in merged["targets"]:
            if not any(name in b.targets for b in boards):
                board_for_target(name, boards[0].name)
    except ConfigError as error:
        raise ConfigError(f"{path}: {where}: {error.message}", cause=error.cause, hint=error.hint) from error
