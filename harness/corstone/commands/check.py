"""``corstone check``: networks, from PyTorch to a verdict."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from corstone.causes import Outcome
from corstone.commands import options
from corstone.commands.progress import Lines
from corstone.errors import ConfigError, HarnessError
from corstone.pipeline import REFERENCES, CheckRequest, check_all
from corstone.report import terminal
from corstone.report.folder import load_records, make_folder, not_writable, write_folder
from corstone.report.json_file import refused, summary, write_json
from corstone.report.record import CaseRecord

NOTHING_RAN = 5


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "check",
        help="networks, from PyTorch to a verdict",
        description="Quantize, lower, boot and judge networks; all combinations of the given lists.",
    )
    parser.add_argument(
        "networks",
        metavar="NETWORK",
        type=options.words,
        help="acos, asin, atanh; or module:attribute, path.py:attribute, path.pt2; several with commas",
    )
    parser.add_argument("--bits", type=options.widths, default=[8], help="8, 16 or 8,16 (default: 8)")
    parser.add_argument(
        "--policy", type=options.words, default=["fixed"], help="quantization policies (default: fixed)"
    )
    parser.add_argument(
        "--target",
        type=options.targets,
        default=["ethos-u55-128"],
        help="NPUs by their Vela names, or all; without a board: tosa-fp, tosa-int, vgf, or host for all of these",
    )
    parser.add_argument(
        "--reference",
        type=options.words,
        default=[],
        metavar="NAME",
        help="references beside table, tosa, float and fake-quantized: vgf",
    )
    parser.add_argument("--stimulus", default="", help="codes (default: every input code), example, random, ramp, ...")
    options.add_inputs(parser, "raw inputs of your own as the stimulus, in the network's order")
    parser.add_argument("--seed", type=int, default=0, help="of random inputs (default: 0)")
    parser.add_argument(
        "--shape",
        type=options.shape,
        action="append",
        default=[],
        metavar="N,N",
        help="shape of an input of your own network; once for each input",
    )
    parser.add_argument(
        "--calibration",
        type=options.path,
        metavar="FILE",
        help="input sets for the observers: .npz, an array for each input, its first axis counts the sets",
    )
    parser.add_argument(
        "-o", "--out", type=options.path, default=Path("corstone-out"), metavar="DIR", help="folder of the run's files"
    )
    parser.add_argument("--json", type=options.path, metavar="FILE", help="write the verdicts as JSON")
    parser.add_argument("--junit", type=options.path, metavar="FILE", help="write JUnit XML")
    parser.add_argument("--no-report", action="store_true", help="write no HTML, Markdown and JUnit into --out")
    parser.add_argument("--quiet", "-q", action="store_true", help="only the table and the reasons")
    options.add_device_options(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Run every combination, show progress, write the reports, return the worst status."""
    try:
        requests = _requests(args)
    except HarnessError as error:
        if args.json:
            write_json(args.json, refused(error))
        raise
    make_folder(args.out)
    for file in (args.json, args.junit):
        if file is not None:
            make_folder(file.parent)
    started = time.monotonic()
    lines = Lines(requests, sys.stderr, quiet=args.quiet)
    records: list[CaseRecord] = []
    try:
        with lines:
            records = check_all(requests, lines.progress)
    except KeyboardInterrupt:
        _report(args, _finished(args.out, lines.finished), [], time.monotonic() - started)
        raise
    return _report(args, records, requests, time.monotonic() - started)


def _requests(args: argparse.Namespace) -> list[CheckRequest]:
    if args.input and args.stimulus not in ("", "given"):
        raise ConfigError(f"--stimulus {args.stimulus} and --input exclude each other", hint="leave one out")
    if unknown := set(args.reference) - {*REFERENCES, "vgf"}:
        raise ConfigError(
            f"no such reference: {', '.join(sorted(unknown))}", hint=f"use {', '.join((*REFERENCES, 'vgf'))}"
        )
    combinations = itertools.product(args.networks, args.bits, args.policy, args.target)
    requests = [
        CheckRequest(
            network,
            bits=bits,
            policy=policy,
            target=target,
            **options.device_settings(args),
            stimulus="given" if args.input else args.stimulus or "codes",
            input_files=tuple(args.input),
            seed=args.seed,
            shapes=tuple(args.shape),
            calibration=args.calibration,
            out=args.out,
            references=tuple(dict.fromkeys((*REFERENCES, *args.reference))),
        )
        for network, bits, policy, target in combinations
    ]
    # A plain host target is the same case whatever bits and policy say.
    requests = list({request.case_id if request.plain else i: request for i, request in enumerate(requests)}.values())
    ids = [request.case_id for request in requests]  # an unknown target or board is found here, before any work
    if len(set(ids)) != len(ids):
        raise ConfigError("two of the networks have the same name", hint="check them one after the other")
    return requests


def _finished(out: Path, ids: Sequence[str]) -> list[CaseRecord]:
    places = [out / "cases" / case / "record.json" for case in ids]
    return load_records(places) if places else []


@dataclass
class _Result:
    status: int
    reasons: list[str] = field(default_factory=list)


def _report(args: argparse.Namespace, records: Sequence[CaseRecord], asked: Sequence[CheckRequest], took: float) -> int:
    result = status_of(records, require_fvp=args.require_fvp)
    if args.json:
        try:
            write_json(args.json, summary(records, result.status))
        except OSError as error:
            raise not_writable(args.json, error) from error
    if args.junit:
        from corstone.report.junit import write_junit

        write_junit(args.junit, records)
    page = None if args.no_report or not records else write_folder(args.out, records, result.status)
    _print(records, result, page, took, len(asked) or len(records))
    return result.status


def _print(
    records: Sequence[CaseRecord],
    result: _Result,
    page: Path | None,
    took: float,
    asked: int,
) -> None:
    for record in records:
        if record.verdict.outcome not in (Outcome.PASSED, Outcome.SKIPPED):
            console = Path(record.capture) / "console.log" if record.capture else None
            print(terminal.page(record, console.read_bytes() if console and console.exists() else b""))
            print()
    for text in terminal.table(records) if records else ["nothing ran"]:
        print(text)
    print()
    for reason in result.reasons:
        print(reason)
    if page is not None:
        print(f"report: {page.resolve()}")
    if cached := terminal.from_cache(records):
        print(cached)
    if spent := terminal.time_spent(records):
        print(spent)
    print(f"{terminal.summary(records)} in {took:.1f} s; {terminal.ran_on_device(records, asked)}")


def status_of(records: Sequence[CaseRecord], *, require_fvp: bool = False) -> _Result:
    """Exit status of a run: the worst verdict's; 5 when nothing ran, or ran elsewhere than on the FVP asked for."""
    if not records:
        return _Result(NOTHING_RAN)
    worst = min(records, key=lambda r: (r.verdict.outcome.severity, -r.verdict.exit_code))
    result = _Result(worst.verdict.exit_code)
    if all(r.executor is not None and r.executor.kind not in terminal.DEVICES for r in records):
        result.reasons.append("nothing ran on a device: host targets need no board, and prove nothing about one")
        result.status = result.status or NOTHING_RAN
    elsewhere = [r for r in records if r.executor is None or r.executor.kind != "fvp"]
    if require_fvp and elsewhere:
        result.reasons.append(f"an FVP was required: {len(elsewhere)} of {len(records)} cases did not run on one")
        result.status = result.status or NOTHING_RAN
    return result
