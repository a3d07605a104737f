"""Many bare programs on raw inputs: booted, not judged; those that can share boots do (``corstone.boards.many``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corstone.errors import HarnessError
from corstone.pipeline.inputs import read_inputs
from corstone.pipeline.path import bare_request, load_pte
from corstone.pipeline.together import BOOT

if TYPE_CHECKING:
    from corstone.boards import BootRequest
    from corstone.capture import Capture


@dataclass(frozen=True)
class ProgramRun:
    """A ``.pte``, its raw input files in order, and the folder of its capture."""

    pte: Path
    inputs: tuple[Path, ...]
    out: Path


def run_programs(
    runs: Sequence[ProgramRun], logs: Path, *, most: int = BOOT, target: str | None = None, **device: Any
) -> list[Capture | HarnessError]:
    """``run_program`` on different programs, at most ``most`` in a boot where the runner can share one.

    A program that is damaged, or whose inputs do not fit, is the error in its place. ``logs`` gets the consoles of
    shared boots; each capture has its own part. Unless all programs of a boot ended well, each is booted again alone.
    ``device`` as for ``run_program``; without a runner each program gets the one of its board that shares boots, ours.

    Raises
    ------
    ConfigError: two runs have the same folder.
    """
    from corstone.boards.many import boot_programs

    requests: list[BootRequest] = []
    results: dict[int, Capture | HarnessError] = {}
    for index, run in enumerate(runs):
        try:
            program = load_pte(run.pte, target)
            given = tuple(read_inputs(program.inputs, run.inputs))
            requests.append(bare_request(program, given, run.out, **sharing(program.target, device)))
        except HarnessError as error:
            results[index] = error
    captures = iter(boot_programs(requests, logs, most))
    return [results[index] if index in results else next(captures) for index in range(len(runs))]


def sharing(target: str, device: dict[str, Any]) -> dict[str, Any]:
    """The options with a runner that shares boots, where none is asked for."""
    from corstone.runners import sharing_runner

    if device.get("runner") or device.get("runner_elf"):
        return device
    return {**device, "runner": sharing_runner(target, device.get("board"))}
