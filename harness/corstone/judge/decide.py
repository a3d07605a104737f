"""The judgement: a capture, its program, the references and the budgets make one verdict.

Order: how the boot ended; count, size, shape and dtype of the outputs; every bit against each exact reference;
findings about the network's domain; distance to float. Everything is judged and kept, and the worst outcome decides.
Among FAILED the cause is shape, bits, wrong-table, out-of-domain, accuracy; a reference that calls the answer
unpredictable explains differing bits, so then out-of-domain comes before bits. The rest become notes. Leaves out
loading and storing (``stored``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corstone.capture import Capture
from corstone.causes import Cause, Outcome
from corstone.errors import HarnessError
from corstone.judge import words
from corstone.judge.accuracy import Accuracy, compare_accuracy, saturated
from corstone.judge.bits import compare_bits
from corstone.judge.bound import Bound, Limits, limits_where
from corstone.judge.budget import Budget, default_budget
from corstone.judge.codes import real_values
from corstone.judge.divergences import divergence_notes
from corstone.judge.domain import Domain, spoilt_codes
from corstone.judge.elements import InputView, input_view
from corstone.judge.finding import GraphFinding
from corstone.judge.hints import untouched
from corstone.judge.plain import BUDGET as PLAIN_BUDGET
from corstone.judge.plain import is_plain, steps_of
from corstone.judge.reference import EXACT, FAKE_QUANTIZED, FLOAT, ReferenceResult, Status
from corstone.judge.stages import ORDER, STREAM, first_over_budget, stage_distances
from corstone.judge.structure import arrays, check_bytes, check_reference
from corstone.judge.verdict import Comparison, Verdict
from corstone.program import Program, QParams

if TYPE_CHECKING:
    from corstone.looking.walk import Walk

Array = npt.NDArray[Any]


@dataclass
class _Case:
    """What the steps below share: device outputs as arrays, and what has been found so far."""

    capture: Capture
    program: Program
    device: list[Array]
    inputs: list[Array]
    qparams: list[QParams | None]
    comparisons: list[Comparison] = field(default_factory=list)
    failures: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unpredictable: bool = False
    lacking: dict[str, str] = field(default_factory=dict)
    """Stages that the verdict lacks, each with its reason."""
    walked: Walk | str | None = None
    """The command stream run here, or why it does not run; None when it was not needed."""

    def inside(self, output: int, domain: Domain | None) -> npt.NDArray[np.bool_] | None:
        """Which elements have every input in the domain, where inputs and output correspond by position; else None."""
        if domain is None or not self.inputs:
            return None
        count = self.device[output].size
        qparams = list(self.program.input_qparams) or [None] * len(self.inputs)
        if any(x.size != count or x.dtype.kind not in "fiu" for x in self.inputs):
            return None
        masks = [domain.holds(real_values(x.reshape(-1), q)) for x, q in zip(self.inputs, qparams, strict=True)]
        result: npt.NDArray[np.bool_] = np.logical_and.reduce(masks)
        return result

    def view(self, output: int) -> InputView | None:
        qparams = self.program.input_qparams[0] if self.program.input_qparams else None
        return input_view(self.inputs, qparams, self.device[output].size)


def judge(
    capture: Capture,
    program: Program,
    references: Sequence[ReferenceResult],
    budgets: Sequence[Budget] = (),
    stimulus: str = "",
    *,
    domain: Domain | None = None,
    findings: Sequence[GraphFinding] = (),
    operators: Collection[tuple[str, str]] = (),
    bound: Bound | None = None,
) -> Verdict:
    """The verdict of one capture.

    Parameters
    ----------
    references: exact ones (table, tosa, vgf), ``float`` and ``fake-quantized``; at least one must have an answer.
    budgets: of the float comparison; none means ``default_budget`` where the output is quantized.
    stimulus: name of the inputs, for the words of the verdict.
    domain: of every input; None where the network did not say.
    findings: of the domain guard, or of any look at the lowered graph.
    operators: ``(operator, dtype)`` pairs of the TOSA graph, for known divergences.
    bound: what each code of a network of one operator allows, beside the budgets.
    """
    notes = [*capture.notes, *program.notes, *divergence_notes(program.target, operators)]
    ended = capture.ending
    if ended.outcome is not Outcome.PASSED:
        return Verdict(
            ended.outcome, ended.cause, ended.message, ended.hint, notes=tuple(notes), evidence=dict(ended.evidence)
        )
    if ended.cause is not Cause.NONE:
        notes.append(f"{ended.cause}: {ended.message}")
    canary = canary_of(capture)
    raw = capture.output_bytes()
    if broken := check_bytes(raw, program.outputs, canary):
        return replace(broken, notes=tuple(notes), evidence=dict(ended.evidence))
    notes += [
        f"output {i}: {text}" for i, data in enumerate(raw) if (text := untouched(data, canary)) not in ("", "all")
    ]

    inputs, unread = _inputs(capture, program)
    notes += unread
    qparams = list(program.output_qparams) or [None] * len(program.outputs)
    case = _Case(capture, program, arrays(raw, program.outputs), inputs, qparams, notes=notes)
    usable = _usable(case, references)
    limits = _limits(case, usable, bound)
    if limits is not None:
        usable = [_towards_pole(r, limits) if r.name == FLOAT else r for r in usable]
    _findings(case, findings)
    for reference in usable:
        if reference.name not in (FLOAT, FAKE_QUANTIZED):
            _bits(case, reference)
    accuracy = _accuracy(case, usable, budgets, domain, limits)
    if domain is not None and domain.declared and not any(finding.fatal for finding in findings):
        _spoilt(case, accuracy, domain)
    return _decide(case, usable, accuracy, stimulus)


def canary_of(capture: Capture) -> bytes:
    """The pattern that filled the output memory before the boot, from the evidence; empty when none was kept."""
    text = capture.evidence.get("canary", "")
    return bytes.fromhex(text) if re.fullmatch(r"(?:[0-9a-fA-F]{2})+", text) else b""


def _inputs(capture: Capture, program: Program) -> tuple[list[Array], list[str]]:
    """Inputs as arrays; a capture whose inputs were removed is judged without them, and says so."""
    try:
        raw = capture.input_bytes()
    except FileNotFoundError as error:
        return [], [f"inputs are not in the capture any more ({error.filename}): regions and domain are not looked at"]
    if [len(r) for r in raw] != [spec.size_bytes for spec in program.inputs]:
        return [], ["stored inputs do not fit the program: regions and domain are not looked at"]
    return arrays(raw, program.inputs), []


def _usable(case: _Case, references: Sequence[ReferenceResult]) -> list[ReferenceResult]:
    """References with an answer of the right form; the others become failures or notes."""
    usable = []
    for reference in references:
        if reference.name == FAKE_QUANTIZED and reference.status is not Status.OK:
            # Nothing is judged by it: a verdict without this stage stands, and says why it is not there.
            case.lacking[FAKE_QUANTIZED] = (reference.message or "not available").splitlines()[0]
        elif reference.status is Status.UNPREDICTABLE:
            case.unpredictable = True
            case.failures.append(
                Verdict(
                    Outcome.FAILED,
                    Cause.OUT_OF_DOMAIN,
                    f"the {reference.name} reference calls this network's answer unpredictable: "
                    f"{reference.message or 'no reason given'}",
                    hint="a finding about the network, not about the device: repair its tables or its input range",
                )
            )
        elif reference.status is Status.ERROR:
            case.failures.append(
                Verdict(Outcome.ERROR, Cause.REFERENCE, f"the {reference.name} reference broke: {reference.message}")
            )
        elif reference.status is Status.UNAVAILABLE:
            case.notes.append(f"no {reference.name} reference: {reference.message or 'not available'}")
        elif wrong := check_reference(reference, case.program.outputs):
            if reference.name == FAKE_QUANTIZED:
                case.lacking[FAKE_QUANTIZED] = wrong.reason
            else:
                case.failures.append(wrong)
        else:
            usable.append(reference)
    plain = is_plain(case.capture, case.program)
    if not any(plain or r.name not in (FLOAT, FAKE_QUANTIZED) for r in usable) and not case.failures:
        case.failures.append(
            Verdict(
                Outcome.ERROR,
                Cause.REFERENCE,
                "there is no exact reference to judge the bits by" + _why_none(references),
                hint="quantize an operator whose CPU kernel the references do not know, so that it is delegated to the "
                "NPU, or leave it out ('corstone explain' lists what stayed on the CPU); a program of yours needs its "
                "TOSA graph; a reference that is missing can be installed",
            )
        )
    return usable


def _why_none(references: Sequence[ReferenceResult]) -> str:
    """What the independent model says of itself, else what all say that have a reason."""
    reasons = {r.name: r.message.splitlines()[0] for r in references if r.status is Status.UNAVAILABLE and r.message}
    return f": {reasons.get('tosa') or '; '.join(reasons.values())}" if reasons else ""


def _findings(case: _Case, findings: Sequence[GraphFinding]) -> None:
    """What was found in the graph: fatal findings fail, others are notes."""
    for finding in findings:
        if finding.fatal:
            case.failures.append(Verdict(Outcome.FAILED, finding.cause, finding.message, finding.hint))
        else:
            case.notes.append(finding.message)


def _spoilt(case: _Case, accuracy: Sequence[Accuracy], domain: Domain) -> None:
    """In-domain inputs that are over budget because their code stands for a value outside the domain.

    Where the graph quantizes again before the operator such a code is harmless, so the code alone is no finding.
    """
    qparams = case.program.input_qparams[0] if len(case.program.input_qparams) == 1 else None
    if qparams is None or not (spoilt := spoilt_codes(domain, qparams)).size:
        return
    for i, result in enumerate(accuracy):
        view = case.view(i)
        if view is None or view.codes is None:
            continue
        over = result.judged & (result.error > result.allowed)
        if (hit := np.intersect1d(spoilt, view.codes[over])).size:
            case.failures.append(Verdict(Outcome.FAILED, Cause.OUT_OF_DOMAIN, *words.spoilt(hit, domain, qparams)))


def _bits(case: _Case, reference: ReferenceResult) -> None:
    for i, (expected, got) in enumerate(zip(reference.outputs, case.device, strict=True)):
        comparison = compare_bits(reference.name, i, expected, got, case.qparams[i], case.view(i))
        case.comparisons.append(comparison)
        if not comparison.passed:
            case.failures.append(
                Verdict(Outcome.FAILED, Cause.BITS, words.bits(comparison), words.bits_hint(comparison))
            )


def _limits(case: _Case, usable: Sequence[ReferenceResult], bound: Bound | None) -> Limits | None:
    """What the elements' own codes allow; None where the network is not that operator, or has no float answer."""
    reference = next((r for r in usable if r.name == FLOAT), None)
    view = case.view(0) if bound is not None and len(case.device) == 1 else None
    if bound is None or reference is None or view is None:
        return None
    return limits_where(bound, view.values, reference.outputs[0].reshape(-1))


def _towards_pole(reference: ReferenceResult, limits: Limits) -> ReferenceResult:
    (values,) = reference.outputs
    return replace(reference, outputs=(limits.towards_pole(values.reshape(-1)).reshape(values.shape),))


def _accuracy(
    case: _Case,
    usable: Sequence[ReferenceResult],
    budgets: Sequence[Budget],
    domain: Domain | None,
    limits: Limits | None = None,
) -> list[Accuracy]:
    reference = next((r for r in usable if r.name == FLOAT), None)
    if reference is None:
        case.notes.append("accuracy was not judged: there is no float reference")
        return []
    results = []
    for i, (expected, got) in enumerate(zip(reference.outputs, case.device, strict=True)):
        qparams = case.qparams[i]
        chosen = list(budgets)
        if is_plain(case.capture, case.program):
            qparams, chosen = steps_of(expected), chosen or [PLAIN_BUDGET]
        if not chosen and qparams is not None:
            chosen = [default_budget(qparams.qmin, qparams.qmax)]
        result = compare_accuracy(i, expected, got, qparams, case.view(i), chosen, case.inside(i, domain), limits)
        results.append(result)
        case.comparisons.append(result.comparison)
        if not result.comparison.passed:
            case.failures.append(
                Verdict(
                    Outcome.FAILED,
                    Cause.ACCURACY,
                    words.accuracy(result.comparison),
                    words.accuracy_hint(result, case.view(i)),
                )
            )
    return results


_CAUSES = (Cause.SHAPE, Cause.BITS, Cause.WRONG_TABLE, Cause.OUT_OF_DOMAIN, Cause.ACCURACY)
_UNPREDICTABLE = (Cause.SHAPE, Cause.OUT_OF_DOMAIN, Cause.BITS, Cause.WRONG_TABLE, Cause.ACCURACY)


def _decide(
    case: _Case,
    usable: Sequence[ReferenceResult],
    accuracy: Sequence[Accuracy],
    stimulus: str,
) -> Verdict:
    answers: dict[str, Sequence[Array]] = {r.name: r.outputs for r in usable} | {"device": case.device}
    if FAKE_QUANTIZED not in answers and (made := _fake_quantized(case)) is not None:
        answers[FAKE_QUANTIZED] = [made]
    if (stream := _stream(case)) is not None:
        answers[STREAM] = stream
    if lacking := _lacking(case, answers):
        case.notes.append(lacking)
    dtypes = [a.dtype for a in case.device]
    stages = stage_distances(answers, case.qparams, dtypes)
    first = _explained(case, answers, accuracy)
    evidence = dict(case.capture.evidence) | words.quantization(case.program)
    if first:
        evidence["first difference"] = first
    common = {"comparisons": tuple(case.comparisons), "stages": stages, "evidence": evidence}
    if not case.failures:
        reason = words.passed(case.comparisons, stimulus)
        return Verdict(Outcome.PASSED, Cause.NONE, reason, notes=tuple(case.notes), **common)  # type: ignore[arg-type]
    order = _UNPREDICTABLE if case.unpredictable else _CAUSES
    ranked = sorted(
        case.failures, key=lambda v: (v.outcome.severity, order.index(v.cause) if v.cause in order else len(order))
    )
    worst, others = ranked[0], ranked[1:]
    # Two references that agree say the same thing of a wrong device: once is enough.
    others = [v for v in others if v.cause is not Cause.BITS or worst.cause is not Cause.BITS]
    notes = [*case.notes, *(f"also {v.cause}: {v.reason}" for v in others)]
    return Verdict(
        worst.outcome,
        worst.cause,
        worst.reason,
        worst.hint,
        first_difference="; ".join(filter(None, (_first_difference(case, answers, accuracy), first))),
        notes=tuple(dict.fromkeys(notes)),
        **common,  # type: ignore[arg-type]
    )


def _first_difference(case: _Case, answers: dict[str, Sequence[Array]], accuracy: Sequence[Accuracy]) -> str:
    """The stage, in words, at which the answer first went wrong; bits before accuracy, since they say more."""
    exact = {c.reference: c for c in case.comparisons if c.exact and not c.passed}
    if exact:
        return words.disagreement(exact, {c.reference for c in case.comparisons if c.exact and c.passed})
    for i, result in enumerate(accuracy):
        if result.comparison.passed or not result.comparison.worst:
            continue
        index = result.comparison.worst[0].index
        at = int(np.ravel_multi_index(index, case.device[i].shape)) if index else 0
        values = {name: outputs[i] for name, outputs in answers.items()}
        stage = first_over_budget(values, at, float(result.allowed[at]), case.qparams[i], case.device[i].dtype)
        if stage:
            return words.left_budget(stage, answers)
    return ""


def _fake_quantized(case: _Case) -> Array | None:
    """The stage between float and TOSA, where it can be had without torch."""
    from corstone.judge.fake import fake_quantized

    try:
        return fake_quantized(case.program, case.inputs)
    except (HarnessError, OSError, ValueError, KeyError, IndexError):
        return None  # a program from elsewhere may lack what this takes; the stage is then left out


def _stream(case: _Case) -> Sequence[Array] | None:
    """What the command stream gives; None, and the reason kept, where it is not to be had.

    On the emulator the NPU model has run it: while the bits are those of every exact reference, its answer is the
    device's. Otherwise it is run here, on the inputs of the capture.
    """
    if case.capture.executor.kind == "host":
        case.lacking[STREAM] = "a host target has none"
        return None
    exact = [c for c in case.comparisons if c.exact]
    if case.capture.executor.kind == "emulator" and exact and all(c.passed for c in exact):
        return case.device
    from corstone.judge.first import run_stream

    if not case.inputs:
        case.lacking[STREAM] = "the inputs are not there"
        return None
    case.walked = run_stream(case.program, case.inputs)
    if isinstance(case.walked, str):
        case.lacking[STREAM] = case.walked
        return None
    outputs = case.walked.outputs
    if [x.shape for x in outputs] != [x.shape for x in case.device]:
        case.lacking[STREAM] = "it gives outputs of other shapes here"
        return None
    return outputs


def _lacking(case: _Case, answers: Collection[str]) -> str:
    """The note that names the stages without a distance, and why; "" when all are there."""
    if is_plain(case.capture, case.program):
        return "a plain graph has two stages, float and device: nothing is quantized or lowered to TOSA"
    missing = [name for name in (FLOAT, FAKE_QUANTIZED, STREAM) if name not in answers]
    if not set(answers) & set(EXACT):
        missing.insert(-1, "tosa")
    reasons = [f"{name} ({case.lacking.get(name) or 'it is not among the references'})" for name in missing]
    return f"stages without a distance: {'; '.join(reasons)}" if reasons else ""


def _explained(case: _Case, answers: Mapping[str, Sequence[Array]], accuracy: Sequence[Accuracy]) -> str:
    """The first step that moved the worst element, with its cause by name; "" when nothing can be said."""
    from corstone.judge.first import explain_accuracy, explain_bits, explain_domain

    try:
        wrong = next((c for c in case.comparisons if c.exact and not c.passed and c.worst), None)
        if wrong is not None:
            at = _flat(case, wrong.output, wrong.worst[0].index)
            return str(explain_bits(case.program, case.inputs, case.device, wrong.output, at, case.walked))
        if any(v.cause is Cause.OUT_OF_DOMAIN for v in case.failures) and (
            spoilt := explain_domain(case.program, case.inputs)
        ):
            return str(spoilt)
        for i, result in enumerate(accuracy):
            if not result.comparison.worst:
                continue
            at = _flat(case, i, result.comparison.worst[0].index)
            values = {
                name: float(saturated(real_values(answers[name][i].reshape(-1)[at : at + 1], q), q)[0])
                for name in ORDER
                if name in answers and name != STREAM and i < len(answers[name])
                for q in [case.qparams[i]]
            }
            allowed = 1.0 if result.comparison.passed else min(1.0, float(result.allowed[at]))
            if found := explain_accuracy(case.program, case.inputs, values, at, allowed, i):
                return str(found)
    except (HarnessError, OSError, ValueError, KeyError, IndexError) as error:
        case.notes.append(f"where it differs first was not found: {type(error).__name__}: {error}")
    return ""


def _flat(case: _Case, output: int, index: tuple[int, ...]) -> int:
    return int(np.ravel_multi_index(index, case.device[output].shape)) if index else 0
