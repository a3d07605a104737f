"""What ExecuTorch's Arm executor_runner (and our firmware, which speaks the same protocol) logs, as evidence.

Log lines are ``<L> [executorch:<file>:<line> <function>()] <message>`` with L one of D I E F; the function part is
missing before mid-2025. Source: executorch examples/arm/executor_runner.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

_LOG = re.compile(r"^(?:[EWI]: )*([DIEF]) \[[eE]xecu[tT]orch:([^\]]*)\] ?(.*)$")
_MODEL_RUN = re.compile(r"\bModel run: (\d)")
_OUTPUTS = re.compile(r"\b(\d+) outputs:")
_WRITING = re.compile(r"\bWriting output to file: (\S+)")
_NOT_WRITTEN = re.compile(r"Could not open output file|Failed to write whole output file")
_ELEMENT = re.compile(rb"(?m)^Output\[(\d{1,4})\]\[\d+\]: \((?:int|float|char|bool)\) *[^\s]")
_BUNDLE = re.compile(r"TEST: BundleIO index\[(\d+)\] Test_result: (PASS|FAIL)")
_PROGRAM = re.compile(r"\bPTE @ (\S+) \[(.{4})(.{4})\]")


@dataclass(frozen=True)
class LogLine:
    """One log line of the runtime: severity letter, where from, and the message."""

    severity: str
    where: str
    message: str


@dataclass(frozen=True)
class ExecutorchLog:
    """The runner's statements; None or empty where it made none. ``elements`` counts dumped values by output."""

    messages: tuple[LogLine, ...] = ()
    method_loaded: bool = False
    model_run: bool | None = None
    output_count: int | None = None
    written: tuple[str, ...] = ()
    write_errors: tuple[str, ...] = ()
    elements: dict[int, int] = field(default_factory=dict)
    bundle_results: tuple[tuple[int, bool], ...] = ()
    identifier: str = ""
    complete: bool = False


def read_executorch(texts: Iterable[str]) -> ExecutorchLog:
    """Collect the statements from the target's lines."""
    messages: list[LogLine] = []
    written: list[str] = []
    write_errors: list[str] = []
    bundle: list[tuple[int, bool]] = []
    runs: list[bool] = []
    loaded = complete = False
    outputs: int | None = None
    identifier = ""
    for text in texts:
        log = _LOG.match(text)
        if log:
            messages.append(LogLine(log[1], log[2], log[3]))
        loaded = loaded or bool(re.search(r"Method '?[\w.]+'? loaded\.", text))
        complete = complete or "Program complete, exiting." in text
        if found := _MODEL_RUN.search(text):
            runs.append(found[1] != "0")
        if found := _OUTPUTS.search(text):
            outputs = int(found[1])
        if found := _WRITING.search(text):
            written.append(found[1])
        if _NOT_WRITTEN.search(text):
            write_errors.append(text)
        if found := _BUNDLE.search(text):
            bundle.append((int(found[1]), found[2] == "PASS"))
        if found := _PROGRAM.search(text):
            identifier = found[3]
    return ExecutorchLog(
        messages=tuple(messages),
        method_loaded=loaded,
        model_run=all(runs) if runs else None,
        output_count=outputs,
        written=tuple(written),
        write_errors=tuple(write_errors),
        bundle_results=tuple(bundle),
        identifier=identifier,
        complete=complete,
    )


def dumped_elements(raw: bytes) -> dict[int, int]:
    """How many values of each output were dumped on the console; a line without a value counts for nothing."""
    return {int(index): count for index, count in Counter(_ELEMENT.findall(raw)).items()}
