"""Many fuzz cases in a row: counts by target and outcome, and every difference kept as a stored case.

A kept case needs no compiler: it is the stream, the weights, the inputs and what the reference answered. Leaves out
drawing and comparing (``networks``, ``differential``).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from corstone.emulator.npu.fuzz.compiler import CompileFailed, Compiler
from corstone.emulator.npu.fuzz.differential import Outcome, mode_of, reference, run_case
from corstone.emulator.npu.fuzz.networks import draw
from corstone.emulator.npu.fuzz.store import StoredCase, load, save


@dataclass
class Counts:
    """What became of the cases: by (target, kind), why some could not be judged, what the equal ones executed."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, case: Outcome) -> None:
        """Count a case."""
        self.outcomes[case.target, "compiler's" if case.known else case.kind] += 1
        self.known[case.known] += bool(case.known)
        if case.kind == "equal":
            self.operations.update(case.operations)
        elif not case.known and case.detail:
            self.reasons[f"{case.kind}: {case.detail.splitlines()[0][:120]}"] += 1

    def total(self, kind: str) -> int:
        """Cases of a kind over all targets."""
        return sum(n for (_, k), n in self.outcomes.items() if k == kind)

    def lines(self) -> list[str]:
        """The counts as text."""
        kinds = sorted({kind for _, kind in self.outcomes})
        rows = [f"{'target':18}" + "".join(f"{kind:>15}" for kind in kinds)]
        rows += [
            f"{target:18}" + "".join(f"{self.outcomes[target, kind]:15}" for kind in kinds)
            for target in sorted({target for target, _ in self.outcomes})
        ]
        rows.append(f"{'all':18}" + "".join(f"{self.total(kind):15}" for kind in kinds))
        rows += [f"{count:6} {reason}" for reason, count in self.reasons.most_common(12)]
        rows.append(f"the compiler's: {dict((+self.known).most_common())}")
        rows.append(f"operations in equal cases: {dict(self.operations.most_common())}")
        rows.append(f"{sum(self.outcomes.values())} cases in {self.seconds:.0f} s")
        return rows


def run(
    seeds: range, targets: Sequence[str], seconds: float, keep: Path | None, show: Callable[[Outcome], None]
) -> Counts:
    """Run the cases of ``seeds``, targets in turn, for at most ``seconds``.

    Cases that differ or stop, and are not the compiler's, are handed to ``show`` and stored in ``keep``.
    """
    counts = Counts()
    began = time.monotonic()
    with Compiler() as compiler:
        for seed in seeds:
            counts.seconds = time.monotonic() - began
            if counts.seconds > seconds:
                break
            case = run_case(seed, targets[seed % len(targets)], compiler)
            counts.add(case)
            if case.kind in ("different", "stopped") and not case.known:
                show(case)
                if keep is not None:
                    store(case, compiler, keep)
    return counts


def store(case: Outcome, compiler: Compiler, path: Path) -> None:
    """Add a case to a file of stored cases."""
    network = draw(case.seed, case.target.split("-")[1].upper())
    expected = reference(network)
    if expected is None:
        return
    try:
        blob = compiler.compile(network.graph, case.target, *mode_of(case.seed, case.target))
    except CompileFailed:
        return
    name = f"seed {case.seed} {case.target} {'+'.join(case.operators)}"
    inputs, outputs = ([np.ascontiguousarray(x).tobytes() for x in side] for side in (network.inputs, expected))
    old = [kept for kept in load(path) if kept.name != name] if path.is_file() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    save(path, [*old, StoredCase(name, blob, tuple(inputs), tuple(outputs))])
