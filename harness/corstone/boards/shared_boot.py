"""One boot of our runner for several requests, with a capture for each as if it had been alone.

The requests agree in board, simulator, runner, target and settings. Each has its folder of files, its own canary, its
part of the console and its deadlines; the runner begins each with memory and NPU as a boot's first run finds them.
Leaves out what is done about a boot that went wrong (``many.py``).
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from corstone.boards.console import Turns, Waited
from corstone.boards.deadlines import Deadlines
from corstone.boards.facts import BootFacts
from corstone.boards.request import BootRequest
from corstone.boards.session import (
    Plan,
    command_of,
    execute,
    facts_before,
    keep,
    make_fresh,
    read_program,
    work_folder,
)
from corstone.boards.transports import Parcel
from corstone.boards.transports.firmware import FirmwareRuns
from corstone.capture import Capture
from corstone.causes import Outcome
from corstone.firmware.protocol import FirmwareLog, read_firmware
from corstone.transcript import read_transcript

MOST = 64
"""Requests in one boot at most: bounds its console, its files and what a boot that goes wrong takes with it."""

_BEGIN = re.compile(rb'@corstone \{"n":(\d+),"e":"begin","run":(?P<turn>\d+),')


@dataclass(frozen=True)
class Job:
    """A request with the choices made for it; ``warnings`` become notes of its capture."""

    request: BootRequest
    plan: Plan
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shared:
    """What a boot gave: the ``captures`` of those that had their turn, which are the first ones and at least one.

    ``clean``: every one had its turn and ended well (an output too short to tell from its canary may be left), and the
    boot ended as it should, its console whole. Of any other boot nobody can say what in it spoiled what.
    """

    captures: list[Capture]
    clean: bool


def can_share(job: Job) -> bool:
    """Whether the runner takes several runs a boot; a trace is of a whole boot."""
    return job.plan.runner.dialect == "corstone" and not job.request.trace


def is_doubtful(capture: Capture) -> bool:
    """Whether an output is too short for its canary to tell if it was written."""
    return "doubtful" in capture.evidence.get("output-states", "").split(",")


def shared_boot(jobs: Sequence[Job], log: Path) -> Shared:
    """Boot once for all of them; ``log`` gets the whole console.

    Where the boot did not come as far as a first run, that is the ending of all.

    Raises
    ------
    KeyboardInterrupt: after the simulator was stopped and the captures of those that had begun were stored.
    """
    for job in jobs:
        make_fresh(job.request.folder)
    first = jobs[0].request
    limits, turns = _limits([job.plan.deadlines for job in jobs])
    plan = replace(jobs[0].plan, deadlines=limits)
    began = time.monotonic()
    with work_folder() as work:
        transport = FirmwareRuns(plan.runner)
        parcels = _parcels(jobs)
        facts = facts_before(first, plan, parcels[0])
        try:
            arguments, values = transport.send(work, parcels, [job.request.inject for job in jobs])
            asked = replace(facts.asked, command=command_of(first, plan, transport.roles, arguments, values))
            facts = execute(replace(facts, asked=asked), plan, work, log, turns)
        except OSError as error:
            facts = replace(facts, host_error=str(error), host_errno=error.errno or 0)
        raw = log.read_bytes() if log.exists() else b""
        parts = _parts(raw)
        turned = max(parts, default=-1) + 1 or len(jobs)
        seconds = (time.monotonic() - began) / turned
        captures = []
        for number, (job, parcel) in enumerate(zip(jobs[:turned], parcels, strict=False)):
            outputs = transport.collect(work, number, parcel) if facts.stopped != "not-started" else ()
            part = parts.get(number) or _Part(raw, ended=False)
            asked = replace(facts_before(job.request, job.plan, parcel).asked, command=facts.asked.command)
            own = replace(_own(facts, part, number), asked=asked, outputs=outputs)
            where = f"run {number + 1} of {len(jobs)} in {log.name}"
            captures.append(_kept(job, work, own, part.text, seconds, where))
    if facts.interrupted:
        raise KeyboardInterrupt
    went_well = [capture.ending.outcome is Outcome.PASSED or is_doubtful(capture) for capture in captures]
    return Shared(captures, len(captures) == len(jobs) and all(went_well) and _sound(facts, raw, transport))


def _parcels(jobs: Sequence[Job]) -> list[Parcel]:
    programs: dict[Path, bytes] = {}
    for job in jobs:
        path = job.request.program.pte
        if path not in programs:
            programs[path] = read_program(path)
    return [
        Parcel(
            programs[job.request.program.pte],
            job.request.inputs,
            tuple(output.size_bytes for output in job.request.program.outputs),
        )
        for job in jobs
    ]


def _limits(each: Sequence[Deadlines]) -> tuple[Deadlines, Turns]:
    """Deadlines of the whole boot, and of a turn: silence and start as the most patient of them."""
    whole = replace(
        each[0],
        start=max(one.start for one in each),
        progress=max(one.progress for one in each),
        total=sum(one.total for one in each),
    )
    return whole, Turns(_BEGIN, max(one.total for one in each))


def _kept(job: Job, work: Path, own: BootFacts, console: bytes, seconds: float, where: str) -> Capture:
    try:
        (job.request.folder / "console.log").write_bytes(console)
    except OSError as error:
        own = replace(own, host_error=str(error), host_errno=error.errno or 0)
    share = {"simulator": seconds, "total": seconds}
    return keep(job.request, job.plan, work, own, share, job.warnings, {"shared boot": where})


def _sound(facts: BootFacts, raw: bytes, transport: FirmwareRuns) -> bool:
    """Whether the whole boot went as it was told to, run by run, and its console says so without a gap."""
    whole = read_firmware(raw)
    ran = [(run.number, run.program) for run in whole.runs]
    return (
        facts.stopped == "by-itself"
        and not (facts.interrupted or facts.left_behind or facts.host_error or facts.launch_error)
        and whole.complete
        and whole.exit_code == 0
        and whole.fault is None
        and ran == [(number, told.program) for number, told in enumerate(transport.told)]
    )


@dataclass(frozen=True)
class _Part:
    """What the console says of one run: the boot's first lines and its own; ``ended`` when its last frame is there."""

    text: bytes
    ended: bool
    log: FirmwareLog = field(default_factory=FirmwareLog)


def _parts(raw: bytes) -> dict[int, _Part]:
    """The parts by the run's number, cut where runs begin; the last has the console's rest unless it ended."""
    begins = list(_BEGIN.finditer(raw))
    head = raw[: begins[0].start()] if begins else b""
    parts = {}
    for begin, following in zip(begins, [*begins[1:], None], strict=True):
        number, first = int(begin["turn"]), int(begin[1])
        text = raw[begin.start() : following.start() if following else len(raw)]
        log = read_firmware(text)
        run = next((run for run in log.runs if run.number == number), None)
        ended = run is not None and run.code is not None
        if ended and following is None:
            # What follows the run's last frame is of the boot: how many runs were good, how it exited.
            text = text[: _end_of_run(text, number)]
            log = read_firmware(text)
        prefix = FirmwareRuns.prefix(number)
        runs = tuple(
            replace(run, outputs=tuple(replace(o, name=o.name.removeprefix(prefix)) for o in run.outputs))
            for run in log.runs
        )
        log = replace(log, runs=runs, missing=tuple(n for n in log.missing if n > first))
        parts[number] = _Part(head + text, ended, log)
    return parts


def _end_of_run(text: bytes, number: int) -> int:
    found = re.search(rb'@corstone \{"n":\d+,"e":"end","run":%d,[^\n]*\n?' % number, text)
    return found.end() if found else len(text)


def _own(facts: BootFacts, part: _Part, number: int) -> BootFacts:
    """The boot's facts as they are for one run: one that ended came to its end, however the boot went on."""
    transcript = read_transcript(part.text)
    if not part.ended:
        if part.log.runs:
            transcript = replace(transcript, firmware=replace(part.log, fault=transcript.firmware.fault))
        return replace(facts, transcript=transcript)
    code = part.log.runs[0].code
    transcript = replace(transcript, firmware=replace(part.log, exit_code=code))
    return replace(
        facts,
        transcript=transcript,
        waited=Waited("marker", f"run {number}"),
        stopped="by-itself",
        exit_status=code,
        interrupted=False,
        left_behind=0,
        cpu_s=None,
    )
