"""Many input sets of one program in one boot of our runner, with a capture and a verdict for each.

Sets share nothing but the boot: each has its folder of files, its own canary, its part of the console, and the program
is loaded anew for it. What a set did before the boot went wrong stays; the set during which it went wrong gets the
boot's ending; those that had no turn are booted again without it. Runners that take one run a boot get one boot a set.
Leaves out sets of different programs, which never share a boot.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from corstone.boards.console import Waited
from corstone.boards.facts import BootFacts
from corstone.boards.request import BootRequest
from corstone.boards.session import (
    Plan,
    boot,
    boot_planned,
    check_inputs,
    command_of,
    execute,
    facts_before,
    keep,
    make_fresh,
    plan_boot,
    preflight,
    read_program,
    work_folder,
)
from corstone.boards.transports import Parcel
from corstone.boards.transports.firmware import FirmwareRuns
from corstone.capture import Capture
from corstone.errors import ConfigError
from corstone.firmware.protocol import FirmwareLog, read_firmware
from corstone.transcript import read_transcript

MOST = 64
"""Sets in one boot at most: bounds its console, its files and what a boot that goes wrong takes with it."""

_BEGIN = re.compile(rb'@corstone \{"n":(\d+),"e":"begin","run":(\d+),')


def boot_many(request: BootRequest, sets: Sequence[tuple[bytes, ...]]) -> list[Capture]:
    """Run a program on each input set; the captures are in ``set-<i>`` of the request's folder, in the sets' order.

    ``request.inputs`` are not looked at. ``boot-<n>.log`` beside the captures is the console of a shared boot. A
    capture's seconds are its share of that boot, which ``evidence["shared boot"]`` names. Deadlines of progress hold
    for each set, that of the whole boot is multiplied by the number of sets. A boot with a trace is not shared.

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
    if len(ones) == 1 or plan.runner.dialect != "corstone" or request.trace:
        return [boot(one) for one in ones]
    warnings = preflight(request, plan) if request.preflight else ()
    _clear(request.folder)
    captures: list[Capture] = []
    number = 0
    while len(captures) < len(ones):
        left = ones[len(captures) : len(captures) + MOST]
        captures += shared_boot(left, plan, request.folder / f"boot-{number}.log", warnings)
        number += 1
    return [_settled(one, plan, capture, warnings) for one, capture in zip(ones, captures, strict=True)]


def _clear(folder: Path) -> None:
    """Remove what earlier sets left, also those that are not asked for now."""
    for path in folder.glob("boot-*.log"):
        path.unlink()
    for path in folder.glob("set-*"):
        if path.is_symlink():
            path.unlink()
        elif path.is_dir():
            make_fresh(path)


def _settled(one: BootRequest, plan: Plan, capture: Capture, warnings: tuple[str, ...]) -> Capture:
    """As ``boot`` does: other random bytes settle an output too short for the canary to tell."""
    doubtful = "doubtful" in capture.evidence.get("output-states", "").split(",")
    return boot_planned(one, plan, warnings) if doubtful else capture


def shared_boot(ones: Sequence[BootRequest], plan: Plan, log: Path, warnings: tuple[str, ...] = ()) -> list[Capture]:
    """One boot for several sets: captures of those that had their turn, which are the first ones and at least one.

    Where the boot did not come as far as a first run, that is the ending of all.
    """
    for one in ones:
        make_fresh(one.folder)
    first = ones[0]
    program = read_program(first.program.pte)
    sizes = tuple(o.size_bytes for o in first.program.outputs)
    parcels = [Parcel(program, one.inputs, sizes) for one in ones]
    limits = replace(plan.deadlines, total=plan.deadlines.total * len(ones))
    plan = replace(plan, deadlines=limits)
    began = time.monotonic()
    with work_folder() as work:
        transport = FirmwareRuns(plan.runner, first.inject)
        facts = facts_before(first, plan, parcels[0])
        try:
            arguments, values = transport.send(work, parcels)
            asked = replace(facts.asked, command=command_of(first, plan, transport.roles, arguments, values))
            facts = execute(replace(facts, asked=asked), plan, work, log)
        except OSError as error:
            facts = replace(facts, host_error=str(error), host_errno=error.errno or 0)
        raw = log.read_bytes() if log.exists() else b""
        parts = _parts(raw)
        turns = max(parts, default=-1) + 1 or len(ones)
        share = {"simulator": (time.monotonic() - began) / turns}
        captures = []
        for number, (one, parcel) in enumerate(zip(ones[:turns], parcels, strict=False)):
            outputs = transport.collect(work, number, parcel) if facts.stopped != "not-started" else ()
            part = parts.get(number) or _Part(raw, ended=False)
            own = replace(_own(facts, part, number), outputs=outputs)
            try:
                (one.folder / "console.log").write_bytes(part.text)
            except OSError as error:
                own = replace(own, host_error=str(error), host_errno=error.errno or 0)
            capture = keep(one, plan, work, own, share | {"total": share["simulator"]}, warnings)
            captures.append(_shared(capture, f"set {number + 1} of {len(ones)} in {log.name}"))
    if facts.interrupted:
        raise KeyboardInterrupt
    return captures


def _shared(capture: Capture, words: str) -> Capture:
    capture = replace(capture, evidence=capture.evidence | {"shared boot": words})
    capture.save()
    return capture


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
        number, first = int(begin[2]), int(begin[1])
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
