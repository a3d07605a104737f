"""The sentences of a verdict. No decision is made here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from corstone.judge.accuracy import Accuracy
from corstone.judge.codes import dequantize
from corstone.judge.domain import Domain
from corstone.judge.elements import InputView
from corstone.judge.verdict import Comparison, WorstElement
from corstone.program import Program, QParams


def number(value: float) -> str:
    """Six significant digits, integers without a point."""
    return f"{value:.6g}"


def lsb(value: float) -> str:
    """A distance in output steps."""
    return "infinitely far" if np.isinf(value) else f"{number(value)} LSB"


def element(worst: WorstElement) -> str:
    """Where, what went in, what was expected and what came."""
    place = f"at {list(worst.index)}" if worst.index else "the only element"
    source = ""
    if worst.input_value is not None:
        code = "" if worst.input_code is None else f" (code {worst.input_code})"
        source = f", input {number(worst.input_value)}{code}"
    return f"{place}{source}: expected {number(worst.expected)}, got {number(worst.got)}, {lsb(worst.distance_lsb)}"


def quantization(program: Program) -> dict[str, str]:
    """Scale, zero point and codes of each quantized input and output, as evidence: a code means nothing without."""
    named = [("input", program.input_qparams), ("output", program.output_qparams)]
    return {
        f"{kind} {i} quantization": f"scale {q.scale!r}, zero point {q.zero_point}, {q.dtype} codes {q.qmin}..{q.qmax}"
        for kind, parameters in named
        for i, q in enumerate(parameters)
        if q is not None
    }


def passed(comparisons: Sequence[Comparison], stimulus: str) -> str:
    """Why a case passed: what agreed with what, and how much of the budget is left."""
    exact = sorted({c.reference for c in comparisons if c.exact})
    count = sum({c.output: c.count for c in comparisons}.values())
    what = f" of stimulus {stimulus}" if stimulus else ""
    text = f"all {count} elements{what} equal {' and '.join(exact)}, bit for bit"
    judged = [c for c in comparisons if not c.exact]
    if not judged:
        return text
    worst = max(judged, key=lambda c: (c.budget_share or 0.0, c.max_lsb))
    text += f"; at most {number(worst.max_lsb)} LSB from float"
    return text if worst.budget_share is None else f"{text}, {worst.budget_share:.0%} of the budget"


def bits(comparison: Comparison) -> str:
    """How many elements differ from an exact reference, and the worst of them."""
    text = (
        f"output {comparison.output}: {comparison.differing} of {comparison.count} elements differ from "
        f"{comparison.reference}; worst {element(comparison.worst[0])}"
    )
    return f"{text} ({comparison.note})" if comparison.note else text


def bits_hint(comparison: Comparison) -> str:
    """Where to look when bits differ."""
    if comparison.note:
        return ""
    return (
        "compare the operation that is named with the graph ('corstone trace' shows its registers): where they say "
        "something else, the compiler is at fault, and another Vela or another shape may do; 'corstone bundle' hands "
        "the case over"
    )


def accuracy(comparison: Comparison) -> str:
    """Over which budget, where, and by how much."""
    region = max((r for r in comparison.regions), key=lambda r: r.share, default=None)
    where = "" if region is None else f" in region {region.name!r} of {number(region.budget_lsb)} LSB ({region.reason})"
    over = f"{comparison.differing} of {comparison.count} elements are over the budget{where}"
    return f"output {comparison.output}: {over}; worst {element(comparison.worst[0])}"


def accuracy_hint(result: Accuracy, view: InputView | None) -> str:
    """Clipping is the usual reason: say so when the worst inputs sit at one end of the stimulus."""
    over = np.flatnonzero(result.judged & (result.error > result.allowed))
    if result.pole * 2 > over.size:
        return (
            f"{result.pole} of these codes lie beside a table node at a pole or outside the domain, from which no line "
            "leads to the function: use --policy segmented, or a clamp that keeps inputs off it"
        )
    if result.clipped * 2 > over.size:
        return (
            f"float leaves the output's range at {result.clipped} of these elements: the network was calibrated on "
            "other inputs than it was judged on. Judge it on inputs like those (--stimulus example for its example "
            "inputs, -i FILE, or check(module, inputs)), or calibrate it on inputs like these (calibration_inputs)"
        )
    if view is None or not view.values.size:
        return "the stage table says which step lost it"
    ends = (view.values[over] == view.values.max()) | (view.values[over] == view.values.min())
    if over.size and ends.all():
        return "only the ends of the input range are over: their codes are clipped, or the table is wrong there"
    return "the stage table says which step lost it"


def spoilt(codes: npt.NDArray[np.int64], domain: Domain, qparams: QParams) -> tuple[str, str]:
    """Reason and hint for codes outside the domain."""
    values = dequantize(codes, qparams)
    shown = ", ".join(f"{int(c)} ({number(float(v))})" for c, v in list(zip(codes, values, strict=True))[:4])
    more = "" if codes.size <= 4 else f" and {codes.size - 4} more"
    one = codes.size == 1
    reason = (
        f"the input scale {number(qparams.scale)} (zero point {qparams.zero_point}) puts {'code' if one else 'codes'} "
        f"{shown}{more} outside the domain {domain}, yet inputs inside it are rounded to {'it' if one else 'them'}: "
        "the network has no answer there"
    )
    hint = (
        "a finding about the network, not about the device: use fixed quantization parameters (--policy fixed) or a "
        "clamp before the operator"
    )
    return reason, hint


def disagreement(failed: Mapping[str, Comparison], agreed: Collection[str]) -> str:
    """Bits: whom the device contradicts, and whether the references agree among themselves."""
    names = " and ".join(failed)
    if agreed:
        return (
            f"the references disagree: the device equals {' and '.join(sorted(agreed))} and differs from {names}; "
            f"the fault is in {names} or in how the graph was read"
        )
    counts = {(c.differing, c.max_lsb) for c in failed.values()}
    if len(failed) > 1 and len(counts) == 1:
        return f"device: {names} agree with each other, and the device differs from both"
    return f"device: it differs from {names}"


_STAGE = {
    "fake-quantized": "quantization: the fake-quantized network already has this error",
    "table": "lowering: the TABLE of the lowered graph has this error",
    "tosa": "lowering: the TOSA graph has this error",
    "vgf": "lowering: the graph as VGF has this error",
    "command stream": "compilation: the command stream has this error, the TOSA graph has not",
    "device": "device: every stage before it keeps the budget",
}


def left_budget(stage: str, answers: Collection[str]) -> str:
    """Accuracy: the first stage over budget; without a fake-quantized answer the step before is not told apart."""
    text = _STAGE[stage]
    if stage in ("table", "tosa") and "fake-quantized" not in answers:
        return (
            f"quantization or lowering: the {stage} reference has this error (no fake-quantized answer to tell apart)"
        )
    return f"{text}, the float network does not" if stage == "fake-quantized" else text
