"""One swept case: every input code, and what each stage answers for it. From a capture folder; no board, no torch.

Stages are float (float64), fake-quantized, tosa and device, as real values by input code. Leaves out running
(``sweep``), drawing (``page``) and files (``tabular``).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy.tables import TableUse, expected_entries, tables_of, values_of
from corstone.capture import Capture
from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.judge.accuracy import error_lsb, saturated
from corstone.judge.bound import bound_of, limits_where
from corstone.judge.codes import quantize, real_values
from corstone.judge.fake import fake_quantized
from corstone.judge.reference import FAKE_QUANTIZED, FLOAT, load_references
from corstone.judge.structure import arrays
from corstone.program import Program, QParams
from corstone.quantize.domains import Unary
from corstone.reference import floating
from corstone.report.record import CaseRecord

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

STAGES = (FLOAT, FAKE_QUANTIZED, "tosa", "device")
WITHIN = (0.5, 1.0, 2.0, 8.0)
_ROUNDING = 1e-4
"""LSB: half a step exactly, seen through float32 outputs, still counts as within half a step."""


@dataclass(frozen=True)
class WorstCode:
    """One of the codes furthest from float, and what its answer was made of."""

    code: int
    x: float
    float_value: float
    device: float
    lsb: float
    made_of: str


@dataclass(frozen=True)
class Curve:
    """One case. ``codes`` int64 [N] ascending, ``x`` float64 [N]; ``values`` maps a stage to float64 [N].

    ``error`` is device against float in output steps [N], 0 where float has no value; ``judged`` says where it has one.
    Towards a pole of one operator float is the output range's end. ``cost`` has operations, Vela's cycles and bytes of
    the program; ``source`` is what it was lowered from.
    """

    record: CaseRecord
    input: QParams
    output: QParams
    codes: Ints
    x: Floats
    values: Mapping[str, Floats]
    error: Floats
    judged: npt.NDArray[np.bool_]
    tables: tuple[TableUse, ...]
    cost: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def title(self) -> str:
        """How pages call it."""
        r = self.record
        return f"{r.network} int{r.bits} {r.policy} {r.target}"

    @property
    def first_difference(self) -> str:
        """Step, element and cause of the worst element's error, of a passed case, too."""
        verdict = self.record.verdict
        return verdict.evidence.get("first difference", "") or verdict.first_difference

    @property
    def count(self) -> int:
        """Codes with a float value."""
        return int(self.judged.sum())

    def within(self, lsb: float) -> int:
        """How many judged codes are at most that far from float."""
        return int(((self.error <= lsb + _ROUNDING) & self.judged).sum())

    @property
    def max_lsb(self) -> float:
        """The largest distance to float, output steps."""
        return float(self.error.max(initial=0.0))

    @property
    def mean_lsb(self) -> float:
        """The mean distance over the judged codes."""
        return float(self.error[self.judged].mean()) if self.judged.any() else 0.0

    def worst(self, count: int = 10) -> tuple[WorstCode, ...]:
        """The codes furthest from float, worst first."""
        order = np.argsort(-self.error, kind="stable")[:count]
        return tuple(
            WorstCode(
                int(self.codes[i]),
                float(self.x[i]),
                float(self.values[FLOAT][i]),
                float(self.values["device"][i]),
                float(self.error[i]),
                self._made_of(int(self.codes[i])),
            )
            for i in order.tolist()
            if self.error[i] > 0
        )

    def at(self, x: float) -> tuple[float, float]:
        """What the device and float answer for a real input: those of the code that it becomes."""
        code = int(quantize(np.array([x], np.float32), self.input)[0])
        i = int(np.searchsorted(self.codes, code))
        return float(self.values["device"][i]), float(self.values[FLOAT][i])

    def _made_of(self, code: int) -> str:
        """The table entries behind a code's answer; segmented tables are many, and shown by their number."""
        if len(self.tables) != 1:
            return f"{len(self.tables)} tables"
        use = self.tables[0]
        if use.input is not None and use.input != self.input:
            # The program requantizes before its table: the code changes on the way.
            code = int(quantize(values_of([code], self.input).astype(np.float32), use.input)[0])
        if use.bits == 8:
            return f"entry {code + 128} = {use.entries[code + 128]}"
        node, fraction = (code + 32768) >> 7, code & 127
        left, right = int(use.entries[node]), int(use.entries[node + 1])
        return f"nodes {node}, {node + 1} = {left}, {right} at {fraction}/128"


def load_curve(record: CaseRecord) -> Curve:
    """The curve of a case that ran on the stimulus ``codes``.

    Raises
    ------
    ConfigError: it did not run, is not elementwise with quantized input and output, or its files are gone.
    """
    if not record.capture:
        raise ConfigError(f"{record.case_id} has no capture: {record.verdict.reason}", cause=record.verdict.cause)
    folder = Path(record.capture)
    program = Program.load(folder / "program.json")
    given, output = _one_in_one_out(program)
    capture = Capture.load(folder)
    if capture.ending.outcome.value != "PASSED":
        raise ConfigError(f"{record.case_id}: {capture.ending.message}", cause=capture.ending.cause)
    (inputs,) = arrays(capture.input_bytes(), program.inputs)
    (device,) = arrays(capture.output_bytes(), program.outputs)
    codes = np.arange(given.qmin, given.qmax + 1)
    first = _first_of_each(inputs, codes, given)
    values = {"device": real_values(device, output).reshape(-1)[first]}
    for reference in load_references(folder):
        if reference.name in STAGES and reference.outputs:
            values[reference.name] = real_values(reference.outputs[0].reshape(-1), output)[first]
    tables = tables_of(program)
    notes = []
    if FAKE_QUANTIZED not in values:
        try:
            values[FAKE_QUANTIZED] = _fake_quantized(program, inputs, output, first)
        except HarnessError as missing:
            notes.append(f"no fake-quantized curve: {missing.message}")
    if FLOAT not in values:
        raise ConfigError(f"{record.case_id} has no float reference", cause=Cause.REFERENCE)
    x = values_of(codes, given)
    bound = bound_of(program)
    limits = limits_where(bound, x, values[FLOAT])
    if bound is not None and limits is not None and limits.held.any():
        # Between both sides of a pole inside the domain there is no answer at all.
        sided = np.where(_between_sides(bound.function, x), np.nan, values[FLOAT])
        values[FLOAT] = np.where(np.isnan(sided), sided, limits.towards_pole(sided))
        notes.append("towards a pole float leaves the output's range: codes there are compared with the range's end")
    error, judged = distance(values[FLOAT], values["device"], output)
    ordered = {stage: values[stage] for stage in STAGES if stage in values}
    cost = program_cost(program)
    return Curve(
        *(record, given, output, codes, x, ordered, error, judged, tables), cost, tuple(notes), source=program.source
    )


def distance(exact: Floats, got: Floats, output: QParams) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Distance to float in output steps, 0 where float has no value; and where it has one."""
    judged = ~np.isnan(exact)
    error = error_lsb(saturated(exact, output), got, np.dtype(np.float32), output)
    return np.where(judged, error, 0.0), judged


def _between_sides(function: Unary, x: Floats) -> npt.NDArray[np.bool_]:
    """Inputs at a pole that the function reaches from below and from above."""
    inner = [pole for pole in function.poles if function.domain.lo < pole < function.domain.hi]
    return np.isin(x, inner)


def _one_in_one_out(program: Program) -> tuple[QParams, QParams]:
    one = len(program.inputs) == 1 and len(program.outputs) == 1
    elementwise = one and program.inputs[0].count == program.outputs[0].count
    if not elementwise or program.input_qparams[0] is None or program.output_qparams[0] is None:
        raise ConfigError(
            f"{program.network} cannot be swept: a sweep needs one quantized input and one quantized output with as "
            f"many elements, and each output element must depend on its input element alone",
            cause=Cause.UNSUPPORTED,
            hint="corstone check judges such a network on given or random inputs",
        )
    return program.input_qparams[0], program.output_qparams[0]


def _first_of_each(inputs: npt.NDArray[Any], codes: Ints, given: QParams) -> Ints:
    """Where in the stimulus each code is first, [N]."""
    met = quantize(inputs.reshape(-1), given)
    found, first = np.unique(met, return_index=True)
    if not np.array_equal(found, codes):
        raise ConfigError(
            f"the stimulus holds {found.size} of {codes.size} codes", hint="sweep with the stimulus 'codes'"
        )
    return np.asarray(first)


def _fake_quantized(program: Program, inputs: npt.NDArray[Any], output: QParams, first: Ints) -> Floats:
    """What the quantized graph computes: in numpy where it is one operator, else in torch (kept by content)."""
    answer = fake_quantized(program, [inputs])
    if answer is None:
        answer = floating.run(program, [inputs], FAKE_QUANTIZED)[0]
    return real_values(answer.reshape(-1), output)[first]


def program_cost(program: Program) -> dict[str, float]:
    """NPU operations, Vela's estimate of cycles, bytes of the program and of SRAM; what cannot be read is left out."""
    from corstone.emulator.npu.decode import decode

    cost: dict[str, float] = {}
    try:
        cost["bytes"] = program.pte.stat().st_size
        payloads = [read_vela(d.data).payload for d in read_pte(program.pte).ethos_u]
        decoded = [decode(p.stream, p.target.product) for p in payloads if p.target is not None]
        cost["operations"] = sum(_operations(d) for d in decoded)
    except (HarnessError, OSError, ValueError):
        pass
    for number in range(len(program.tosa)):
        summary = program.pte.parent / f"delegate-{number}.csv"
        if summary.is_file():
            with summary.open(newline="") as file:
                row = next(csv.DictReader(file), {})
            cost["cycles"] = cost.get("cycles", 0.0) + float(row.get("cycles_total") or 0)
            cost["sram_kib"] = max(cost.get("sram_kib", 0.0), float(row.get("sram_memory_used") or 0))
    return cost


def _operations(decoded: Any) -> int:
    """Operations on feature maps: what moves data, waits or stops does not count."""
    work = ("POOL", "ELEMENTWISE", "CONV", "DEPTHWISE", "RESIZE")
    return sum(decoded.row(int(i)).name in work for i in decoded.operations)


def wrong_entries(curve: Curve) -> tuple[str, ...]:
    """What is wrong with the entries of a curve's one table, beside those the builder should have written."""
    if len(curve.tables) != 1 or curve.tables[0].function is None or curve.tables[0].output is None:
        return ()
    use = curve.tables[0]
    differs = np.flatnonzero(np.abs(use.entries - expected_entries(use)) > 1)
    return tuple(f"entry {i}: {use.entries[i]}, expected {expected_entries(use)[i]}" for i in differs[:10].tolist())
