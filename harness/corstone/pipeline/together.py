"""Cases that are booted together: neighbours whose programs are there and whose runner takes several runs a boot.

What is shared is the boot alone (``corstone.boards.many`` says how cases are kept apart there, and what becomes of a
boot that goes wrong); inputs, references, verdict and record are each case's own. Arm's image takes one run a boot, and
so do traces and host targets: their cases are left to ``path``. A program that is still being compiled is not waited
for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corstone.errors import HarnessError
from corstone.pipeline.inputs import stimulus_of
from corstone.pipeline.request import CheckRequest
from corstone.targets import HOST_TARGETS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from corstone.boards import BootRequest
    from corstone.capture import Capture
    from corstone.lowering import Lowering
    from corstone.program import Program

    Array = npt.NDArray[np.generic]
    Ask = Callable[[CheckRequest, Program, Sequence[Array]], BootRequest]


BOOT = 32
"""Programs in one boot unless asked for otherwise: a boot is a small part of the time then, and few to boot again."""


@dataclass(frozen=True)
class Booted:
    """A case after its boot: what went in, and the capture or the error in its place; ``seconds`` by stage."""

    inputs: list[Array]
    capture: Capture | HarnessError
    seconds: dict[str, float]


def neighbours(requests: Sequence[CheckRequest], lowering: Lowering, first: int) -> range:
    """Cases from ``first`` on that may share boots with it: itself, and those behind it up to one that may not."""
    end = first
    while end < len(requests) and end - first < BOOT and _shares(requests[end]) and lowering.is_there(end):
        end += 1
    return range(first, max(end, first + 1))


def _shares(request: CheckRequest) -> bool:
    from corstone.runners import runner as runner_named

    if request.runner is None or request.runner_elf or request.trace or request.target in HOST_TARGETS:
        return False
    try:
        return runner_named(request.runner).dialect == "corstone"
    except HarnessError:
        return False  # what is wrong with it, the case's own run says


def boot_cases(cases: Sequence[tuple[CheckRequest, Program]], ask: Ask) -> list[Booted]:
    """Boot them in as few boots as may be; the consoles of shared boots are in ``boots`` of the run's folder.

    ``ask`` makes the request for a board.
    """
    from corstone.boards.many import boot_programs

    given: list[list[Array] | HarnessError] = []
    times = []
    for request, program in cases:
        began = time.monotonic()
        try:
            given.append(stimulus_of(request, program))
        except HarnessError as error:
            given.append(error)
        times.append({"stimulus": time.monotonic() - began})
    asked = [
        ask(request, program, inputs)
        for (request, program), inputs in zip(cases, given, strict=True)
        if not isinstance(inputs, HarnessError)
    ]
    first = cases[0][0]
    captures = iter(boot_programs(asked, first.out / "boots", BOOT, name=first.case_id))
    booted = []
    for inputs, seconds in zip(given, times, strict=True):
        if isinstance(inputs, HarnessError):
            booted.append(Booted([], inputs, seconds))
            continue
        capture = next(captures)
        share = 0.0 if isinstance(capture, HarnessError) else capture.seconds.get("total", 0.0)
        booted.append(Booted(inputs, capture, seconds | {"boot": share}))
    return booted
