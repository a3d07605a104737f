"""What is kept of a case: its record, from a verdict or from the error that ended it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from corstone.causes import Cause, Outcome
from corstone.errors import HarnessError
from corstone.judge.verdict import Verdict
from corstone.pipeline.request import CheckRequest, board_name
from corstone.report.record import CaseRecord
from corstone.targets import HOST_TARGETS

if TYPE_CHECKING:
    from corstone.capture import Capture
    from corstone.program import Program


def record_of(request: CheckRequest, verdict: Verdict, capture: Capture | None, program: Program | None) -> CaseRecord:
    """The record of a case that ended with ``verdict``; without a capture nothing was booted."""
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
        board=capture.board if capture else board_name(request.target, request.board),
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


def failed(
    request: CheckRequest, error: HarnessError, capture: Capture | None = None, program: Program | None = None
) -> CaseRecord:
    """The record of a case that an error ended."""
    evidence = {name: str(value) for name, value in error.evidence.items()}
    notes = program.notes if program else ()
    # Where the NPU gets nothing, the first operator that it does not take is what the caller has to know.
    left = next((note for note in notes if "stays on the CPU" in note), "") if error.cause is Cause.NO_DELEGATE else ""
    reason = f"{error.message}; in the stage 'tosa', {left}" if left else error.message
    verdict = Verdict(error.outcome, error.cause, reason, error.hint, notes=notes, evidence=evidence)
    return record_of(request, verdict, capture, program)


def finish(request: CheckRequest, record: CaseRecord, seconds: dict[str, float]) -> CaseRecord:
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
