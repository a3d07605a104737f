"""The domain guard: looks at every TABLE of a lowered program before it runs, and says how each finding is repaired.

A table is compared with the operator it was made from, at every code and every node: which codes lie outside the
domain, which in-domain codes are spoilt by a node outside it, which entries came from NaN or infinity, and how far
interpolation and clipping take in-domain answers from the float64 function. Without an origin (a bare TOSA graph) the
table's own shape is looked at. Needs no torch. Leaves out running anything: codes of calibration inputs are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from corstone.accuracy import repair
from corstone.accuracy.finding import Finding, GuardReport, Kind, Severity, worst_first
from corstone.accuracy.tables import (
    ENTRIES_8,
    NODES_16,
    STATED,
    TableUse,
    evaluate,
    exact_entries,
    expected_entries,
    table_codes,
    tables_of,
    values_of,
)
from corstone.causes import Cause
from corstone.judge.codes import quantize
from corstone.judge.finding import GraphFinding
from corstone.program import Program, QParams
from corstone.quantize.domains import REALS, Unary

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

FEWEST_BITS = 10
_BROKEN = frozenset({Kind.ENTRY_COUNT, Kind.WRONG_ENTRY, Kind.CONSTANT, Kind.TRUNCATED, Kind.FLAT_LAST, Kind.ENDPOINT})
"""Kinds that say the table itself is wrong, rather than what it is asked for."""
STEEP_LSB = 2.0
"""An int16 table whose answers are further than this from the function cannot follow it; rounding alone gives 1.0."""
CLIPPED_LSB = 1.0


@dataclass(frozen=True)
class _Look:
    """What every check needs of one table: its codes, their values, and which of them in-domain inputs can become."""

    use: TableUse
    function: Unary
    input: QParams
    output: QParams
    codes: Ints
    inside: Bools
    reachable: Bools
    hits: Ints | None

    def finding(
        self, kind: Kind, severity: Severity, message: str, fix: str, at: Bools, lsb: float | None = None
    ) -> Finding:
        """A finding about the codes of a mask [codes]."""
        where = np.flatnonzero(at)
        codes = (int(self.codes[where[0]]), int(self.codes[where[-1]]), int(where.size)) if where.size else None
        hits = None if self.hits is None else int(self.hits[at].sum())
        return Finding(kind, severity, self.use.label, self.use.operator, message, fix, codes, hits, lsb)


def guard_program(
    program: Program, calibration: Mapping[tuple[int, str], npt.NDArray[np.integer[Any]]] | None = None, name: str = ""
) -> GuardReport:
    """Look at every TABLE of a program.

    Parameters
    ----------
    calibration: codes that calibration inputs became at each table (``tensors.calibration_codes``).
    """
    uses = tables_of(program)
    findings: list[Finding] = []
    for use in uses:
        codes = None if calibration is None else calibration.get((use.delegate, use.tensor))
        findings += guard_table(use, codes)
    unknown = [use.label for use in uses if use.function is None and use.operator != STATED]
    notes = (f"no origin is known of {', '.join(unknown)}: only their shape was looked at",) if unknown else ()
    return GuardReport(name or program.network, tuple(use.label for use in uses), worst_first(findings), notes)


def broken_tables(program: Program) -> tuple[GraphFinding, ...]:
    """Tables that are not the operator's they were made from, whatever reads them: one finding each, for the judge.

    The device and the exact references answer alike from such a table, so no comparison of bits can see it.
    """
    broken = []
    for use in tables_of(program):
        found = list(_entry_count(use)) or list(_shape(use))
        if not found and (look := _looked(use, None)) is not None:
            found += _entries(look)
        for finding in [f for f in found if f.kind in _BROKEN and f.severity is Severity.ERROR][:1]:
            message = f"{finding.table}: {finding.kind}: {finding.message}"
            broken.append(GraphFinding(message, finding.repair, cause=Cause.WRONG_TABLE))
    return tuple(broken)


def guard_table(use: TableUse, calibration: npt.NDArray[np.integer[Any]] | None = None) -> tuple[Finding, ...]:
    """All findings about one table; ``calibration``: the input codes that were met, any shape."""
    broken = tuple(_entry_count(use))
    if broken:
        return broken
    found = list(_shape(use))
    look = _looked(use, calibration)
    if look is not None:
        for check in _CHECKS:
            found += check(look)
    return tuple(found)


def _looked(use: TableUse, calibration: npt.NDArray[np.integer[Any]] | None) -> _Look | None:
    """None where nothing is known of the table's origin."""
    if use.function is None or use.input is None or use.output is None:
        return None
    return _look(use, use.function, use.input, use.output, calibration)


def _entry_count(use: TableUse) -> Iterator[Finding]:
    wanted = ENTRIES_8 if use.bits == 8 else NODES_16
    if use.entries.size != wanted:
        off = " (N instead of N + 1)" if use.entries.size == wanted - 1 else ""
        yield Finding(
            Kind.ENTRY_COUNT,
            Severity.ERROR,
            use.label,
            use.operator,
            f"int{use.bits} TABLE has {use.entries.size} entries, expected {wanted}{off}",
            repair.REBUILD,
        )


def _shape(use: TableUse) -> Iterator[Finding]:
    """What the entries themselves show; tables whose nodes were stated may stand still on purpose."""
    if use.operator == STATED:
        return

    def finding(kind: Kind, message: str, fix: str, severity: Severity = Severity.WARNING) -> Finding:
        return Finding(kind, severity, use.label, use.operator, message, fix)

    span = int(use.entries.max() - use.entries.min())
    if span == 0:
        yield finding(Kind.CONSTANT, f"every entry is {int(use.entries[0])}", repair.RANGES, _constant_severity(use))
    elif use.bits == 16 and span < 1 << (FEWEST_BITS - 1):
        kept = _largest_shift(use)
        if kept:
            yield finding(
                Kind.TRUNCATED,
                f"entries span {span} codes, those of the function {span << kept}: {kept} low bits were shifted out",
                repair.REBUILD,
                Severity.ERROR,
            )
        else:
            yield finding(
                Kind.DEGENERATE,
                f"entries span {span} codes: only {span.bit_length()} of 16 bits are used",
                repair.OUTPUT_RANGE,
            )
    slopes = np.abs(np.diff(use.entries))
    if use.bits == 16 and slopes.max(initial=0) > 32767:
        at = int(slopes.argmax())
        yield finding(
            Kind.SLOPE,
            f"nodes {at} and {at + 1} differ by {int(slopes[at])}, which TOSA leaves undefined",
            repair.POLE,
            Severity.ERROR,
        )


def _constant_severity(use: TableUse) -> Severity:
    """A constant table is broken when the function is not constant over its codes."""
    if use.function is None or use.input is None or use.output is None:
        return Severity.WARNING
    wanted = expected_entries(use)
    return Severity.ERROR if int(wanted.max() - wanted.min()) > 1 else Severity.WARNING


def _largest_shift(use: TableUse) -> int:
    """By how many bits the entries look shifted down from what they should be; 0 when they do not."""
    if use.function is None or use.input is None or use.output is None:
        return 0
    wanted = expected_entries(use)
    return next((s for s in range(15, 0, -1) if np.array_equal(wanted >> s, use.entries) and (wanted >> s).any()), 0)


def _look(
    use: TableUse,
    function: Unary,
    given: QParams,
    output: QParams,
    calibration: npt.NDArray[np.integer[Any]] | None,
) -> _Look:
    codes = np.arange(given.qmin, given.qmax + 1)
    inside = function.domain.holds(values_of(codes, given)) & ~np.isin(values_of(codes, given), function.poles)
    first, last = reachable_codes(function, given)
    hits = None
    if calibration is not None:
        met = np.clip(np.asarray(calibration, np.int64).reshape(-1), given.qmin, given.qmax) - given.qmin
        hits = np.bincount(met, minlength=codes.size)
    return _Look(use, function, given, output, codes, inside, (codes >= first) & (codes <= last), hits)


def reachable_codes(function: Unary, given: QParams) -> tuple[int, int]:
    """First and last code that an input inside the domain can become."""
    domain = function.domain
    if domain == REALS:
        return given.qmin, given.qmax
    lo, hi = np.float32(domain.lo), np.float32(domain.hi)
    # The nearest float32 is as close to an open end as an input can come.
    lo = np.nextafter(lo, np.float32(np.inf)) if domain.lo_open else lo
    hi = np.nextafter(hi, np.float32(-np.inf)) if domain.hi_open else hi
    first, last = (int(c) for c in quantize(np.array([lo, hi], np.float32), given))
    return first, last


def _outside(look: _Look) -> Iterator[Finding]:
    """Codes outside the domain: reached by inputs inside it, by calibration inputs only, or by none."""
    domain = look.function.domain
    outside = ~look.inside & ~np.isin(values_of(look.codes, look.input), look.function.poles)
    spoilt = outside & look.reachable
    if spoilt.any():
        worst = look.codes[spoilt][0]
        yield look.finding(
            Kind.CODE_OUTSIDE,
            Severity.ERROR,
            f"inputs inside {domain} become {_range(look, spoilt)}, outside it at the scale {look.input.scale:.7g}; "
            f"the table answers {_answer(look, int(worst))} there",
            repair.for_domain(look.function, look.use.bits),
            spoilt,
        )
    rest = outside & ~look.reachable
    if rest.any():
        met = look.hits is not None and bool(look.hits[rest].any())
        yield look.finding(
            Kind.OBSERVED_OUTSIDE,
            Severity.WARNING if met else Severity.NOTE,
            f"the input's range reaches {_ends(look)}, outside {domain}: {_range(look, rest)} "
            f"{'were met by calibration inputs' if met else 'are met only by inputs outside the domain'}, and answer "
            f"{_answer(look, int(look.codes[rest][0]))}",
            repair.CLAMP.format(lo=f"{domain.lo:g}", hi=f"{domain.hi:g}"),
            rest,
        )


def _nodes(look: _Look) -> Iterator[Finding]:
    """int16: in-domain codes between a good node and one outside the domain."""
    if look.use.bits != 16:
        return
    bad = ~np.isfinite(exact_entries(look.use))
    left = (look.codes + 32768) >> 7
    between = (look.codes & 127) != 0
    touched = bad[left] | (between & bad[np.minimum(left + 1, NODES_16 - 1)])
    spoilt = touched & look.inside & look.reachable
    if spoilt.any():
        nodes = np.unique(np.concatenate([left[spoilt], left[spoilt & between] + 1]))
        nodes = nodes[bad[nodes]]
        error = _error(look)
        off = float(error[spoilt].max())
        yield look.finding(
            Kind.NODE_OUTSIDE,
            Severity.ERROR,
            f"{_counted(nodes, 'node')} at {_few(nodes * 128 - 32768)} outside {look.function.domain} or on a pole: "
            f"interpolation carries that into {_range(look, spoilt)}, off by up to {off:.4g} output steps",
            repair.for_nodes(look.function),
            spoilt,
            off,
        )


def _special(look: _Look) -> Iterator[Finding]:
    """Entries that came from NaN, and from infinity: the first are arbitrary, the second saturate."""
    exact = exact_entries(look.use)
    at = table_codes(look.use.bits)
    for kind, special, what in (
        (Kind.NAN_ENTRY, np.isnan(exact), "made from NaN, stored as {}: what NaN becomes is up to the host"),
        (Kind.INFINITE_ENTRY, np.isinf(exact), "made from infinity, stored as {}: saturation, right at a pole"),
    ):
        if not special.any():
            continue
        stored = np.unique(look.use.entries[special])
        mask = np.isin(look.codes, at[special])
        read = mask & look.reachable
        met = look.hits is not None and bool(look.hits[mask].any())
        severity = Severity.WARNING if met else Severity.NOTE
        severity = Severity.ERROR if kind is Kind.NAN_ENTRY and read.any() else severity
        yield look.finding(
            kind,
            severity,
            f"{_counted(at[special], 'entry', 'entries')} at {_few(at[special])} {what.format(_few(stored))}",
            repair.for_domain(look.function, look.use.bits),
            mask,
        )


def _entries(look: _Look) -> Iterator[Finding]:
    """Entries that are not what the builder should have written; one step is float32 against float64 at a tie."""
    wanted, have = expected_entries(look.use), look.use.entries
    known = np.isfinite(exact_entries(look.use))
    distance = np.abs(wanted - have)
    at = table_codes(look.use.bits)
    if look.use.bits == 16 and known[-2:].all():
        if have[-1] == have[-2] and distance[-1] > 1:
            yield _at_end(
                look, Kind.FLAT_LAST, f"nodes 511 and 512 are both {have[-1]}, node 512 should be {wanted[-1]}"
            )
        elif distance[-1] > 1:
            yield _at_end(look, Kind.ENDPOINT, f"node 512 is {have[-1]}, expected {wanted[-1]}: that of code 32768")
        distance[-1] = 0
    wrong = known & (distance > 1)
    if wrong.any() and not _largest_shift(look.use) and np.ptp(have):
        first = int(np.flatnonzero(wrong)[0])
        yield look.finding(
            Kind.WRONG_ENTRY,
            Severity.ERROR,
            f"{_counted(at[wrong], 'entry', 'entries')} at {_few(at[wrong])} not quantize(f(dequantize(code))): entry "
            f"{first} is {have[first]}, expected {wanted[first]}",
            repair.REBUILD,
            np.isin(look.codes, at[wrong]),
            float(distance[wrong].max()),
        )


def _at_end(look: _Look, kind: Kind, message: str) -> Finding:
    at = look.codes > 32640
    return look.finding(kind, Severity.ERROR, message, repair.REBUILD, at, float(_error(look)[at].max(initial=0.0)))


def _ends_of_domain(look: _Look) -> Iterator[Finding]:
    """Ends that no code stands for: an input there is clipped to the last code, and answered for that."""
    for name, end, opened in (
        ("lower", look.function.domain.lo, look.function.domain.lo_open),
        ("upper", look.function.domain.hi, look.function.domain.hi_open),
    ):
        if not np.isfinite(end) or opened or look.function.domain == REALS:
            continue
        code = int(quantize(np.array([end], np.float32), look.input)[0])
        value = float(values_of([code], look.input)[0])
        if not look.function.domain.holds(np.array([value])).all():
            continue
        off = abs(float(look.function(end)) - float(look.function(value))) / look.output.scale
        if off > CLIPPED_LSB:
            yield look.finding(
                Kind.END_CLIPPED,
                Severity.WARNING,
                f"the {name} end {end:g} becomes code {code}, which stands for {value:.7g}: {off:.1f} output steps",
                repair.for_ends(look.use.operator, look.use.bits),
                look.codes == code,
                off,
            )


def _clipped_output(look: _Look) -> Iterator[Finding]:
    """In-domain codes whose finite answer does not fit into the output's range."""
    exact = look.function(values_of(look.codes, look.input)) / look.output.scale + look.output.zero_point
    over = np.maximum(exact - look.output.qmax, look.output.qmin - exact)
    at = look.inside & np.isfinite(exact) & (over > CLIPPED_LSB)
    if at.any():
        off = float(over[at].max())
        yield look.finding(
            Kind.OUTPUT_CLIPPED,
            Severity.WARNING,
            f"the answers for {_range(look, at)} are beyond the output's range, by up to {off:.4g} output steps",
            repair.OUTPUT_RANGE,
            at,
            off,
        )


def _interpolation(look: _Look) -> Iterator[Finding]:
    """int16: in-domain codes with good nodes on both sides, whose answer is still far from the function."""
    if look.use.bits != 16:
        return
    bad = ~np.isfinite(exact_entries(look.use))
    left = (look.codes + 32768) >> 7
    good = look.inside & ~bad[left] & ~bad[np.minimum(left + 1, NODES_16 - 1)]
    error = np.where(good, _error(look), 0.0)
    at = error > STEEP_LSB
    if at.any():
        worst = int(error.argmax())
        yield look.finding(
            Kind.INTERPOLATION,
            Severity.WARNING,
            f"{_range(look, at)} off by up to {error[worst]:.4g} output steps (code {look.codes[worst]}): the table is "
            f"straight between its 513 nodes, the function is not",
            repair.SEGMENTED,
            at,
            float(error[worst]),
        )


_CHECKS: tuple[Callable[[_Look], Iterator[Finding]], ...] = (
    _outside,
    _nodes,
    _special,
    _entries,
    _ends_of_domain,
    _clipped_output,
    _interpolation,
)


def _error(look: _Look) -> npt.NDArray[np.float64]:
    """Distance of the device's answer to the function at every code, in output steps; NaN where it has no value."""
    exact = look.function(values_of(look.codes, look.input)) / look.output.scale + look.output.zero_point
    answers = np.clip(evaluate(look.use, look.codes), look.output.qmin, look.output.qmax)
    return np.asarray(np.abs(answers - np.clip(exact, look.output.qmin, look.output.qmax)))


def _answer(look: _Look, code: int) -> str:
    stored = int(np.clip(evaluate(look.use, [code])[0], look.output.qmin, look.output.qmax))
    return f"{float(values_of([stored], look.output)[0]):.4g} (code {stored})"


def _range(look: _Look, at: Bools) -> str:
    codes = look.codes[at]
    values = values_of(codes[[0, -1]], look.input)
    if codes.size == 1:
        return f"code {codes[0]} ({values[0]:.6g})"
    return f"{codes.size} codes from {codes[0]} ({values[0]:.6g}) to {codes[-1]} ({values[-1]:.6g})"


def _ends(look: _Look) -> str:
    ends = values_of([look.input.qmin, look.input.qmax], look.input)
    return f"from {ends[0]:.6g} to {ends[1]:.6g}"


def _counted(items: Ints, one: str, many: str = "") -> str:
    return f"{items.size} {one if items.size == 1 else many or one + 's'}"


def _few(items: Sequence[int] | Ints) -> str:
    listed = [str(int(i)) for i in items]
    return ", ".join(listed) if len(listed) <= 4 else f"{listed[0]}, {listed[1]}, ... {listed[-1]}"
