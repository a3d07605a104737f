"""The one path from network to verdict: lower, stimulate, boot, ask the references, judge, record.

Each stage is somebody else's and can be run alone; this module only connects them and turns what goes wrong on the way
into a verdict. The three ways in: ``check`` (one network), ``check_all`` (many, compiled in one child), ``run_program``
(a ``.pte`` on raw inputs, no judgement). Importing it imports neither torch nor numpy.
"""

from __future__ import annotations

import shlex
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corstone.causes import Cause, Outcome
from corstone.errors import ConfigError, HarnessError
from corstone.judge.verdict import Verdict
from corstone.paths import file_name
from corstone.report.record import CaseRecord
from corstone.targets import HOST_BOARD, HOST_TARGETS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corstone.boards import Deadlines
    from corstone.capture import Capture
    from corstone.judge.domain import Domain
    from corstone.lowering import LowerRequest
    from corstone.program import Program, TensorSpec

    Array = npt.NDArray[np.generic]

Progress = Callable[[str, str], None]
"""Called with a case id and what is being done with it now."""

REFERENCES = ("table", "tosa", "float")


@dataclass(frozen=True)
class CheckRequest:
    """One case.

    Parameters
    ----------
    network: registered name, ``module:attribute``, ``path.py:attribute``, or ``path.pt2``.
    stimulus: name of the inputs (``corstone_models.stimuli``); ``given`` takes ``inputs`` as they are.
    inputs: example inputs of a network that is not registered; they also fix its shapes.
    shapes: instead of ``inputs``, shapes of float32 inputs.
    out: folder of the run; the case gets ``<out>/cases/<case id>``.
    references: of table, tosa, vgf, float, fake-quantized.
    timeout_s: whole boot, seconds; None takes the provider's default.
    label: name in reports instead of the network's own.
    target: an NPU, or a host target (``corstone.targets.HOST_TARGETS``), which needs no board and counts as no device.
    """

    network: str
    bits: int = 8
    policy: str = "fixed"
    target: str = "ethos-u55-128"
    board: str | None = None
    provider: str = "auto"
    fvp_dir: Path | None = None
    require_fvp: bool = False
    runner: str | None = None
    runner_elf: Path | None = None
    stimulus: str = "codes"
    seed: int = 0
    inputs: tuple[Any, ...] = ()
    input_files: tuple[Path, ...] = ()
    shapes: tuple[tuple[int, ...], ...] = ()
    out: Path = Path("corstone-out")
    references: tuple[str, ...] = REFERENCES
    timeout_s: float | None = None
    trace: bool = False
    label: str = ""

    @property
    def name(self) -> str:
        """What reports call the network."""
        return self.label or Path(self.network).name.replace(":", "-")

    @property
    def plain(self) -> bool:
        """A host target that runs the float graph, whatever bits and policy say."""
        host = HOST_TARGETS.get(self.target)
        return host is not None and not host.quantized

    @property
    def inputs_by(self) -> str:
        """The stimulus; a float graph has no codes and gets a ramp over its domain instead."""
        return "ramp" if self.plain and self.stimulus == "codes" else self.stimulus

    @property
    def case_id(self) -> str:
        """Stable over versions, usable as a folder name."""
        board = _board_of(self.target, self.board)
        width = ["float"] if self.plain else [f"int{self.bits}", self.policy]
        parts = [self.name, *width, self.target, board, self.inputs_by]
        return file_name("-".join(part for part in parts if part))

    def repro(self, capture: Path | None) -> str:
        """The command that runs this case again; given inputs are those that its ``capture`` folder keeps."""
        words = ["corstone", "check", self.network, "--bits", str(self.bits), "--policy", self.policy]
        words += ["--target", self.target]
        if self.stimulus != "given":
            words += ["--stimulus", self.stimulus]
        elif self.inputs and capture is not None:
            words += [word for i in range(len(self.inputs)) for word in ("-i", str(capture / f"in-{i}.bin"))]
        words += [word for file in self.input_files for word in ("-i", str(file))]
        for shape in self.shapes:
            words += ["--shape", ",".join(map(str, shape))]
        return shlex.join(words)


def check(module_or_name: Any, example_inputs: Sequence[Any] | None = None, **options: Any) -> CaseRecord:
    """One network, from source to verdict.

    Parameters
    ----------
    module_or_name: an ``nn.Module``, or a name as in ``CheckRequest.network``.
    example_inputs: tensors or arrays (one may stand alone); needed for a module, and then also the default stimulus
        (``given``).
    options: fields of ``CheckRequest``.

    Returns the case's record; whatever the compiler or the device does becomes a verdict in it. A module is kept as
    ``networks/NAME-HASH.pt2`` in the folder ``out``, by which ``corstone check`` can run it again.

    Raises
    ------
    ConfigError: nonsense in the request itself.
    """
    inputs = _arrays(example_inputs)
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
        return _finish(request, _failed(request, error), {})
    return check_one(replace(request, network=str(path)))


def build(module_or_name: Any, example_inputs: Sequence[Any] | None = None, **options: Any) -> Program:
    """Lower a network as ``check`` would, from the cache where it can; nothing is booted.

    Raises
    ------
    ConfigError, StageError: the network cannot be lowered.
    """
    from corstone.lowering import lower

    inputs = _arrays(example_inputs)
    if isinstance(module_or_name, str):
        return lower(lower_request(CheckRequest(module_or_name, inputs=inputs, **options)))
    options = {"label": type(module_or_name).__name__, **options}
    with tempfile.TemporaryDirectory(prefix="corstone-export-") as folder:
        path = _export(module_or_name, inputs, Path(folder))
        return lower(lower_request(CheckRequest(str(path), inputs=inputs, **options)))


def check_one(request: CheckRequest, progress: Progress | None = None) -> CaseRecord:
    """One case from its request."""
    return check_all([request], progress)[0]


def check_all(requests: Sequence[CheckRequest], progress: Progress | None = None) -> list[CaseRecord]:
    """Several cases: what is not in the cache is compiled in one child, then each is booted and judged in turn."""
    from corstone.lowering import lower_all

    say = progress or (lambda _case, _what: None)
    for request in requests:
        say(request.case_id, "lower")
    began = time.monotonic()
    programs = lower_all([lower_request(r) for r in requests])
    lowering_s = (time.monotonic() - began) / max(1, len(requests))
    records = []
    for request, program in zip(requests, programs, strict=True):
        seconds = {"lower": lowering_s}
        if isinstance(program, HarnessError):
            record = _failed(request, program)
        else:
            record = _run_case(request, program, seconds, say)
        records.append(_finish(request, record, seconds))
        say(request.case_id, str(record.verdict.outcome))
    return records


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
        seed=request.seed,
        label=request.label,
    )


def _run_case(request: CheckRequest, program: Program, seconds: dict[str, float], say: Progress) -> CaseRecord:
    from corstone.judge.stored import Question, judge_folder, store
    from corstone.reference import domain_findings, operators_of, references

    folder = request.out / "cases" / request.case_id
    clock = _Clock(seconds)
    capture = None
    try:
        inputs = _stimulus(request, program)
        clock.lap("stimulus")
        say(request.case_id, "boot")
        capture = _execute(request, program, inputs, folder)
        clock.lap("boot")
        say(request.case_id, "judge")
        answers = list(references(program, inputs, _references(request)).values())
        clock.lap("references")
        budgets = _budgets(request)
        findings = domain_findings(program, inputs)
        domain = _domain(request, inputs)
        question = Question(budgets, request.inputs_by, request.seed, domain, findings, operators_of(program))
        store(folder, question, answers)
        verdict = judge_folder(folder)[3]
        clock.lap("judge")
    except HarnessError as error:
        return _failed(request, error, capture, program)
    return _record(request, verdict, capture, program)


def _execute(request: CheckRequest, program: Program, inputs: Sequence[Array], folder: Path) -> Capture:
    """Boot the board, or run the graph where the target is a host's."""
    if program.target in HOST_TARGETS:
        from corstone.reference.host import run_host

        return run_host(program, inputs, folder)
    from corstone.boards import BootRequest, boot

    return boot(
        BootRequest(
            program=program,
            inputs=tuple(x.tobytes() for x in inputs),
            folder=folder,
            board=request.board,
            provider=request.provider,
            fvp_dir=request.fvp_dir,
            require_fvp=request.require_fvp,
            runner=request.runner,
            runner_elf=request.runner_elf,
            deadlines=_deadlines(request, program),
            trace=request.trace,
        )
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


def run_program(
    pte: Path,
    inputs: Sequence[Path],
    out: Path,
    *,
    target: str | None = None,
    board: str | None = None,
    provider: str = "auto",
    fvp_dir: Path | None = None,
    require_fvp: bool = False,
    runner: str | None = None,
    runner_elf: Path | None = None,
    timeout_s: float | None = None,
    trace: bool = False,
) -> Capture:
    """Boot any ``.pte`` on raw input files; the capture folder ``out`` holds ``out-0.bin``, ...

    Nothing is judged but the boot: the capture's ending says whether the device ran and gave back complete, fresh
    outputs.

    Raises
    ------
    ConfigError: the program is damaged or for another target, or the inputs do not fit it.
    ToolError: a simulator or an image is missing.
    """
    from corstone.boards import BootRequest, boot

    program = load_pte(pte, target)
    data = tuple(read_inputs(program.inputs, inputs))
    request = CheckRequest(pte.name, target=program.target, timeout_s=timeout_s)
    return boot(
        BootRequest(
            program=program,
            inputs=data,
            folder=out,
            board=board,
            provider=provider,
            fvp_dir=fvp_dir,
            require_fvp=require_fvp,
            runner=runner,
            runner_elf=runner_elf,
            deadlines=_deadlines(request, program),
            trace=trace,
        )
    )


def load_pte(pte: Path, target: str | None = None) -> Program:
    """A bare ``.pte`` as a Program: inputs, outputs and target read from the file.

    Raises
    ------
    ConfigError: damaged, without an Ethos-U delegate, or compiled for another target than asked for.
    """
    from corstone.formats.pte import read_pte
    from corstone.formats.vela import program_target
    from corstone.program import Program
    from corstone.targets import target as target_named

    wanted = target_named(target) if target else None
    file = read_pte(pte)
    found = program_target(file)
    if wanted and wanted != found:
        raise ConfigError(
            f"{pte.name} was compiled for {found.name}, {wanted.name} was asked for",
            cause=Cause.WRONG_TARGET,
            hint=f"run it with --target {found.name}, or compile it for {wanted.name}",
        )
    return Program(pte, found.name, file.input_specs, file.output_specs)


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


def read_inputs(specs: Sequence[TensorSpec], paths: Sequence[Path]) -> list[bytes]:
    """Raw input files, one for each tensor of ``specs``: row-major, little endian, no header.

    Raises
    ------
    ConfigError: another number of files, one that cannot be read, or of another size.
    """
    if len(paths) != len(specs):
        wanted = ", ".join(f"{s.name}: {s.dtype}{list(s.shape)}" for s in specs) or "none"
        raise ConfigError(
            f"the program takes {len(specs)} inputs, {len(paths)} files were given",
            cause=Cause.BAD_INPUT,
            hint=f"give one raw file per input, in this order: {wanted}",
        )
    data = []
    for spec, path in zip(specs, paths, strict=True):
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise ConfigError(
                f"cannot read input {spec.name} from {path}: {error.strerror}", cause=Cause.BAD_INPUT
            ) from error
        if len(raw) != spec.size_bytes:
            raise ConfigError(
                f"input {spec.name} needs {spec.size_bytes} bytes ({spec.dtype}{list(spec.shape)}), "
                f"{path} has {len(raw)}: it is too {'short' if len(raw) < spec.size_bytes else 'long'}",
                cause=Cause.BAD_INPUT,
                hint="write the tensor's elements in row-major order, little endian, without a header",
            )
        data.append(raw)
    return data


def _stimulus(request: CheckRequest, program: Program) -> list[Array]:
    from corstone_models.networks import NETWORKS
    from corstone_models.stimuli import stimulus

    if request.stimulus == "given":
        return _from_files(request, program) if request.input_files else _given(request, program)
    network = NETWORKS.get(request.network)
    return list(stimulus(request.inputs_by, program, seed=request.seed, domain=network.domain if network else None))


def _from_files(request: CheckRequest, program: Program) -> list[Array]:
    import numpy as np

    data = read_inputs(program.inputs, request.input_files)
    return [
        np.frombuffer(raw, np.dtype(spec.dtype)).reshape(spec.shape)
        for raw, spec in zip(data, program.inputs, strict=True)
    ]


def _given(request: CheckRequest, program: Program) -> list[Array]:
    import numpy as np

    if len(request.inputs) != len(program.inputs):
        raise ConfigError(
            f"the program takes {len(program.inputs)} inputs, {len(request.inputs)} were given", cause=Cause.BAD_INPUT
        )
    arrays = []
    for spec, value in zip(program.inputs, request.inputs, strict=True):
        array = np.asarray(value, order="C")
        if str(array.dtype) != spec.dtype or array.shape != spec.shape:
            raise ConfigError(
                f"input {spec.name} must be {spec.dtype}{list(spec.shape)}, got {array.dtype}{list(array.shape)}",
                cause=Cause.BAD_INPUT,
            )
        arrays.append(array)
    return arrays


def _budgets(request: CheckRequest) -> tuple[Any, ...]:
    from corstone.accuracy.budget_file import budgets_of

    return () if request.plain else budgets_of(request.network, request.bits, request.policy)


def _domain(request: CheckRequest, inputs: Sequence[Array]) -> Domain | None:
    from corstone_models.networks import NETWORKS

    if network := NETWORKS.get(request.network):
        return network.domain
    # Nobody stated a domain: what the network was calibrated on is where float has to be met. Codes reach half a step
    # beyond, where asin, say, has no value.
    import numpy as np

    from corstone.judge.domain import Domain

    given = inputs if request.input_files else request.inputs
    floats = [x[np.isfinite(x)] for x in given if x.dtype.kind == "f"]
    if floats := [x for x in floats if x.size]:
        return Domain(min(float(x.min()) for x in floats), max(float(x.max()) for x in floats), declared=False)
    return Domain(-1.0, 1.0, declared=False) if request.shapes else None


def _deadlines(request: CheckRequest, program: Program) -> Deadlines | None:
    if request.timeout_s is None:
        return None
    from corstone.boards.deadlines import default_deadlines

    base = default_deadlines(request.provider, program.pte.stat().st_size)
    limit = request.timeout_s
    return replace(base, total=limit, start=min(base.start, limit), progress=min(base.progress, limit))


def _arrays(values: Any) -> tuple[Array, ...]:
    """Example inputs as arrays; a single tensor or array is the one input."""
    import numpy as np

    if values is None:
        return ()
    alone = hasattr(values, "detach") or isinstance(values, np.ndarray) or not isinstance(values, Sequence)
    given = [values] if alone else values
    try:
        found = [np.asarray(v.detach().cpu().numpy() if hasattr(v, "detach") else v, order="C") for v in given]
        if strange := [v for v, array in zip(given, found, strict=True) if array.dtype.kind not in "biuf"]:
            raise TypeError(f"one is of type {type(strange[0]).__name__}, which holds no real numbers")
        return tuple(found)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"example inputs must be tensors or arrays: {error}",
            cause=Cause.BAD_INPUT,
            hint="check(module, (first, second)): one for each argument of forward, in its order",
        ) from error


def _export(module: Any, example_inputs: Sequence[Any], folder: Path) -> Path:
    """A live module as an exported program on disk: it travels to the compile child as a graph, never by pickle."""
    from corstone.lowering.live import export_module

    path: Path = export_module(module, tuple(example_inputs), folder)
    return path


def _board_of(target: str, wanted: str | None = None) -> str:
    if target in HOST_TARGETS:
        return HOST_BOARD
    from corstone.boards import board_for_target

    return wanted or board_for_target(target, None).name


def _failed(
    request: CheckRequest, error: HarnessError, capture: Capture | None = None, program: Program | None = None
) -> CaseRecord:
    evidence = {name: str(value) for name, value in error.evidence.items()}
    notes = program.notes if program else ()
    # Where the NPU gets nothing, the first operator that it does not take is what the caller has to know.
    left = next((note for note in notes if "stays on the CPU" in note), "") if error.cause is Cause.NO_DELEGATE else ""
    reason = f"{error.message}; in the stage 'tosa', {left}" if left else error.message
    verdict = Verdict(error.outcome, error.cause, reason, error.hint, notes=notes, evidence=evidence)
    return _record(request, verdict, capture, program)


def _record(request: CheckRequest, verdict: Verdict, capture: Capture | None, program: Program | None) -> CaseRecord:
    from corstone import __version__
    from corstone.report.npu_cost import npu_cost

    versions = {"corstone": __version__, **(program.versions if program else {})}
    counters = dict(capture.counters) if capture else {}
    if program is not None and program.target not in HOST_TARGETS:
        counters |= npu_cost(program.pte, program.target, counters)
    if capture is not None:
        versions[capture.executor.kind] = str(capture.executor)
    return CaseRecord(
        case_id=request.case_id,
        network=request.name,
        bits=0 if request.plain else request.bits,
        policy="" if request.plain else request.policy,
        target=request.target,
        board=capture.board if capture else _board_of(request.target, request.board),
        stimulus=request.inputs_by,
        verdict=verdict,
        executor=capture.executor if capture else None,
        runner=capture.runner if capture else "",
        runner_sha256=capture.runner_sha256 if capture else "",
        seed=request.seed,
        capture=str(capture.folder) if capture else "",
        counters=counters,
        versions=versions,
        repro=request.repro(capture.folder if capture else None),
    )


def _finish(request: CheckRequest, record: CaseRecord, seconds: dict[str, float]) -> CaseRecord:
    """Add the times and keep the record in the case's folder, where that can be written."""
    record = replace(record, seconds={**record.seconds, **seconds})
    folder = request.out / "cases" / request.case_id
    try:
        folder.mkdir(parents=True, exist_ok=True)
        record.save(folder / "record.json")
    except OSError as error:
        if record.verdict.outcome is Outcome.PASSED:
            why = f"the record cannot be written to {folder}: {error.strerror}"
            verdict = replace(record.verdict, outcome=Outcome.ERROR, cause=Cause.NOT_WRITABLE, reason=why)
            return replace(record, verdict=verdict)
    return record


class _Clock:
    """Laps into a dictionary of seconds."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = time.monotonic()

    def lap(self, name: str) -> None:
        now = time.monotonic()
        self.seconds[name] = now - self.last
        self.last = now
