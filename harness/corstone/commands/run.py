"""``corstone run``: boot any ``.pte`` on raw inputs and keep what came out. Nothing is judged but the boot."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corstone.capture import Capture
from corstone.causes import Cause, Outcome, worst
from corstone.commands import options
from corstone.errors import HarnessError
from corstone.judge.verdict import Verdict
from corstone.pipeline import run_many, run_program
from corstone.report import terminal
from corstone.report.folder import make_folder, not_writable
from corstone.report.json_file import SCHEMA, capture_outputs, refused, write_json


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "run",
        help="boot a .pte on raw inputs and keep what came out",
        description="Boot a .pte on raw inputs. The folder then holds out-0.bin, ..., console.log and capture.json.",
    )
    parser.add_argument(
        "program", metavar="PROGRAM", type=options.path, help="a .pte, or Vela's .tflite with --runner-elf"
    )
    options.add_inputs(parser, "raw inputs, in the program's order")
    parser.add_argument(
        "--sets",
        action="store_true",
        help="the files of -i are many input sets, one after the other; our runner (--runner) shares a boot among them",
    )
    parser.add_argument("-o", "--out", metavar="DIR", type=options.path, default=Path("corstone-out/run"))
    parser.add_argument("--target", help="refuse a program that was compiled for another NPU")
    parser.add_argument("--json", metavar="FILE", type=options.path, help="write verdict, provider and outputs as JSON")
    options.add_device_options(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Boot, print what came, return the status of how the boot ended."""
    make_folder(args.out)
    if args.json:
        make_folder(args.json.parent)
    try:
        how = {"target": args.target} | options.device_settings(args)
        if args.sets:
            return _finish_sets(run_many(args.program, args.input, args.out, **how), args.json)
        capture = run_program(args.program, args.input, args.out, **how)
    except HarnessError as error:
        if args.json:
            _write(args.json, refused(error))
        raise
    verdict = verdict_of(capture)
    if args.json:
        _write(args.json, _of_capture(capture, verdict))
    _print(capture, verdict)
    return verdict.exit_code


def _finish_sets(captures: Sequence[Capture], json: Path | None) -> int:
    """Print each set that did not run, then the count; the worst set's status is the command's."""
    verdicts = [verdict_of(capture) for capture in captures]
    if json:
        sets = [_of_capture(c, v) for c, v in zip(captures, verdicts, strict=True)]
        _write(json, {"schema": SCHEMA, "verdict": str(worst([v.outcome for v in verdicts])), "sets": sets})
    for i, (capture, verdict) in enumerate(zip(captures, verdicts, strict=True)):
        if verdict.outcome is not Outcome.PASSED:
            print(f"set {i}:")
            _print(capture, verdict)
    ran = sum(v.outcome is Outcome.PASSED for v in verdicts)
    first = captures[0]
    boots = len({c.evidence.get("shared boot", str(c.folder)).rpartition(" in ")[2] for c in captures})
    who = f"{first.target} on {first.board}, {terminal.named(first.executor)}"
    print(f"{ran} of {len(captures)} sets ran in {boots} boot{'s' * (boots > 1)}: {who}")
    print(f"  outputs: {terminal.safe(str(first.folder.parent))}/set-0 and so on; nothing is judged but the boot")
    return min(verdicts, key=lambda v: v.outcome.severity).exit_code


def verdict_of(capture: Capture) -> Verdict:
    """How the boot ended; PASSED only means that it ran and all outputs came back complete and fresh."""
    ended = capture.ending
    return Verdict(
        ended.outcome, ended.cause, ended.message, ended.hint, notes=capture.notes, evidence=dict(ended.evidence)
    )


def _of_capture(capture: Capture, verdict: Verdict) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "verdict": str(verdict.outcome),
        "cause": str(verdict.cause),
        "reason": verdict.reason,
        "hint": verdict.hint,
        "judged": False,
        "provider": capture.executor.kind,
        "executor": str(capture.executor),
        "exit_status": verdict.exit_code,
        "board": capture.board,
        "target": capture.target,
        "runner": capture.runner,
        "runner_sha256": capture.runner_sha256,
        "outputs": capture_outputs(capture.folder),
        "counters": capture.counters,
        "seconds": capture.seconds,
        "capture": str(capture.folder.resolve()),
        "notes": list(verdict.notes),
        "evidence": verdict.evidence,
    }


def _write(path: Path, data: dict[str, Any]) -> None:
    try:
        write_json(path, data)
    except OSError as error:
        raise not_writable(path, error) from error


def _print(capture: Capture, verdict: Verdict) -> None:
    who = terminal.named(capture.executor)
    print(f"{terminal.label(verdict)}: {capture.target} on {capture.board}, {who}")
    print(f"  {terminal.safe(verdict.reason)}")
    if verdict.hint:
        print(f"  what to do: {terminal.safe(verdict.hint)}")
    for note in verdict.notes:
        print(f"  note: {terminal.safe(note)}")
    for output in capture_outputs(capture.folder):
        what = f" {output['dtype']} {output['shape']}" if output["dtype"] else ""
        print(f"  {output['file']}: {output['size_bytes']} bytes{what}")
    if verdict.outcome is not Outcome.PASSED:
        for name, value in verdict.evidence.items():
            print(f"  {terminal.safe(name)}: {terminal.safe(value)}")
        if verdict.cause is not Cause.INTERRUPTED:
            print("\n".join(terminal.console_tail(capture.console)))
    else:
        print("  not judged: a bare program has no reference (corstone check judges networks)")
