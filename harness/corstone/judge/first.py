"""Where the answer differs first, and why, by name: float -> fake-quantized -> TOSA -> command stream -> device.

For one element (the worst) the first step is looked for that moves it further than it may; then what is known of that
step names the cause. A network of one operator is explained from its table, entry by entry. In a larger one the guard's
worst finding stands for the quantization, and for other bits the program's command stream is run on the NPU model here:
when it gives what TOSA gives, the device is at fault; when not, the first feature map that is not its TOSA tensor names
the operation. Leaves out the distances (``stages``).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy.finding import Kind, Severity
from corstone.accuracy.guard import guard_program, guard_table, reachable_codes
from corstone.accuracy.tables import TableUse, exact_entries, expected_entries, values_of
from corstone.errors import HarnessError
from corstone.judge.codes import quantize
from corstone.judge.fake import exact_codes, one_operator
from corstone.judge.stages import STREAM
from corstone.program import Program, QParams
from corstone.quantize.domains import UNARY, unary

if TYPE_CHECKING:
    from corstone.looking.walk import Walk

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
_TIE = 1e-4
_SHARE = 0.1
"""A step of less than this share of the largest is not what made the answer wrong, even if it came first."""


class Why(StrEnum):
    """Why a step moved the answer."""

    INPUT_CLIPPED = "input clipped"
    OUTPUT_CLIPPED = "output clipped"
    CODE_OUTSIDE = "code outside the domain"
    NAN = "NaN mapped to a code"
    INFINITY = "infinity mapped to a code"
    TRUNCATED = "table truncated"
    CONSTANT = "table constant"
    WRONG_ENTRY = "wrong table entry"
    WRONG_SCALE = "wrong scale"
    WRONG_OPERATOR = "wrong operator"
    INTERPOLATION = "interpolation"
    ROUNDING = "rounding"
    SCALE_TIE = "scale tie"
    DEVICE = "device fault"
    UNKNOWN = "not told apart"


@dataclass(frozen=True)
class First:
    """The step, the cause, and the sentence that says what was seen. ``index`` is in the output's shape."""

    stage: str
    why: Why
    index: tuple[int, ...]
    detail: str

    def __str__(self) -> str:
        place = f" at {list(self.index)}" if self.index else ""
        return f"{self.stage}: {self.why}{place}: {self.detail}"


_BY_KIND = {
    Kind.CODE_OUTSIDE: Why.CODE_OUTSIDE,
    Kind.OBSERVED_OUTSIDE: Why.CODE_OUTSIDE,
    Kind.NODE_OUTSIDE: Why.NAN,
    Kind.NAN_ENTRY: Why.NAN,
    Kind.INFINITE_ENTRY: Why.INFINITY,
    Kind.TRUNCATED: Why.TRUNCATED,
    Kind.DEGENERATE: Why.TRUNCATED,
    Kind.CONSTANT: Why.CONSTANT,
    Kind.WRONG_ENTRY: Why.WRONG_ENTRY,
    Kind.FLAT_LAST: Why.WRONG_ENTRY,
    Kind.ENDPOINT: Why.WRONG_ENTRY,
    Kind.ENTRY_COUNT: Why.WRONG_ENTRY,
    Kind.END_CLIPPED: Why.INPUT_CLIPPED,
    Kind.OUTPUT_CLIPPED: Why.OUTPUT_CLIPPED,
    Kind.INTERPOLATION: Why.INTERPOLATION,
}


def explain_accuracy(
    program: Program,
    inputs: Sequence[Array],
    values: Mapping[str, float],
    at: int,
    allowed: float,
    output: int = 0,
) -> First | None:
    """The first step that moves element ``at`` (flat) by more than ``allowed`` output steps.

    Parameters
    ----------
    values: real value of the element at each stage, in the order of the stages, ``float`` first.
    allowed: where no step moves it that far, the largest step counts, and is rounding unless more is known.
    """
    scale = _scale(program, output)
    steps = [(b, abs(values[b] - values[a]) / scale) for a, b in itertools.pairwise(values)]
    if not steps:
        return None
    steps = [(name, np.inf if np.isnan(size) else size) for name, size in steps]
    largest = max(steps, key=lambda s: s[1])
    stage = next((n for n, size in steps if size > allowed and size >= _SHARE * largest[1]), largest[0])
    size = dict(steps)[stage]
    if not size:
        return None
    index = tuple(int(i) for i in np.unravel_index(at, program.outputs[output].shape or (1,)))
    moved = f"{_number(size)} LSB"
    use = one_operator(program)
    # Without an exact answer before it, the device may well give what the lowered graph means.
    alone = stage == "device" and set(values) <= {"float", "fake-quantized", "device"}
    if stage == "device" and not alone:
        return First(
            "device", Why.DEVICE, index, f"the step from {steps[-2][0] if len(steps) > 1 else 'float'}, {moved}"
        )
    if use is None or not inputs or inputs[0].dtype.kind != "f":
        return _by_guard(program, stage, index, moved)
    x = float(inputs[0].reshape(-1)[at])
    given = program.input_qparams[0] if program.input_qparams else None
    why, detail = _element(use, given, x, stage, "fake-quantized" not in values)
    name = "quantization" if stage == "fake-quantized" else "lowering or device" if alone else "lowering (TOSA)"
    if why in (Why.INPUT_CLIPPED, Why.OUTPUT_CLIPPED, Why.CODE_OUTSIDE):
        name = "quantization"
    return First(name, why, index, f"{detail}; {moved}")


def explain_domain(program: Program, inputs: Sequence[Array]) -> First | None:
    """The first input inside the domain whose code stands for a value outside it; None when there is none.

    Float has no value to compare with there when the stimulus is codes: such an element is in no comparison.
    """
    use = one_operator(program)
    if use is None or use.function is None or use.input is None or len(inputs) != 1 or inputs[0].dtype.kind != "f":
        return None
    x = inputs[0].reshape(-1)
    given = program.input_qparams[0] if program.input_qparams else None
    values = x if given is None else values_of(quantize(x, given), given).astype(np.float32)
    codes = quantize(values, use.input)
    first, last = reachable_codes(use.function, use.input)
    spoilt = np.isnan(exact_codes(use, codes)) & (codes >= first) & (codes <= last)
    if not spoilt.any():
        return None
    at = int(np.flatnonzero(spoilt)[0])
    detail = (
        f"inputs inside the domain {use.function.domain} become code {codes[at]}, which stands for "
        f"{float(values_of([codes[at]], use.input)[0]):.7g}: {use.operator} is NaN there, stored as a code"
    )
    index = tuple(int(i) for i in np.unravel_index(at, program.outputs[0].shape or (1,)))
    return First("quantization", Why.CODE_OUTSIDE, index, detail)


def run_stream(program: Program, inputs: Sequence[Array], feature_maps: bool = True) -> Walk | str:
    """The program's command stream on the NPU model here, or why it does not run."""
    from corstone.formats.pte import read_pte
    from corstone.looking.walk import walk

    try:
        return walk(read_pte(program.pte), inputs, feature_maps)
    except (HarnessError, OSError, ValueError) as error:
        why = error.message if isinstance(error, HarnessError) else error
        return f"the stream does not run on the NPU model here: {why}"


def explain_bits(
    program: Program,
    inputs: Sequence[Array],
    device: Sequence[Array],
    output: int,
    at: int,
    walked: Walk | str | None = None,
) -> First:
    """Why the device's bits are not TOSA's, by its command stream on the NPU model here (``walked``, or run now).

    The model's bits are the device's, or not TOSA's: the stream is at fault, and ``stream`` names the operation.
    They are TOSA's: the device is. A stream that does not run here leaves both open.
    """
    from corstone.judge.stream import wrong_operation

    index = tuple(int(i) for i in np.unravel_index(at, program.outputs[output].shape or (1,)))
    walked = run_stream(program, inputs) if walked is None else walked
    if isinstance(walked, str):
        return First(f"{STREAM} or device", Why.UNKNOWN, index, walked)
    model = walked.outputs[output]
    found = wrong_operation(program, walked)
    if model.shape == device[output].shape and model.tobytes() == device[output].tobytes():
        why, what = found or (
            Why.UNKNOWN,
            "each delegate gives what its TOSA graph gives: what runs around them differs",
        )
        return First(STREAM, why, index, f"the NPU model gives the device's bits on this stream; {what}")
    other = int(np.count_nonzero(model.reshape(-1) != device[output].reshape(-1)))
    if found:
        why, what = found
        detail = f"{what}; and {other} elements differ from the device: the stream reads what it has not written"
        return First(STREAM, why, index, f"{detail}, or the device is at fault, too")
    detail = f"the same command stream gives other bits on the NPU model here ({other} elements differ from the device)"
    return First("device", Why.DEVICE, index, f"{detail}, and they are those of the TOSA graph")


def _by_guard(program: Program, stage: str, index: tuple[int, ...], moved: str) -> First:
    """A network of several operators: the worst that the guard finds about any of its tables."""
    name = "quantization" if stage == "fake-quantized" else "quantization or lowering"
    try:
        findings = guard_program(program).findings
    except (HarnessError, OSError, ValueError):
        findings = ()
    worst = next((f for f in findings if f.severity is not Severity.NOTE and f.kind in _BY_KIND), None)
    if worst is None:
        return First(
            name, Why.UNKNOWN, index, f"several operators, and the guard finds nothing in their tables; {moved}"
        )
    return First(name, _BY_KIND[worst.kind], index, f"{worst.table}: {worst.message}; {moved}")


def _element(use: TableUse, given: QParams | None, x: float, stage: str, both: bool) -> tuple[Why, str]:
    """Why one element of a one-operator network moved; ``both``: quantization and lowering are one step here."""
    assert use.input is not None
    value = x if given is None else float(values_of(quantize(np.array([x], np.float32), given), given)[0])
    code = int(quantize(np.array([value], np.float32), use.input)[0])
    if stage == "fake-quantized" or both:
        found = _quantization(use, x, code)
        if found[0] is not Why.ROUNDING or not both:
            return found
    return table_fault(use) or _entry(use, code)


def _quantization(use: TableUse, x: float, code: int) -> tuple[Why, str]:
    assert use.input is not None
    assert use.output is not None
    assert use.function is not None
    given, output = use.input, use.output
    value = float(values_of([code], given)[0])
    shown = f"input {x:.7g} becomes code {code}, which stands for {value:.7g}"
    domain = use.function.domain
    if code in (given.qmin, given.qmax) and abs(x - value) > 0.5001 * given.scale:
        return Why.INPUT_CLIPPED, shown
    exact = float(exact_codes(use, np.array([code]))[0])
    if np.isinf(exact):
        return Why.INFINITY, f"{shown}, where {use.operator} is infinite"
    if np.isnan(exact):
        inside = bool(domain.holds(np.array([x]))[0])
        name = Why.CODE_OUTSIDE if inside else Why.NAN
        return name, f"{shown}, outside the domain {domain} of {use.operator}: NaN, stored as a code"
    over = max(exact - output.qmax, output.qmin - exact)
    if over > 0.5:
        return Why.OUTPUT_CLIPPED, f"{use.operator} of code {code} is {over:.4g} steps beyond the output's range"
    if abs(abs(exact - np.floor(exact)) - 0.5) < _TIE:
        return Why.SCALE_TIE, f"{shown}; its answer lies half way between two output codes"
    return Why.ROUNDING, f"{shown}: {_rounded(use, x, value, exact)}"


def _rounded(use: TableUse, x: float, value: float, exact: float) -> str:
    """What rounding the input to ``value`` and the answer ``exact`` (output codes) to a code each move."""
    assert use.input is not None
    assert use.output is not None
    assert use.function is not None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        unrounded = float(use.function(np.array([x]))[0]) / use.output.scale + use.output.zero_point
    step = f"the input moves by {abs(x - value) / use.input.scale:.2g} of its steps"
    if not np.isfinite(unrounded):
        return f"{step}, from where {use.operator} has no finite value"
    moved, last = abs(unrounded - exact), abs(exact - np.rint(exact))
    return f"{step}, which {use.operator} makes {moved:.2g} output steps; rounding the output adds at most {last:.2g}"


def table_fault(use: TableUse) -> tuple[Why, str] | None:
    """What is wrong with a table as a whole: constant, truncated, of another operator, or at another scale."""
    for finding in guard_table(use):
        if finding.kind in (Kind.CONSTANT, Kind.TRUNCATED, Kind.ENTRY_COUNT) and finding.severity is Severity.ERROR:
            return _BY_KIND[finding.kind], finding.message
    known = np.isfinite(exact_entries(use))
    wanted, have = expected_entries(use)[known], use.entries[known]
    wrong = np.abs(wanted - have) > 1
    if wrong.mean() < 0.25:
        return None
    for name in UNARY:
        if name != use.operator and unary(name, ()) is not None:
            other = TableUse(
                use.delegate, use.tensor, use.constant, use.entries, use.bits, use.node, name, (), use.input, use.output
            )
            if np.abs(expected_entries(other) - use.entries).max() <= 1:
                return Why.WRONG_OPERATOR, f"the table of {use.operator} holds {name}"
    assert use.output is not None
    zero = use.output.zero_point
    free = (np.abs(have) < use.output.qmax) & (np.abs(wanted) < use.output.qmax)
    a, b = (wanted[free] - zero).astype(np.float64), (have[free] - zero).astype(np.float64)
    if a.any():
        ratio = float(a @ b / (a @ a))
        if abs(ratio - 1) > 1e-3 and np.abs(b - ratio * a).max() <= max(1.0, abs(ratio)):
            return Why.WRONG_SCALE, f"the entries are those of {use.operator} times {ratio:.4g}"
    return None


def _entry(use: TableUse, code: int) -> tuple[Why, str]:
    """What the entries behind one code explain."""
    at = [code + 128] if use.bits == 8 else [(code + 32768) >> 7]
    fraction = 0 if use.bits == 8 else code & 127
    if fraction:
        at.append(at[0] + 1)
    exact, wanted = exact_entries(use), expected_entries(use)
    kind = "entry" if use.bits == 8 else "node"
    for i in at:
        if abs(int(wanted[i]) - int(use.entries[i])) > 1 and np.isfinite(exact[i]):
            return Why.WRONG_ENTRY, f"{kind} {i} behind code {code} is {use.entries[i]}, expected {wanted[i]}"
        if np.isnan(exact[i]):
            return Why.NAN, f"{kind} {i} beside code {code} lies outside the domain: NaN, stored as {use.entries[i]}"
        if np.isinf(exact[i]):
            return Why.INFINITY, f"{kind} {i} beside code {code} is a pole: infinity, stored as {use.entries[i]}"
    if fraction:
        ends = ", ".join(str(int(use.entries[i])) for i in at)
        return Why.INTERPOLATION, f"code {code} lies {fraction}/128 between nodes {at[0]} and {at[1]} ({ends})"
    here = float(exact[at[0]])
    if abs(abs(here - np.floor(here)) - 0.5) < _TIE:
        return Why.SCALE_TIE, f"{kind} {at[0]} lies half way between two output codes"
    return Why.ROUNDING, f"{kind} {at[0]} behind code {code} is rounded"


def _scale(program: Program, output: int) -> float:
    qparams = program.output_qparams[output] if output < len(program.output_qparams) else None
    return 1.0 if qparams is None else qparams.scale


def _number(value: float) -> str:
    return "infinitely many" if np.isinf(value) else f"{value:.4g}"
