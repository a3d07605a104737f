"""Reads the runner's frames out of a console: what it ran, what it left, how it ended.

A frame is one line, ``@corstone {"n":3,"e":"output",...} #1a2b3c4d``: a JSON object with a running number and the
event, then the CRC-32 of the object's text. Events: boot, npu, begin, counters, output, end (of a run), fault, exit. A
line that starts like a frame and is none, or whose CRC is wrong, counts as spoiled and is not used. Leaves out
verdicts.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

_FRAME = re.compile(rb"@corstone (\{.*\}) #([0-9a-f]{8})$")
_STATUS = {
    0: "ok",
    1: "usage",
    2: "file",
    3: "bad-program",
    4: "unsupported",
    5: "bad-input",
    6: "allocator",
    7: "config-mismatch",
    8: "npu-fault",
    9: "npu-timeout",
    10: "canary",
    11: "output",
    12: "limit",
    13: "no-npu",
    14: "alignment",
    15: "console",
    20: "HardFault",
    21: "MemManage",
    22: "BusFault",
    23: "UsageFault",
    24: "SecureFault",
    25: "NMI",
    26: "interrupt",
    27: "abort",
}


def status_name(code: int) -> str:
    """The name of an exit code of the runner, ``unknown`` for one it has not."""
    return _STATUS.get(code, "unknown")


@dataclass(frozen=True)
class OutputFrame:
    """One output as the device announced it. ``untouched`` counts bytes that still held the canary."""

    index: int
    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int
    crc32: int
    untouched: int

    def matches(self, data: bytes) -> bool:
        """Whether these are the bytes the device had."""
        return len(data) == self.size_bytes and zlib.crc32(data) == self.crc32


@dataclass(frozen=True)
class RunLog:
    """One run of a boot. ``code`` is None when the device never said how it ended."""

    number: int
    program: str
    code: int | None = None
    status: str = ""
    text: str = ""
    output_count: int = 0
    pool_bytes: int = 0
    outputs: tuple[OutputFrame, ...] = ()
    cycles: int | None = None
    events: tuple[int, ...] = ()


@dataclass(frozen=True)
class FaultFrame:
    """A CPU fault, as the handler decoded it. ``stacked`` is False when pc, lr and xpsr could not be read."""

    fault: str
    flags: tuple[str, ...]
    stacked: bool
    registers: Mapping[str, int]

    @property
    def pc(self) -> int:
        """The address of the instruction that faulted; 0 when unknown."""
        return self.registers.get("pc", 0) if self.stacked else 0


@dataclass(frozen=True)
class FirmwareLog:
    """All frames of a console, in order, and what is wrong with them.

    ``missing`` lists numbers that were skipped, ``spoiled`` counts broken frames, ``exit_code`` is the code of the last
    frame, None when it never came.
    """

    board: str = ""
    transport: str = ""
    runs: tuple[RunLog, ...] = ()
    fault: FaultFrame | None = None
    npu: Mapping[str, object] = field(default_factory=dict)
    exit_code: int | None = None
    missing: tuple[int, ...] = ()
    spoiled: int = 0

    @property
    def complete(self) -> bool:
        """Whether every frame came unbroken, up to the last one."""
        return self.exit_code is not None and not self.missing and not self.spoiled


def read_firmware(raw: bytes) -> FirmwareLog:
    """Read a console. Any bytes are accepted; what is not understood counts as spoiled, nothing raises."""
    frames: list[dict[str, object]] = []
    spoiled = 0
    for line in re.split(rb"[\r\n]+", raw):
        start = line.find(b"@corstone ")
        if start < 0:
            continue
        frame = _frame(line[start:].rstrip(b" \x00\x04"))
        if frame is None:
            spoiled += 1
        else:
            frames.append(frame)
    return _collect(frames, spoiled)


def _frame(line: bytes) -> dict[str, object] | None:
    found = _FRAME.match(line)
    if found is None or zlib.crc32(found[1]) != int(found[2], 16):
        return None
    try:
        frame = json.loads(found[1])
    except (ValueError, RecursionError):
        return None
    return frame if isinstance(frame, dict) else None


def _int(frame: Mapping[str, object], name: str) -> int:
    value = frame.get(name)
    return value if isinstance(value, int) else 0


def _text(frame: Mapping[str, object], name: str) -> str:
    value = frame.get(name)
    return value if isinstance(value, str) else ""


def _ints(frame: Mapping[str, object], name: str) -> tuple[int, ...]:
    value = frame.get(name)
    return tuple(item for item in value if isinstance(item, int)) if isinstance(value, list) else ()


def _output(frame: Mapping[str, object]) -> OutputFrame:
    crc = _text(frame, "crc")
    return OutputFrame(
        _int(frame, "index"),
        _text(frame, "name"),
        _text(frame, "dtype"),
        _ints(frame, "shape"),
        _int(frame, "bytes"),
        int(crc, 16) if re.fullmatch(r"[0-9a-f]{8}", crc) else -1,
        _int(frame, "untouched"),
    )


def _collect(frames: list[dict[str, object]], spoiled: int) -> FirmwareLog:
    runs: dict[int, dict[str, object]] = {}
    outputs: dict[int, list[OutputFrame]] = {}
    boot: Mapping[str, object] = {}
    npu: Mapping[str, object] = {}
    fault: FaultFrame | None = None
    exit_code: int | None = None
    numbers: set[int] = set()
    for frame in frames:
        numbers.add(_int(frame, "n"))
        number = _int(frame, "run")
        match frame.get("e"):
            case "boot":
                boot = frame
            case "npu":
                npu = frame
            case "begin" | "counters" | "end":
                known = runs.setdefault(number, {})
                known.update({k: v for k, v in frame.items() if k not in ("n", "e")})
            case "output":
                runs.setdefault(number, {})
                outputs.setdefault(number, []).append(_output(frame))
            case "fault":
                words = {k: v for k, v in frame.items() if isinstance(v, int) and not isinstance(v, bool) and k != "n"}
                flags = tuple(_text(frame, "flags").split())
                fault = FaultFrame(_text(frame, "fault"), flags, frame.get("stacked") is True, words)
            case "exit":
                exit_code = _int(frame, "code")
            case _:
                pass
    last = min(max(numbers, default=-1), 1 << 20)
    return FirmwareLog(
        board=_text(boot, "board"),
        transport=_text(boot, "transport"),
        runs=tuple(_run(number, runs[number], outputs.get(number, [])) for number in sorted(runs)),
        fault=fault,
        npu={k: v for k, v in npu.items() if k not in ("n", "e")},
        exit_code=exit_code,
        missing=tuple(n for n in range(last + 1) if n not in numbers),
        spoiled=spoiled,
    )


def _run(number: int, frame: Mapping[str, object], outputs: list[OutputFrame]) -> RunLog:
    code = frame.get("code")
    cycles = frame.get("cycles")
    return RunLog(
        number=number,
        program=_text(frame, "program"),
        code=code if isinstance(code, int) else None,
        status=_text(frame, "status"),
        text=_text(frame, "text"),
        output_count=_int(frame, "outputs"),
        pool_bytes=_int(frame, "pool"),
        outputs=tuple(outputs),
        cycles=cycles if isinstance(cycles, int) else None,
        events=_ints(frame, "events"),
    )
