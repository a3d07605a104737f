"""Our own runner says in its frames how it ended."""

from __future__ import annotations

import json
import zlib

from tests.fakes.endings.case import BANNER, Case, Steps, case, says

from corstone.causes import Cause

_DATA = bytes([1]) * 16


def frame(number: int, **fields: object) -> str:
    """One frame as the runner prints it."""
    text = json.dumps({"n": number, **fields}, separators=(",", ":"))
    return f"@corstone {text} #{zlib.crc32(text.encode()):08x}\n"


def output(number: int, **changed: object) -> str:
    """The frame that announces the one output."""
    fields: dict[str, object] = {
        "e": "output",
        "run": 0,
        "index": 0,
        "name": "out-0.bin",
        "dtype": "int8",
        "shape": [16],
        "bytes": 16,
        "crc": f"{zlib.crc32(_DATA):08x}",
        "untouched": 0,
    }
    return frame(number, **{**fields, **changed})


def boots(*outputs: str, code: int = 0, text: str = "", count: int = 1, last: int = 4) -> Steps:
    """A boot of one run that ends with a code."""
    frames = [
        frame(0, e="boot", board="corstone-300", protocol=1, transport="files"),
        frame(1, e="begin", run=0, program="program.pte"),
        *outputs,
        frame(3, e="end", run=0, code=code, status="", outputs=count, pool=1000, text=text),
        frame(last, e="exit", code=code, status="", runs=1, ok=int(code == 0), lost=0),
    ]
    end = f"Application exit code: {code}.\n"
    written = [["write", {"name": "out-0.bin", "size": 16}]] if code == 0 else []
    return [BANNER, *written, says("".join(frames) + end), ["exit", code]]


def _status(name: str, code: int, outcome: str, cause: Cause, rule: str = "") -> Case:
    return case(
        f"firmware-{name.lower()}",
        [BANNER, says(_plain(code, f"why {name}")), ["exit", code]],
        outcome,
        cause,
        rule or f"runner-{name.lower()}",
        runner="corstone",
        message=f"why {name}",
    )


def _plain(code: int, text: str) -> str:
    return "".join(
        (
            frame(0, e="boot", board="corstone-300", protocol=1, transport="files"),
            frame(1, e="begin", run=0, program="program.pte"),
            frame(2, e="end", run=0, code=code, status="", outputs=0, pool=1000, text=text),
            frame(3, e="exit", code=code, status="", runs=1, ok=0, lost=0),
            f"Application exit code: {code}.\n",
        )
    )


def _said(name: str, steps: Steps, outcome: str, cause: Cause, rule: str, **more: str) -> Case:
    return case(f"firmware-{name}", steps, outcome, cause, rule, runner="corstone", **more)


FIRMWARE: tuple[Case, ...] = (
    _said("passes", boots(output(2)), "PASSED", Cause.NONE, "passed"),
    _status("usage", 1, "CRASHED", Cause.CONFIGURATION),
    _status("file", 2, "CRASHED", Cause.NO_SEMIHOSTING),
    _status("bad-program", 3, "CRASHED", Cause.PROGRAM_REJECTED),
    _status("unsupported", 4, "CRASHED", Cause.UNSUPPORTED),
    _status("bad-input", 5, "CRASHED", Cause.BAD_INPUT),
    _status("allocator", 6, "CRASHED", Cause.ALLOCATOR),
    _status("config-mismatch", 7, "CRASHED", Cause.CONFIG_MISMATCH),
    _status("npu-fault", 8, "CRASHED", Cause.NPU_FAULT),
    _status("npu-timeout", 9, "CRASHED", Cause.NPU_TIMEOUT),
    _status("canary", 10, "NO_OUTPUT", Cause.CANARY),
    _status("output", 11, "NO_OUTPUT", Cause.OUTPUT_MISSING),
    _status("limit", 12, "CRASHED", Cause.PROGRAM_REJECTED),
    _status("no-npu", 13, "CRASHED", Cause.CONFIG_MISMATCH),
    _status("alignment", 14, "CRASHED", Cause.ALIGNMENT),
    _status("console", 15, "CRASHED", Cause.CONSOLE_CORRUPT),
    _status("NMI", 25, "CRASHED", Cause.CPU_FAULT),
    _status("interrupt", 26, "CRASHED", Cause.CPU_FAULT),
    _status("abort", 27, "CRASHED", Cause.ABORT),
    _said("code-unknown", [BANNER, says(_plain(77, "")), ["exit", 77]], "CRASHED", Cause.EXIT_STATUS, "exit-code"),
    _said("frame-lost", boots(output(2), last=5), "NO_OUTPUT", Cause.CONSOLE_CORRUPT, "runner-frames"),
    _said(
        "frame-garbled",
        boots(output(2).replace('"bytes":16', '"bytes":17')),
        "NO_OUTPUT",
        Cause.CONSOLE_CORRUPT,
        "runner-frames",
    ),
    _said("output-twice", boots(output(2) + output(2)), "NO_OUTPUT", Cause.OUTPUT_COUNT, "runner-output-count"),
    _said("output-count", boots(output(2), count=2), "NO_OUTPUT", Cause.OUTPUT_COUNT, "runner-output-count"),
    _said("output-dtype", boots(output(2, dtype="uint8")), "NO_OUTPUT", Cause.OUTPUT_SIZE, "runner-output-type"),
    _said("output-shape", boots(output(2, shape=[4, 4])), "NO_OUTPUT", Cause.OUTPUT_SIZE, "runner-output-type"),
    _said("output-bytes", boots(output(2, bytes=64)), "NO_OUTPUT", Cause.OUTPUT_SIZE, "runner-output-type"),
    _said("output-name", boots(output(2, name="../x")), "NO_OUTPUT", Cause.EVIDENCE, "runner-output-name"),
    _said("output-crc", boots(output(2, crc="00000000")), "NO_OUTPUT", Cause.EVIDENCE, "runner-output-crc"),
    _said(
        "last-frame-lost",
        [step if step[0] != "print" else says(str(step[1]).rpartition("@corstone")[0]) for step in boots(output(2))],
        "NO_OUTPUT",
        Cause.UNFINISHED,
        "runner-no-last-frame",
    ),
)
