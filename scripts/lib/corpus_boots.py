"""Captured programs through whole boots: what each board and runner made of them, one row a boot.

A program's answer is ``tosa-program-<n>.bin``, the TOSA reference model's through the whole program. Where there is
none it is ``expected-<n>.bin`` of the operator itself; a dequantized output then counts as equal when its codes are.
Leaves out the delegates alone (``scripts/npu_corpus``).
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from corstone.causes import Outcome
from corstone.emulator.npu.corpus import Case, cases
from corstone.errors import HarnessError
from corstone.formats.ndjson import append_row, read_rows
from corstone.formats.pte import KernelCall, PteFile, read_pte
from corstone.pipeline import run_program
from corstone.runners import RUNNERS, Runner
from corstone.targets import target

EQUAL, DIFFERENT, REFUSED, BROKEN = "equal", "different", "refused", "broken"
RESULTS = (EQUAL, DIFFERENT, REFUSED, BROKEN)
_DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor.out"


@dataclass(frozen=True)
class Row:
    """One boot. ``digest`` is the outputs' SHA-256; ``judged_by`` names the answer; ``reason`` says why not equal."""

    id: str
    target: str
    operator: str
    board: str
    runner: str
    result: str
    judged_by: str = ""
    reason: str = ""
    digest: str = ""
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str]:
        """What a row is the only one of."""
        return self.target, self.id, self.runner


def runners_of(target_name: str) -> list[Runner]:
    """The runners that the emulator can boot for a target, each of them to be tried."""
    product = target(target_name).product
    return [row for row in RUNNERS if product in row.products and "emulator" in row.providers]


def boots(folder: Path, *, every: int = 1, only: str = "") -> list[tuple[Case, Runner]]:
    """Each program with each runner of its board, in the order of the index."""
    chosen = [case for case in cases(folder) if only in f"{case.target}/{case.id}/{case.operator}"][::every]
    return [(case, runner) for case in chosen for runner in runners_of(f"ethos-{case.target.removeprefix('ethos-')}")]


def earlier(path: Path) -> list[Row]:
    """Rows of an earlier run."""
    return [Row(**row) for row in read_rows(path)]


def run(todo: Sequence[tuple[Case, Runner]], done: Sequence[Row], path: Path, work: Path) -> Iterator[Row]:
    """Boot what has no row yet; each row is written as soon as it is there."""
    known = {row.key for row in done}
    path.parent.mkdir(parents=True, exist_ok=True)
    for case, runner in todo:
        if (case.target, case.id, runner.name) in known:
            continue
        row = boot(case, runner, work)
        append_row(path, asdict(row))
        yield row


def boot(case: Case, runner: Runner, work: Path) -> Row:
    """One program on one runner, its outputs compared with the program's answer."""
    out = work / f"{case.id}-{runner.name}"
    began = time.monotonic()
    try:
        result, judged_by, reason, digest = _ran(case, runner, out)
    except HarnessError as error:
        result, judged_by, reason, digest = REFUSED, "", str(error).splitlines()[0], ""
    shutil.rmtree(out, ignore_errors=True)
    seconds = round(time.monotonic() - began, 3)
    board = runner.board
    return Row(case.id, case.target, case.operator, board, runner.name, result, judged_by, reason, digest, seconds)


def _ran(case: Case, runner: Runner, out: Path) -> tuple[str, str, str, str]:
    pte = case.folder / "program.pte"
    capture = run_program(pte, _numbered(case, "input"), out, provider="emulator", runner=runner.name)
    if capture.ending.outcome is not Outcome.PASSED:
        return BROKEN, "", f"{capture.ending.cause}: {capture.ending.message}", ""
    got = list(capture.output_bytes())
    digest = hashlib.sha256(b"".join(got)).hexdigest()
    judged_by = "tosa-program" if _numbered(case, "tosa-program") else "expected"
    want = [path.read_bytes() for path in _numbered(case, judged_by)]
    reason = _difference(read_pte(pte), got, want, by_codes=judged_by == "expected")
    return DIFFERENT if reason else EQUAL, judged_by, reason, digest


def _difference(pte: PteFile, got: Sequence[bytes], want: Sequence[bytes], *, by_codes: bool) -> str:
    if not want or len(got) != len(want):
        return f"{len(got)} outputs came, {len(want)} answers are there"
    for number, (mine, answer) in enumerate(zip(got, want, strict=True)):
        if mine == answer or (by_codes and _same_codes(pte, number, mine, answer)):
            continue
        wrong = sum(a != b for a, b in zip(mine, answer, strict=False))
        return f"output {number}: {wrong} of {len(answer)} bytes differ"
    return ""


def _same_codes(pte: PteFile, number: int, mine: bytes, answer: bytes) -> bool:
    index = pte.outputs[number]
    produced = {step.args[-1]: step for step in pte.instructions if isinstance(step, KernelCall)}
    step = produced.get(index)
    if step is None or step.op != _DEQUANTIZE or len(mine) != len(answer):
        return False
    scale = float(str(pte.values[step.args[1]].value))
    values = [np.frombuffer(data, pte.tensor(index).dtype).astype(np.float64) / scale for data in (mine, answer)]
    return bool(np.array_equal(np.rint(values[0]), np.rint(values[1])))


def _numbered(case: Case, stem: str) -> list[Path]:
    return [case.folder / f"{stem}-{n}.bin" for n in range(len(list(case.folder.glob(f"{stem}-[0-9]*.bin"))))]


def summary(rows: Sequence[Row]) -> list[str]:
    """A Markdown table by board and runner, the reasons of what did not run, and the runners against each other."""
    lines = [
        "| programs | board | runner | booted | equal | different | refused | broken |",
        "|---|---|---|" + "--:|" * 5,
    ]
    counts: Counter[tuple[str, str, str]] = Counter((row.target, row.board, row.runner) for row in rows)
    for key in sorted(counts):
        mine = [row.result for row in rows if (row.target, row.board, row.runner) == key]
        booted = len(mine) - mine.count(REFUSED)
        cells = [booted, *(mine.count(result) for result in RESULTS)]
        lines.append(f"| {key[0]} ({len(mine)}) | {key[1]} | {key[2]} | " + " | ".join(map(str, cells)) + " |")
    lines.append("")
    both, other = between(rows)
    lines.append(f"Programs that two runners of a board both ran: {both}; with other bits: {len(other)}.")
    lines += [f"- {name}" for name in other]
    reasons: Counter[tuple[str, str, str]] = Counter(
        (row.runner, row.result, row.reason) for row in rows if row.result != EQUAL
    )
    lines += [f"- {n} x {runner}, {result}: {reason}" for (runner, result, reason), n in reasons.most_common()]
    return lines


def between(rows: Sequence[Row]) -> tuple[int, list[str]]:
    """How many programs ran on several runners, and those whose outputs differ between them."""
    digests: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.digest:
            digests.setdefault((row.target, row.id), []).append(row.digest)
    several = {name: found for name, found in digests.items() if len(found) > 1}
    return len(several), ["/".join(name) for name, found in several.items() if len(set(found)) > 1]
