"""Many runs in one boot of our runner, with a capture and a verdict for each: sets of one program, or programs.

Sets of one program: what a set did before the boot went wrong stays, the set during which it did gets that ending, and
those that had no turn are booted again without it. Different programs are trusted together or not at all: unless all
of a boot ended well, each of its programs is booted alone, and that is its capture. Runners that take one run a boot
get one boot for each.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace
from pathlib import Path

from corstone.boards.request import BootRequest
from corstone.boards.session import boot_planned, check_inputs, make_fresh, plan_boot, preflight
from corstone.boards.shared_boot import MOST, Job, can_share, is_doubtful, shared_boot
from corstone.capture import Capture
from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError

__all__ = ["MOST", "boot_many", "boot_programs"]


def boot_many(request: BootRequest, sets: Sequence[tuple[bytes, ...]]) -> list[Capture]:
    """Run a program on each input set; the captures are in ``set-<i>`` of the request's folder, in the sets' order.

    ``request.inputs`` are not looked at. ``boot-<n>.log`` beside the captures is the console of a shared boot. A
    capture's seconds are its share of that boot, which ``evidence["shared boot"]`` names. Deadlines hold for each set.
    A boot with a trace is not shared.

    Raises
    ------
    ConfigError, ToolError: as ``boot``, for any of the sets and before anything is started.
    KeyboardInterrupt: after the simulator was stopped and the captures of sets that had begun were stored.
    """
    if not sets:
        raise ConfigError("there is no input set to run on")
    ones = [replace(request, inputs=given, folder=request.folder / f"set-{i}") for i, given in enumerate(sets)]
    plan = plan_boot(ones[0])
    for one in ones:
        check_inputs(one)
    warnings = preflight(request, plan) if request.preflight else ()
    jobs = [Job(one, plan, warnings) for one in ones]
    if len(jobs) == 1 or not can_share(jobs[0]):
        return [_alone(job) for job in jobs]
    _clear(request.folder)
    captures: list[Capture] = []
    number = 0
    while len(captures) < len(jobs):
        left = jobs[len(captures) : len(captures) + MOST]
        captures += shared_boot(left, request.folder / f"boot-{number}.log").captures
        number += 1
    return [_settled(job, capture) for job, capture in zip(jobs, captures, strict=True)]


def boot_programs(
    requests: Sequence[BootRequest], folder: Path, most: int = MOST, *, name: str = "boot"
) -> list[Capture | HarnessError]:
    """Boot different programs, each with its own folder; those that can share boots do, ``most`` to one.

    ``folder`` gets ``<name>-<n>.log``, the consoles of shared boots. A request that does not hold is the error in its
    place, and no other suffers from it. What a capture says is what a boot of its own says, but for its times, the
    command and ``evidence["shared boot"]``.

    Raises
    ------
    ConfigError: two requests have the same folder.
    KeyboardInterrupt: after the simulator was stopped and the captures of those that had begun were stored.
    """
    if len({request.folder for request in requests}) < len(requests):
        raise ConfigError("two programs have the same output folder", cause=Cause.BAD_INPUT)
    results: list[Capture | HarnessError | None] = [None] * len(requests)
    groups: dict[Hashable, list[int]] = {}
    jobs: dict[int, Job] = {}
    for index, request in enumerate(requests):
        try:
            plan = plan_boot(request)
            jobs[index] = Job(request, plan, preflight(request, plan) if request.preflight else ())
        except HarnessError as error:
            results[index] = error
        else:
            groups.setdefault(_alike(index, jobs[index]), []).append(index)
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if re.fullmatch(rf"{re.escape(name)}-\d+\.log", path.name):
            path.unlink()
    number = 0
    for group in groups.values():
        for start in range(0, len(group), max(1, most)):
            these = group[start : start + max(1, most)]
            captures = _together([jobs[i] for i in these], folder / f"{name}-{number}.log")
            for index, capture in zip(these, captures, strict=True):
                results[index] = capture
            number += 1
    return [result for result in results if result is not None]


def _together(jobs: Sequence[Job], log: Path) -> list[Capture | HarnessError]:
    """One boot for all where it can be shared and ends well, else a boot for each."""
    if len(jobs) > 1:
        try:
            shared = shared_boot(jobs, log)
        except HarnessError:  # of one folder or file; who it is of, its own boot says
            return [_attempt(job) for job in jobs]
        if shared.clean:
            return [_settled(job, capture) for job, capture in zip(jobs, shared.captures, strict=True)]
    return [_attempt(job) for job in jobs]


def _alike(index: int, job: Job) -> Hashable:
    """What requests must agree in to share a boot; the index makes one that cannot share a group of its own."""
    request, plan = job.request, job.plan
    board = (plan.board.name, plan.simulator.kind, plan.simulator.argv, plan.runner.name, str(plan.image))
    return (*board, request.program.target, request.settings, request.fast, None if can_share(job) else index)


def _attempt(job: Job) -> Capture | HarnessError:
    try:
        return _alone(job)
    except HarnessError as error:
        return error


def _alone(job: Job) -> Capture:
    """A boot of its own, and another where an output is too short to tell: other random bytes settle it."""
    return _settled(job, boot_planned(job.request, job.plan, job.warnings))


def _settled(job: Job, capture: Capture) -> Capture:
    return boot_planned(job.request, job.plan, job.warnings) if is_doubtful(capture) else capture


def _clear(folder: Path) -> None:
    """Remove what earlier sets left, also those that are not asked for now."""
    for path in folder.glob("boot-*.log"):
        path.unlink()
    for path in folder.glob("set-*"):
        if path.is_symlink():
            path.unlink()
        elif path.is_dir():
            make_fresh(path)
