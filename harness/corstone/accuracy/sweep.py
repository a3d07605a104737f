"""The sweep: every input code of networks, widths, policies and targets on the device, and what it answered.

Each case is one boot for all its codes, as ``corstone check`` boots it; several boots run at a time. Leaves out the
page (``sweep_page``) and the files (``tabular``).
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corstone.accuracy.curve import Curve, load_curve
from corstone.accuracy.finding import GuardReport
from corstone.accuracy.guard import guard_program
from corstone.causes import Cause
from corstone.errors import ConfigError, HarnessError
from corstone.lowering import lower_all
from corstone.pipeline import REFERENCES, CheckRequest, Progress, check_all, lower_request
from corstone.program import Program
from corstone.quantize.policies import policy as checked_policy
from corstone.report.record import CaseRecord

STIMULUS = "codes"


@dataclass(frozen=True)
class Refused:
    """A combination without a curve, and why."""

    network: str
    bits: int
    policy: str
    target: str
    reason: str

    @property
    def title(self) -> str:
        """How pages call it; what is the same for all targets names none."""
        return " ".join(filter(None, (self.network, f"int{self.bits}", self.policy, self.target)))


@dataclass(frozen=True)
class Swept:
    """What a sweep gave: a record a case, its curve and the guard's report where there are, and the seconds it took.

    ``refused`` has the combinations that do not exist or gave no curve, each with its reason.
    """

    records: tuple[CaseRecord, ...]
    curves: tuple[Curve, ...]
    guards: dict[str, GuardReport] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)


def requests(
    networks: Sequence[str], bits: Sequence[int], policies: Sequence[str], targets: Sequence[str], **options: Any
) -> tuple[list[CheckRequest], list[Refused]]:
    """All combinations that exist, and each one of network, width and policy that does not.

    ``options``: further fields of ``CheckRequest``.

    Raises
    ------
    ConfigError: nothing is left, a policy or a width is unknown.
    """
    pairs: list[tuple[int, str]] = []
    reasons: list[tuple[int, str, str]] = []
    for width, name in itertools.product(bits, policies):
        try:
            checked_policy(name, width)
        except ConfigError as error:
            if error.cause is not Cause.UNSUPPORTED:
                raise
            reasons.append((width, name, f"{error.message}; {error.hint}"))
        else:
            pairs.append((width, name))
    if not pairs:
        raise ConfigError("none of these policies exists at these widths: " + "; ".join(r[2] for r in reasons))
    found = [
        CheckRequest(
            network, bits=width, policy=name, target=target, stimulus=STIMULUS, references=REFERENCES, **options
        )
        for network, (width, name), target in itertools.product(networks, pairs, targets)
    ]
    refused = [Refused(network, w, name, "", why) for network, (w, name, why) in itertools.product(networks, reasons)]
    return found, refused


def sweep(
    cases: Sequence[CheckRequest], progress: Progress | None = None, refused: Sequence[Refused] = (), jobs: int = 2
) -> Swept:
    """Run every case, ``jobs`` at a time, and load its curve; a case without one becomes ``Refused``."""
    began = time.monotonic()
    records = _run(cases, progress or (lambda _case, _what: None), max(1, min(jobs, len(cases))))
    return gather(records, refused, {"run": time.monotonic() - began})


class _Stopped(BaseException):
    """Unwinds a worker after the sweep was interrupted; never leaves this module."""


def _run(cases: Sequence[CheckRequest], progress: Progress, jobs: int) -> list[CaseRecord]:
    if jobs == 1:
        return check_all(cases, progress)
    # Compiled by one child first: two at a time slow each other down, and the workers then find every program made.
    lower_all([lower_request(case) for case in cases])
    lock, stop = threading.Lock(), threading.Event()

    def say(case: str, what: str) -> None:
        if stop.is_set():
            raise _Stopped
        with lock:
            progress(case, what)

    # Every jobs-th case, so that each worker gets its share of every network and target.
    with ThreadPoolExecutor(jobs, thread_name_prefix="sweep") as pool:
        parts = [pool.submit(check_all, cases[i::jobs], say) for i in range(jobs)]
        try:
            done = [part.result() for part in parts]
        except BaseException:
            stop.set()
            raise
    return [done[i % jobs][i // jobs] for i in range(len(cases))]


def gather(
    records: Sequence[CaseRecord], refused: Sequence[Refused] = (), seconds: dict[str, float] | None = None
) -> Swept:
    """Curves and guard reports of cases that ran."""
    began = time.monotonic()
    curves: list[Curve] = []
    guards: dict[str, GuardReport] = {}
    lost = list(refused)
    looked: dict[tuple[bytes, ...], GuardReport] = {}
    for record in records:
        try:
            curve = load_curve(record)
            program = Program.load(Path(record.capture) / "program.json")
            # The same graph compiled for another target has the same findings.
            key = tuple(path.read_bytes() for path in program.tosa)
            guards[record.case_id] = looked.get(key) or looked.setdefault(key, guard_program(program))
            curves.append(curve)
        except HarnessError as error:
            lost.append(Refused(record.network, record.bits, record.policy, record.target, error.message))
    times = dict(seconds or {}) | {"curves": time.monotonic() - began}
    return Swept(tuple(records), tuple(curves), guards, tuple(lost), times)
