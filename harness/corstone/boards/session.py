"""One boot: a fresh folder, the simulator with its console, an orderly stop, and a Capture whatever happened.

Steps: choose board, simulator and runner; lay the files out; run; collect; classify; store. Errors of the caller and
missing tools are raised before anything starts; from then on every ending becomes a Capture.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from corstone.boards import warm
from corstone.boards.board import Board
from corstone.boards.console import COMMON_MARKERS, Console, Turns, Waited
from corstone.boards.deadlines import Deadlines, default_deadlines
from corstone.boards.endings import classify
from corstone.boards.facts import Asked, BootFacts
from corstone.boards.process import HAS_PROC, LaunchFailed, SimulatorProcess
from corstone.boards.providers import Simulator, find_simulator
from corstone.boards.quirks import quirks_of
from corstone.boards.registry import board_for_target
from corstone.boards.request import BootRequest
from corstone.boards.settings import ALWAYS, settings
from corstone.boards.transports import OutputState, Parcel, Transported, transport_for
from corstone.boards.transports.base import State
from corstone.capture import Capture
from corstone.causes import Cause
from corstone.errors import ConfigError, ToolError
from corstone.paths import user_path
from corstone.runners import Runner, Transport, default_runner, elf_runner
from corstone.runners import runner as runner_named
from corstone.setup import image_path, image_sha256
from corstone.targets import target as target_named
from corstone.transcript import read_transcript
from corstone.transcript.lines import TARGET, split_lines

_OWN_FILES = ("capture.json", "console.log", "trace.txt", "program.json")
_MAX_CONSOLE = 16 << 20
_CPU_SAMPLE_S = 0.2
_FAULT_DUMP_S = 1.0


@dataclass(frozen=True)
class Plan:
    """What was chosen for a request."""

    board: Board
    simulator: Simulator
    runner: Runner
    image: Path
    deadlines: Deadlines


def plan_boot(request: BootRequest) -> Plan:
    """Choose board, simulator, runner and deadlines, and check the inputs.

    Raises
    ------
    ConfigError: the request contradicts itself or the program.
    ToolError: a simulator or an image is missing.
    """
    program = request.program
    target = target_named(program.target)
    board = board_for_target(target.name, request.board)
    check_inputs(request)
    simulator = find_simulator(
        board, target.product, request.provider, request.fvp_dir, require_fvp=request.require_fvp
    )
    runner = _choose_runner(request, board, simulator.kind)
    image = image_path(runner)
    size = program.pte.stat().st_size if program.pte.is_file() else 0
    return Plan(board, simulator, runner, image, request.deadlines or default_deadlines(simulator.kind, size))


def boot(request: BootRequest) -> Capture:
    """Boot a program and return what came back, its ending classified.

    Raises
    ------
    ConfigError, ToolError: see ``plan_boot``; the folder cannot be written.
    KeyboardInterrupt: after the simulator was stopped and the capture stored.
    """
    plan = plan_boot(request)
    warnings = preflight(request, plan) if request.preflight else ()
    capture = boot_planned(request, plan, warnings)
    if any(state == "doubtful" for state in capture.evidence.get("output-states", "").split(",")):
        # An output too short for the canary to tell: other random bytes settle it.
        capture = boot_planned(request, plan, warnings)
    return capture


def preflight(request: BootRequest, plan: Plan) -> tuple[str, ...]:
    """Check program, runner and board against each other; returns warnings.

    Raises
    ------
    ConfigError: they do not go together.
    """
    from corstone.preflight import Subject, require

    subject = Subject(
        program=read_program(request.program.pte),
        board=plan.board,
        target=target_named(request.program.target),
        runner=plan.runner,
        provider=plan.simulator.kind,
        image=plan.image,
        deep=request.runner_elf is not None,
    )
    return tuple(f"before the boot: {finding}" for finding in require(subject))


def boot_planned(request: BootRequest, plan: Plan, warnings: tuple[str, ...] = ()) -> Capture:
    """``boot`` with the choices made and checked; ``warnings`` become notes of the capture."""
    folder = request.folder
    make_fresh(folder)
    began = time.monotonic()
    log = folder / "console.log"
    with work_folder() as work:
        transport = transport_for(plan.runner, request.inject)
        parcel = Parcel(
            read_program(request.program.pte), request.inputs, tuple(o.size_bytes for o in request.program.outputs)
        )
        facts, seconds = _run(request, plan, work, log, transport, parcel)
        seconds["total"] = time.monotonic() - began
        capture = keep(request, plan, work, facts, seconds, warnings)
    if facts.interrupted:
        raise KeyboardInterrupt
    return capture


def keep(
    request: BootRequest,
    plan: Plan,
    work: Path,
    facts: BootFacts,
    seconds: dict[str, float],
    warnings: tuple[str, ...] = (),
    evidence: dict[str, str] | None = None,
) -> Capture:
    """Classify what is known of a boot, and store it with its inputs and outputs as the capture of ``request``.

    ``evidence`` is added to what the boot itself gives.
    """
    folder = request.folder
    try:
        names = _store(folder, work, request, facts.outputs)
    except OSError as error:
        facts = replace(facts, host_error=str(error), host_errno=error.errno or 0)
        names = []
    ending, notes = classify(facts)
    capture = Capture(
        folder=folder,
        executor=plan.simulator.executor,
        board=plan.board.name,
        target=request.program.target,
        runner=plan.runner.name,
        runner_sha256=image_sha256(plan.image),
        ending=ending,
        command=facts.asked.command,
        exit_status=facts.exit_status,
        outputs=tuple(names),
        inputs=tuple(f"in-{i}.bin" for i in range(len(request.inputs))),
        counters=facts.transcript.counters,
        evidence=_evidence(facts) | (evidence or {}),
        notes=warnings + notes + _quirks(plan.simulator),
        seconds=seconds,
    )
    _save(capture, request)
    return capture


def _run(
    request: BootRequest, plan: Plan, work: Path, log: Path, transport: Transported, parcel: Parcel
) -> tuple[BootFacts, dict[str, float]]:
    facts = facts_before(request, plan, parcel)
    try:
        arguments, values = transport.send(work, parcel)
    except OSError as error:
        return replace(facts, host_error=str(error), host_errno=error.errno or 0), {}
    asked = replace(facts.asked, command=command_of(request, plan, transport.roles, arguments, values))
    began = time.monotonic()
    facts = execute(replace(facts, asked=asked), plan, work, log)
    ran = time.monotonic()
    try:
        raw = log.read_bytes() if log.exists() else b""
        outputs = transport.collect(work, parcel) if facts.stopped != "not-started" else ()
        facts = replace(facts, transcript=read_transcript(raw), outputs=outputs)
    except OSError as error:
        facts = replace(facts, host_error=str(error), host_errno=error.errno or 0)
    return facts, {"simulator": ran - began, "read": time.monotonic() - ran}


def facts_before(request: BootRequest, plan: Plan, parcel: Parcel) -> BootFacts:
    """What is known of a boot that has not started."""
    asked = _asked(request, plan, parcel)
    return BootFacts(asked, read_transcript(b""), Waited("exit"), stopped="not-started", locate=_locator(plan.image))


def execute(facts: BootFacts, plan: Plan, work: Path, log: Path, turns: Turns | None = None) -> BootFacts:
    """Run the simulator by ``facts.asked.command`` to its end, its console into ``log``; outputs are not looked at."""
    environment = dict(os.environ) | dict(plan.simulator.env)
    deadlines = plan.deadlines
    waited, interrupted, cpu = Waited("exit"), False, None
    try:
        with (
            SimulatorProcess(facts.asked.command, work, environment, deadlines, _warm(plan.simulator)) as process,
            Console(process.console_fd, log, _MAX_CONSOLE) as console,
        ):
            process.pump = console.pump
            try:
                waited = console.wait(COMMON_MARKERS, deadlines, process.status, _target_spoke, turns)
                if waited.kind == "deadline":
                    cpu = _cpu_use(process, console)
                if waited.kind in {"marker", "exit"}:
                    process.settle(deadlines.settle)
                if waited.kind == "fault":  # time for a register dump
                    process.settle(min(deadlines.settle, _FAULT_DUMP_S))
            except KeyboardInterrupt:
                interrupted = True
            left = len(process.survivors()) if process.status() is not None else 0
            stopped = process.stop()
            status = process.status()
    except LaunchFailed as failed:
        return replace(facts, launch_error=str(failed.error), launch_errno=failed.error.errno or 0)
    except OSError as error:
        return replace(facts, host_error=str(error), host_errno=error.errno or 0, stopped="kill")
    return replace(
        facts,
        waited=waited,
        interrupted=interrupted,
        cpu_s=cpu,
        stopped="by-itself" if left else stopped,
        left_behind=left,
        exit_status=status,
    )


def _warm(simulator: Simulator) -> warm.WarmServer | None:
    return warm.server() if simulator.forks else None


def _locator(image: Path) -> Callable[[int], str]:
    """Names functions by the image's symbols, which are read only when a fault asks."""

    def locate(address: int) -> str:
        from corstone.formats.elf import read_elf

        try:
            name = read_elf(image).nearest(address)
        except ConfigError:
            return ""
        return "" if name.startswith("0x") else name

    return locate


def _cpu_use(process: SimulatorProcess, console: Console) -> float | None:
    if not HAS_PROC:
        return None
    before = process.cpu_seconds()
    console.pump(_CPU_SAMPLE_S)
    return process.cpu_seconds() - before


def _target_spoke(tail: bytes) -> bool:
    return any(line.source == TARGET for line in split_lines(tail))


def command_of(
    request: BootRequest, plan: Plan, wanted: Sequence[str], arguments: list[str], values: dict[str, object]
) -> tuple[str, ...]:
    """The simulator's command line; ``wanted`` are roles of settings beside those of every boot."""
    target = target_named(request.program.target)
    roles = [*ALWAYS, *wanted]
    facts: dict[str, object] = {"macs": target.macs, "npu_args": "--fast", **values}
    if request.fast and plan.simulator.kind == "fvp":
        roles.append("npu-args")
    version = plan.simulator.version if plan.simulator.kind == "fvp" else ""
    command = [*plan.simulator.argv, "-a", str(plan.image.resolve())]
    command += settings(plan.board, version, roles, facts)
    for setting in request.settings:
        command += ["-C", setting]
    command += arguments
    if plan.simulator.kind == "emulator":
        # 256 MACs are both a U55 and a U65: the simulator's name says which.
        command += ["--fvp", plan.board.simulator_for(target.product)]
    if request.trace and plan.simulator.kind == "emulator":
        command += ["--trace", "trace.txt"]
    command += ["--timelimit", str(plan.deadlines.simulator_limit_s)]
    return tuple(command)


def _asked(request: BootRequest, plan: Plan, parcel: Parcel) -> Asked:
    from corstone.formats.program_file import compiled_for

    window = plan.runner.window
    return Asked(
        board=plan.board.name,
        target=request.program.target,
        stream=compiled_for(parcel.program, ""),
        macs=target_named(request.program.target).macs,
        provider=plan.simulator.kind,
        runner=plan.runner.name,
        dialect=plan.runner.dialect,
        transport=plan.runner.transport.value,
        inputs=tuple(len(data) for data in parcel.inputs),
        # A program that only prints is asked for no outputs: whoever judges numbers will miss them.
        outputs=() if plan.runner.transport is Transport.NONE else parcel.output_sizes,
        output_types=tuple(f"{o.dtype}{list(o.shape)}" for o in request.program.outputs),
        inputs_address=window.inputs if window else None,
        outputs_address=window.outputs if window else None,
        semihosting="semihosting" in transport_for(plan.runner).roles,
    )


def check_inputs(request: BootRequest) -> None:
    """Whether the inputs are as many and as long as the program's.

    Raises
    ------
    ConfigError: they are not.
    """
    specs = request.program.inputs
    if len(specs) != len(request.inputs):
        raise ConfigError(
            f"the program has {len(specs)} inputs, {len(request.inputs)} were given",
            cause=Cause.BAD_INPUT,
            hint="inputs: " + ", ".join(f"{s.name} {s.dtype} {list(s.shape)}" for s in specs),
        )
    for index, (spec, data) in enumerate(zip(specs, request.inputs, strict=True)):
        if len(data) != spec.size_bytes:
            raise ConfigError(
                f"input {index} ({spec.name}) has {len(data)} bytes, expected {spec.size_bytes} "
                f"for {spec.dtype} {list(spec.shape)}",
                cause=Cause.BAD_INPUT,
                hint="give raw little-endian elements without a header",
            )


def _choose_runner(request: BootRequest, board: Board, provider: str) -> Runner:
    if request.runner_elf is not None:
        dialect = runner_named(request.runner).dialect if request.runner else None
        return elf_runner(user_path(request.runner_elf), board.name, dialect)
    if request.runner is None:
        return default_runner(board.name, request.program.target, provider, program_needs(request))
    chosen = runner_named(request.runner)
    if chosen.board != board.name:
        raise ConfigError(f"runner {chosen.name} is for {chosen.board}, not for {board.name}")
    if provider not in chosen.providers:
        raise ConfigError(
            f"runner {chosen.name} does not boot on the {provider}",
            cause=Cause.UNSUPPORTED,
            hint=f"it needs memory that the {provider} lacks; providers: {', '.join(chosen.providers)}",
        )
    return chosen


def program_needs(request: BootRequest) -> frozenset[str]:
    """What the program asks of a runner, in the words of ``Runner.lacks``."""
    specs = (*request.program.inputs, *request.program.outputs)
    return frozenset({"rank-0"} if any(spec.shape == () for spec in specs) else ())


def read_program(path: Path) -> bytes:
    """The program's bytes.

    Raises
    ------
    ConfigError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"the program cannot be read: {error}", cause=Cause.BAD_PROGRAM) from error


def make_fresh(folder: Path) -> None:
    """Make the folder and remove what an earlier capture left in it, so that nothing old can be read as new."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            numbered = path.suffix == ".bin" and path.stem.rpartition("-")[0] in {"in", "out"}
            # What is written beside the capture later must not go through a link that somebody left here.
            link = path.is_symlink() and path.suffix in {".json", ".npy"}
            if path.name in _OWN_FILES or numbered or link:
                path.unlink()
    except OSError as error:
        raise ConfigError(
            f"the output folder {folder} cannot be written: {error}",
            cause=Cause.NOT_WRITABLE,
            hint="name another folder with --out",
        ) from error


@contextmanager
def work_folder() -> Iterator[Path]:
    """A fresh folder with a short path: the simulator's working folder, and all that semihosting can reach by name."""
    try:
        work = Path(tempfile.mkdtemp(prefix="cst-"))
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise ToolError(
            f"no temporary folder can be made: {error}",
            cause=Cause.DISK_FULL if full else Cause.NOT_WRITABLE,
            hint="free space, or point TMPDIR at a folder with space",
        ) from error
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _store(folder: Path, work: Path, request: BootRequest, outputs: tuple[OutputState, ...]) -> list[str]:
    for index, data in enumerate(request.inputs):
        (folder / f"in-{index}.bin").write_bytes(data)
    names = []
    for state in outputs:
        if state.state in {State.MISSING, State.STALE}:
            continue
        (folder / state.name).write_bytes(state.data)
        names.append(state.name)
    trace = work / "trace.txt"
    if trace.is_file() and not trace.is_symlink():
        shutil.copyfile(trace, folder / "trace.txt")
    return names


def _save(capture: Capture, request: BootRequest) -> None:
    try:
        request.program.save(capture.folder / "program.json")
        capture.save()
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise ToolError(
            f"the capture cannot be stored in {capture.folder}: {error}",
            cause=Cause.DISK_FULL if full else Cause.NOT_WRITABLE,
            hint="free space, or name another folder with --out",
        ) from error


def _quirks(simulator: Simulator) -> tuple[str, ...]:
    if simulator.kind != "fvp":
        return ()
    return tuple(
        f"known of this version: {quirk.text} ({quirk.source})"
        for quirk in quirks_of(simulator.name, simulator.version)
    )


def _evidence(facts: BootFacts) -> dict[str, str]:
    log = facts.transcript
    found = {
        "stopped": facts.stopped,
        "waited for": f"{facts.waited.kind} {facts.waited.name}".strip(),
        "output-states": ",".join(state.state.value for state in facts.outputs),
    }
    if log.mlek.populated:
        found["inputs populated"] = str(log.mlek.populated)
    if log.mlek.copied:
        found["outputs copied"] = str(log.mlek.copied)
    if log.mlek.completed:
        found["inference"] = "completed"
    if log.simulator.reason:
        found["stop reason"] = log.simulator.reason
    return found
