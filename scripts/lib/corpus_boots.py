"""Captured programs through whole boots: what each board and runner made of them, a row for each.

Programs of one target share boots of our runner; whatever goes wrong in one, its programs are booted alone.

A program's answer is ``tosa-program-<n>.bin``, the TOSA reference model's through the whole program. Where there is
none it is ``expected-<n>.bin`` of the operator itself; a dequantized output then counts as equal when its codes are.
Leaves out the delegates alone (``scripts/npu_corpus``).
"""

from __future__ import annotations

import hashlib
import multiprocessing
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from corstone.capture import Capture
from corstone.causes import Outcome
from corstone.emulator.npu.corpus import Case, cases
from corstone.errors import HarnessError
from corstone.formats.ndjson import append_row, read_rows
from corstone.formats.pte import KernelCall, PteFile, read_pte
from corstone.pipeline import ProgramRun, run_programs
from corstone.runners import RUNNERS, Runner
from corstone.targets import target

EQUAL, DIFFERENT, REFUSED, BROKEN = "equal", "different", "refused", "broken"
RESULTS = (EQUAL, DIFFERENT, REFUSED, BROKEN)
BOOT = 32
"""Programs in one boot of our runner."""
_IN_TURN = 8
_DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor.out"


@dataclass(frozen=True)
class Row:
    """One program on one runner, ``seconds`` its share of a boot.

    ``digest`` is the outputs' SHA-256; ``judged_by`` names the answer; ``reason`` says why not equal.
    """

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


def boots(folder: Path, *, every: int = 1, only: str = "", runner: str = "") -> list[tuple[Case, Runner]]:
    """Each program with each runner of its board, or those named ``runner``, in the order of the index."""
    chosen = [case for case in cases(folder) if only in f"{case.target}/{case.id}/{case.operator}"][::every]
    return [
        (case, row)
        for case in chosen
        for row in runners_of(f"ethos-{case.target.removeprefix('ethos-')}")
        if row.name.startswith(runner)
    ]


def earlier(path: Path) -> list[Row]:
    """Rows of an earlier run."""
    return [Row(**row) for row in read_rows(path)]


def run(
    todo: Sequence[tuple[Case, Runner]], done: Sequence[Row], path: Path, work: Path, *, most: int = BOOT, jobs: int = 1
) -> Iterator[Row]:
    """Boot what has no row yet, ``most`` programs a boot, ``jobs`` boots at a time; rows are written boot by boot."""
    known = {row.key for row in done}
    path.parent.mkdir(parents=True, exist_ok=True)
    left = [(case, runner) for case, runner in todo if (case.target, case.id, runner.name) not in known]
    batches = [(list(batch), work / f"batch-{i}", most) for i, batch in enumerate(_batches(left, most))]
    for rows in _all(batches, jobs):
        for row in rows:
            append_row(path, asdict(row))
            yield row


def _batches(todo: Sequence[tuple[Case, Runner]], most: int) -> Iterator[list[tuple[Case, Runner]]]:
    """What goes into a boot: programs of one target on one runner that takes several, else a few in turn."""
    groups: dict[tuple[str, str], list[tuple[Case, Runner]]] = {}
    for case, runner in todo:
        groups.setdefault((case.target, runner.name), []).append((case, runner))
    for group in groups.values():
        size = most if group[0][1].dialect == "corstone" else _IN_TURN
        yield from (group[i : i + size] for i in range(0, len(group), size))


def _all(batches: Sequence[tuple[list[tuple[Case, Runner]], Path, int]], jobs: int) -> Iterator[list[Row]]:
    if jobs == 1:
        yield from map(_batch, batches)
        return
    # Processes that import for themselves: what this one has started is not theirs.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(_batch, batch) for batch in batches]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _batch(asked: tuple[list[tuple[Case, Runner]], Path, int]) -> list[Row]:
    """Programs on their runner, their outputs compared with the programs' answers."""
    batch, work, most = asked
    began = time.monotonic()
    runs = [
        ProgramRun(case.folder / "program.pte", tuple(_numbered(case, "input")), work / case.id) for case, _ in batch
    ]
    captures = run_programs(runs, work, most=most, provider="emulator", runner=batch[0][1].name)
    judged = [_judged(case, runner, capture) for (case, runner), capture in zip(batch, captures, strict=True)]
    shutil.rmtree(work, ignore_errors=True)
    seconds = round((time.monotonic() - began) / len(batch), 4)
    return [replace(row, seconds=seconds) for row in judged]


def _judged(case: Case, runner: Runner, capture: Capture | HarnessError) -> Row:
    row = Row(case.id, case.target, case.operator, runner.board, runner.name, REFUSED)
    if isinstance(capture, HarnessError):
        return replace(row, reason=str(capture).splitlines()[0])
    if capture.ending.outcome is not Outcome.PASSED:
        return replace(row, result=BROKEN, reason=f"{capture.ending.cause}: {capture.ending.message}")
    got = list(capture.output_bytes())
    judged_by = "tosa-program" if _numbered(case, "tosa-program") else "expected"
    want = [path.read_bytes() for path in _numbered(case, judged_by)]
    reason = _difference(case.folder / "program.pte", got, want, by_codes=judged_by == "expected")
    digest = hashlib.sha256(b"".join(got)).hexdigest()
    return replace(row, result=DIFFERENT if reason else EQUAL, judged_by=judged_by, reason=reason, digest=digest)


def _difference(program: Path, got: Sequence[bytes], want: Sequence[bytes], *, by_codes: bool) -> str:
    if not want or len(got) != len(want):
        return f"{len(got)} outputs came, {len(want)} answers are there"
    for number, (mine, answer) in enumerate(zip(got, want, strict=True)):
        if mine == answer or (by_codes and _same_codes(read_pte(program), number, mine, answer)):
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
