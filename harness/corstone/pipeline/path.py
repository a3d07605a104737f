"""The stages of a case in their order, and what they hand on to each other."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError
from corstone.paths import file_name, user_path
from corstone.pipeline.calibration import read_calibration, write_calibration
from corstone.pipeline.inputs import arrays_of, domain_of, read_inputs, stimulus_of
from corstone.pipeline.records import failed, finish, record_of
from corstone.pipeline.request import CheckRequest
from corstone.pipeline.together import Booted, boot_cases, neighbours
from corstone.report.record import CaseRecord
from corstone.targets import HOST_TARGETS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corstone.boards import BootRequest, Deadlines
    from corstone.capture import Capture
    from corstone.lowering import Lowering, LowerRequest
    from corstone.program import Program

    Array = npt.NDArray[np.generic]

Progress = Callable[[str, str], None]
"""Called with a case id and what is being done with it now."""


def check(module_or_name: Any, example_inputs: Sequence[Any] | None = None, **options: Any) -> CaseRecord:
    """One network, from source to verdict.

    Parameters
    ----------
    module_or_name: an ``nn.Module``, or a name as in ``CheckRequest.network``.
    example_inputs: tensors or arrays (one may stand alone); needed for a module, and then also the default stimulus
        (``given``).
    options: fields of ``CheckRequest``; ``calibration`` may also be a sequence of input sets, which are kept in
        ``networks/`` of the folder ``out``.

    Returns the case's record; whatever the compiler or the device does becomes a verdict in it. A module is kept as
    ``networks/NAME-HASH.pt2`` in the folder ``out``, by which ``corstone check`` can run it again.

    Raises
    ------
    ConfigError: nonsense in the request itself.
    """
    inputs = arrays_of(example_inputs)
    options = _kept_sets(module_or_name, options, user_path(options.get("out", CheckRequest.out)) / "networks")
    if isinstance(module_or_name, str):
        if inputs:
            options = {"stimulus": "given", **options}
        return check_one(CheckRequest(module_or_name, inputs=inputs, **options))
    options = {"stimulus": "given", "label": type(module_or_name).__name__, **options}
    if not inputs:
        raise ConfigError(
            f"checking a live {type(module_or_name).__name__} needs example inputs",
            hint="check(module, (example_input,)): they fix its shapes and are its stimulus",
        )
    request = CheckRequest(options["label"], inputs=inputs, **options)
    try:
        path = _export(module_or_name, inputs, request.out / "networks")
    except HarnessError as error:
        return finish(request, failed(request, error), {})
    return check_one(replace(request, network=str(path)))


def build(module_or_name: Any, example_inputs: Sequence[Any] | None = None, **options: Any) -> Program:
    """Lower a network as ``check`` would, from the cache where it can; nothing is booted.

    Raises
    ------
    ConfigError, StageError: the network cannot be lowered.
    """
    from corstone.lowering import lower

    inputs = arrays_of(example_inputs)
    with tempfile.TemporaryDirectory(prefix="corstone-export-") as folder:
        options = _kept_sets(module_or_name, options, Path(folder))
        if isinstance(module_or_name, str):
            return lower(lower_request(CheckRequest(module_or_name, inputs=inputs, **options)))
        options = {"label": type(module_or_name).__name__, **options}
        path = _export(module_or_name, inputs, Path(folder))
        return lower(lower_request(CheckRequest(str(path), inputs=inputs, **options)))


def check_one(request: CheckRequest, progress: Progress | None = None) -> CaseRecord:
    """One case from its request."""
    return check_all([request], progress)[0]


def check_all(requests: Sequence[CheckRequest], progress: Progress | None = None) -> list[CaseRecord]:
    """Several cases, booted and judged in turn; what is not in the cache is compiled meanwhile.

    With a runner that takes several runs a boot, cases whose programs are there share boots (``pipeline.together``).
    """
    from corstone.lowering import Lowering

    say = progress or (lambda _case, _what: None)
    for request in requests:
        say(request.case_id, "lower")
    began = time.monotonic()
    records: list[CaseRecord] = []
    with Lowering([lower_request(r) for r in requests]) as lowering:
        while len(records) < len(requests):
            first = len(records)
            lowering.result(first)
            # How long this case waited for its program: a compilation beside an earlier case's boot costs it nothing.
            waited = time.monotonic() - began
            these = neighbours(requests, lowering, first)
            booted = _boot_together(requests, lowering, these, say)
            for i in these:
                request, program = requests[i], lowering.result(i)
                seconds = {"lower": waited if i == first else 0.0}
                if isinstance(program, HarnessError):
                    record = failed(request, program)
                else:
                    record = _run_case(request, program, seconds, say, booted.get(i))
                    record = replace(record, program=lowering.origin(i))
                records.append(finish(request, record, seconds))
                say(request.case_id, str(record.verdict.outcome))
            began = time.monotonic()
    return records


def _boot_together(
    requests: Sequence[CheckRequest], lowering: Lowering, these: range, say: Progress
) -> dict[int, Booted]:
    """Cases that shared boots, by their place; none where a case is alone."""
    cases = {i: program for i in these if not isinstance(program := lowering.result(i), HarnessError)}
    if len(cases) < 2:
        return {}
    try:
        (requests[these[0]].out / "boots").mkdir(parents=True, exist_ok=True)
    except OSError:
        return {}  # each case says so of its own folder
    for i in cases:
        say(requests[i].case_id, "boot")
    return dict(zip(cases, boot_cases([(requests[i], cases[i]) for i in cases], _boot_request), strict=True))


def lower_request(request: CheckRequest) -> LowerRequest:
    """What a case asks of lowering."""
    from corstone.lowering import LowerRequest

    return LowerRequest(
        request.network,
        target=request.target,
        bits=request.bits,
        policy=request.policy,
        inputs=request.inputs,
        shapes=request.shapes,
        calibration=read_calibration(request.calibration) if request.calibration else (),
        seed=request.seed,
        label=request.label,
    )


def _run_case(
    request: CheckRequest, program: Program, seconds: dict[str, float], say: Progress, booted: Booted | None
) -> CaseRecord:
    from corstone.accuracy.guard import broken_tables
    from corstone.judge.bound import bound_of
    from corstone.judge.stored import Question, judge_folder, store
    from corstone.reference import domain_findings, operators_of, references

    folder = request.out / "cases" / request.case_id
    clock = _Clock(seconds)
    capture = None
    try:
        if booted is None:
            inputs = stimulus_of(request, program)
            clock.lap("stimulus")
            say(request.case_id, "boot")
            capture = _execute(request, program, inputs, folder)
            clock.lap("boot")
        else:
            seconds |= booted.seconds
            if isinstance(booted.capture, HarnessError):
                raise booted.capture
            inputs, capture = booted.inputs, booted.capture
        say(request.case_id, "judge")
        answers = list(references(program, inputs, _references(request)).values())
        if program.target in HOST_TARGETS:
            from corstone.reference.host import second_opinion

            answers += second_opinion(program, inputs, answers)
        clock.lap("references")
        budgets = _budgets(request)
        findings = (*domain_findings(program, inputs), *broken_tables(program))
        domain = domain_of(request, inputs)
        question = Question(
            budgets, request.inputs_by, request.seed, domain, findings, operators_of(program), bound_of(program)
        )
        store(folder, question, answers)
        verdict = judge_folder(folder)[3]
        clock.lap("judge")
    except HarnessError as error:
        return failed(request, error, capture, program)
    return record_of(request, verdict, capture, program)


def _execute(request: CheckRequest, program: Program, inputs: Sequence[Array], folder: Path) -> Capture:
    """Boot the board, or run the graph where the target is a host's."""
    if program.target in HOST_TARGETS:
        from corstone.reference.host import run_host

        return run_host(program, inputs, folder)
    from corstone.boards import boot

    return boot(_boot_request(request, program, inputs))


def _boot_request(request: CheckRequest, program: Program, inputs: Sequence[Array]) -> BootRequest:
    from corstone.boards import BootRequest

    return BootRequest(
        program=program,
        inputs=tuple(x.tobytes() for x in inputs),
        folder=request.out / "cases" / request.case_id,
        board=request.board,
        provider=request.provider,
        fvp_dir=request.fvp_dir,
        require_fvp=request.require_fvp,
        runner=request.runner,
        runner_elf=request.runner_elf,
        deadlines=_deadlines(request, program),
        trace=request.trace,
    )


def _references(request: CheckRequest) -> tuple[str, ...]:
    """The references asked for; VGF is an optional extra, and missing tools are said rather than passed over."""
    if "vgf" in request.references:
        from corstone.vgf import find_tools

        find_tools()
    if request.target not in HOST_TARGETS:
        return request.references
    from corstone.reference.host import references_for

    return references_for(request.target, request.references)


def _budgets(request: CheckRequest) -> tuple[Any, ...]:
    from corstone.accuracy.budget_file import budgets_of

    return () if request.plain else budgets_of(request.network, request.bits, request.policy)


def _deadlines(request: CheckRequest, program: Program) -> Deadlines | None:
    if request.timeout_s is None:
        return None
    from corstone.boards.deadlines import default_deadlines

    base = default_deadlines(request.provider, program.pte.stat().st_size)
    limit = request.timeout_s
    return replace(base, total=limit, start=min(base.start, limit), progress=min(base.progress, limit))


def _kept_sets(module_or_name: Any, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The options, calibration sets that are no file yet written into one in ``folder``."""
    sets = options.get("calibration")
    if sets is None or isinstance(sets, str | Path):
        return options
    name = module_or_name if isinstance(module_or_name, str) else type(module_or_name).__name__
    label = options.get("label") or CheckRequest(name).name
    return {**options, "calibration": write_calibration(sets, folder, file_name(label))}


def _export(module: Any, example_inputs: Sequence[Any], folder: Path) -> Path:
    """A live module as an exported program on disk: it travels to the compile child as a graph, never by pickle."""
    from corstone.lowering.live import export_module

    path: Path = export_module(module, tuple(example_inputs), folder)
    return path


class _Clock:
    """Laps into a dictionary of seconds."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.seconds[name] = now - self.last
        self.last = now


def run_program(pte: Path, inputs: Sequence[Path], out: Path, *, target: str | None = None, **device: Any) -> Capture:
    """Boot any ``.pte`` on raw input files; the capture folder ``out`` holds ``out-0.bin``, ...

    Nothing is judged but the boot: the capture's ending says whether the device ran and gave back complete, fresh
    outputs. ``device``: ``board``, ``provider``, ``fvp_dir``, ``require_fvp``, ``runner``, ``runner_elf`` and ``trace``
    as ``BootRequest`` has them, and ``timeout_s``.

    Raises
    ------
    ConfigError: the program is damaged or for another target, or the inputs do not fit it.
    ToolError: a simulator or an image is missing.
    """
    from corstone.boards import boot

    program = load_pte(pte, target)
    return boot(bare_request(program, tuple(read_inputs(program.inputs, inputs)), out, **device))


def run_many(
    pte: Path, inputs: Sequence[Path], out: Path, *, target: str | None = None, **device: Any
) -> list[Capture]:
    """``run_program`` on many input sets, which share boots where the runner can (``corstone.boards.many``).

    ``inputs``: the files of the first set, of the second, and so on. The captures are in ``out/set-0``, ...

    Raises
    ------
    ConfigError: as ``run_program``, for any set and before anything is started; files are left over for a last set.
    ToolError: a simulator or an image is missing.
    """
    from corstone.boards.many import boot_many

    program = load_pte(pte, target)
    each = len(program.inputs)
    if not each or not inputs or len(inputs) % each:
        raise ConfigError(
            f"an input set of this program is {each} files, {len(inputs)} files are no whole number of sets",
            cause=Cause.BAD_INPUT,
            hint="give the files of the first set in the program's order, then those of the second, and so on",
        )
    sets = [tuple(read_inputs(program.inputs, inputs[i : i + each])) for i in range(0, len(inputs), each)]
    return boot_many(bare_request(program, (), out, **device), sets)


def bare_request(
    program: Program, inputs: tuple[bytes, ...], out: Path, *, timeout_s: float | None = None, **device: Any
) -> BootRequest:
    """What ``run_program`` asks of a board."""
    from corstone.boards import BootRequest

    request = CheckRequest(program.pte.name, target=program.target, timeout_s=timeout_s)
    return BootRequest(program, inputs, out, deadlines=_deadlines(request, program), **device)


def load_pte(pte: Path, target: str | None = None) -> Program:
    """A bare ``.pte`` or Vela-compiled ``.tflite`` as a Program: inputs, outputs and target read from the file.

    Raises
    ------
    ConfigError: damaged, without an Ethos-U delegate, or compiled for another target than asked for.
    """
    from corstone.formats.program_file import read_program_file
    from corstone.program import Program
    from corstone.targets import target as target_named

    wanted = target_named(target) if target else None
    file = read_program_file(pte)
    found = file.target
    if wanted and wanted != found:
        raise ConfigError(
            f"{pte.name} was compiled for {found.name}, {wanted.name} was asked for",
            cause=Cause.WRONG_TARGET,
            hint=f"run it with --target {found.name}, or compile it for {wanted.name}",
        )
    return Program(pte, found.name, file.inputs, file.outputs)


def judge_capture(folder: Path) -> CaseRecord:
    """Judge a stored capture again; needs no board.

    Raises
    ------
    ConfigError: the folder holds no capture.
    """
    from corstone.judge.stored import judge_folder

    capture, program, question, verdict = judge_folder(folder)
    return CaseRecord(
        case_id=folder.name,
        network=program.network if program else "",
        bits=program.bits if program else 0,
        policy=program.policy if program else "",
        target=capture.target,
        board=capture.board,
        stimulus=question.stimulus,
        verdict=verdict,
        executor=capture.executor,
        runner=capture.runner,
        runner_sha256=capture.runner_sha256,
        seed=question.seed,
        capture=str(folder),
        counters=capture.counters,
        versions=program.versions if program else {},
        seconds=capture.seconds,
    )
