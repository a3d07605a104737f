"""The guard from a name: lower a network, or open what was lowered, and look at its tables.

Whatever a user has can be given: a registered network, ``module:attribute``, ``path.py:attribute``, a ``.pt2`` file, a
live module with example inputs, the folder of a program or capture, or a bare ``.tosa`` file. Leaves out the findings
themselves (``guard``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from corstone.accuracy.finding import Finding, GuardReport, worst_first
from corstone.accuracy.guard import guard_program, guard_table
from corstone.accuracy.tables import tables_in
from corstone.accuracy.tensors import calibration_codes
from corstone.errors import ConfigError, HarnessError
from corstone.pipeline.inputs import arrays_of
from corstone.program import Program
from corstone.reference.graph import read_graph

Inputs = Sequence[Any]


def guard_source(
    source: Any, example_inputs: Inputs | None = None, *, calibration: Sequence[Inputs] = (), **options: Any
) -> GuardReport:
    """Findings about a network or a lowered program.

    Parameters
    ----------
    source: see the module; a live module needs ``example_inputs``.
    calibration: input sets (tensors or arrays) whose hits are counted; none: the network's own calibration inputs, else
        a ramp over the codes of the program's input.
    options: fields of ``corstone.pipeline.CheckRequest``: target, bits, policy, shapes.

    Raises
    ------
    ConfigError, StageError: the source cannot be found or lowered.
    """
    path = Path(source) if isinstance(source, str | Path) else None
    if path is not None and path.suffix == ".tosa":
        return _bare(path)
    program = _stored(path) if path is not None else None
    if program is None:
        from corstone.pipeline import build

        program = build(source, example_inputs, **options)
    return _with_hits(program, calibration)


def _bare(path: Path) -> GuardReport:
    uses = tables_in([read_graph(path)])
    findings: list[Finding] = [finding for use in uses for finding in guard_table(use)]
    note = "a bare TOSA graph does not say what its tables are made from: only their shape was looked at"
    return GuardReport(path.name, tuple(use.label for use in uses), worst_first(findings), (note,))


def _stored(path: Path) -> Program | None:
    if not path.is_dir():
        return None
    if not (path / "program.json").is_file():
        raise ConfigError(f"{path} holds no program.json", hint="give the folder of a program or of a capture")
    return Program.load(path / "program.json")


def _with_hits(program: Program, calibration: Sequence[Inputs]) -> GuardReport:
    if not program.tosa:
        return GuardReport(program.network, (), (), ("no delegate: nothing of this program becomes a TABLE",))
    sets, words = ([arrays_of(x) for x in calibration], "the given inputs") if calibration else _own_inputs(program)
    try:
        hits = calibration_codes(program, sets)
    except HarnessError as error:
        report = guard_program(program)
        return replace(report, notes=(*report.notes, f"calibration inputs were not counted: {error.message}"))
    report = guard_program(program, hits)
    return replace(report, notes=(*report.notes, f"hits were counted on {words}"))


def _own_inputs(program: Program) -> tuple[list[Inputs], str]:
    from corstone_models.networks import NETWORKS
    from corstone_models.stimuli import stimulus

    kind, _, name = program.source.partition(":")
    if kind == "network" and name in NETWORKS:
        shapes = tuple(spec.shape for spec in program.inputs)
        return [NETWORKS[name].calibration_inputs(program.bits, shapes)], "the network's own calibration inputs"
    return [stimulus("ramp", program)], "a ramp over the codes of the program's inputs"
