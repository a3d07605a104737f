"""``corstone budget``: show, derive and tighten the budgets of a network. Loosening one is an edit by hand."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corstone.causes import Cause
from corstone.commands import options
from corstone.errors import ConfigError

if TYPE_CHECKING:
    from corstone.accuracy.budget_file import Row
    from corstone.judge.domain import Domain
    from corstone.program import Program

DONE, REFUSED = 0, 1


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "budget",
        help="measure and tighten the budgets of a network",
        description="Budgets say how far the device may be from float64, per region of the input, with a reason. They "
        "are data beside the network: `show` prints them, `derive` computes a bound for any input from the table "
        "itself (one operator, elementwise), `tighten` lowers them to what is derived, or to what captures used and "
        "a tenth.",
        epilog="exit status: 0 done, 1 something is over its budget and was refused: raising a budget is an edit of "
        "the file by hand, 2 the caller's error",
    )
    parser.add_argument("action", choices=("show", "derive", "tighten"))
    parser.add_argument(
        "sources",
        metavar="NETWORK|CAPTURE",
        nargs="+",
        help="a network as `corstone check` takes it, or folders of captures (tighten, show)",
    )
    parser.add_argument("--bits", type=options.widths, default=[8], help="8, 16 or 8,16 (default: 8)")
    parser.add_argument("--policy", type=options.words, default=["fixed"], help="default: fixed")
    parser.add_argument("--target", default="ethos-u55-128", help="NPU by its Vela name (default: ethos-u55-128)")
    parser.add_argument("--shape", type=options.shape, action="append", default=[], metavar="N,N")
    parser.add_argument("--file", type=options.path, metavar="FILE", help="instead of the file beside the network")
    parser.add_argument("--dry-run", action="store_true", help="say what would change, write nothing")
    return parser


def run(args: argparse.Namespace) -> int:
    """Show, derive, or tighten; 1 when a budget would have to be raised."""
    captures = [options.path(s) for s in args.sources if (options.path(s) / "capture.json").is_file()]
    if captures and len(captures) != len(args.sources):
        raise ConfigError("captures and networks were given together", hint="tighten one kind at a time")
    if captures:
        if args.action == "derive":
            raise ConfigError("a budget is derived from a network, not from captures", hint="use `tighten CAPTURE...`")
        return _of_captures(args, captures)
    status = DONE
    for network in args.sources:
        for bits in args.bits:
            for policy in args.policy:
                status = max(status, _of_network(args, network, bits, policy))
    return status


def _of_network(args: argparse.Namespace, network: str, bits: int, policy: str) -> int:
    from corstone.accuracy.budget_file import file_of, key, load, name_in_file, save
    from corstone.accuracy.derive_budget import derive
    from corstone.accuracy.tighten import tighten
    from corstone.pipeline import build

    path = args.file or file_of(network)
    stored, name = load(path), key(name_in_file(network), bits, policy)
    rows = stored.get(name, ())
    if args.action == "show":
        _print(name, path, rows)
        return DONE
    program = build(network, bits=bits, policy=policy, target=args.target, shapes=tuple(args.shape))
    function, domain = _function(program)
    derived = derive(program, function, domain, tuple(r.budget.region for r in rows))
    if args.action == "derive":
        _print(f"{name}, derived", path, derived)
        if rows or args.dry_run:
            return DONE
        save(path, stored | {name: derived})
        print(f"  written to {path}")
        return DONE
    if not rows:
        raise ConfigError(f"no budget of {name} is stored in {path}", hint="`corstone budget derive` writes the first")
    made, changes = tighten(rows, {}, {r.budget.region.name: r for r in derived})
    return _finish(args, path, stored, name, made, changes, save)


def _of_captures(args: argparse.Namespace, captures: Sequence[Path]) -> int:
    from corstone.accuracy.budget_file import JUDGED_AS, file_of, key, load, name_in_file, save
    from corstone.accuracy.tighten import measured_regions, start_rows, tighten
    from corstone.judge.stored import judge_folder

    groups: dict[str, list[Any]] = {}
    paths: dict[str, Path] = {}
    for folder in captures:
        _, program, _, verdict = judge_folder(folder)
        compared = [c.regions for c in verdict.comparisons if c.reference == "float" and not c.exact]
        if program is None or not compared or program.output_qparams[:1] == (None,):
            raise ConfigError(f"{folder} was not compared with float: {verdict.reason}", cause=Cause.BAD_INPUT)
        network = program.source.partition(":")[2]
        if JUDGED_AS.get(program.policy, program.policy) != program.policy:
            raise ConfigError(
                f"{folder}: {program.policy} is judged by the budgets of {JUDGED_AS[program.policy]}, and has none",
                hint=f"give captures of the policy {JUDGED_AS[program.policy]}",
            )
        name = key(name_in_file(network), program.bits, program.policy)
        groups.setdefault(name, []).append((program, compared))
        paths[name] = args.file or file_of(network)
    status = DONE
    for name, found in groups.items():
        path, stored = paths[name], load(paths[name])
        rows = stored.get(name) or start_rows(found[0][0].output_qparams[0])
        measured = measured_regions([regions for _, compared in found for regions in compared])
        if args.action == "show":
            _print(name, path, rows)
            _, changes = tighten(rows, measured, None, len(found))
            for change in changes:
                used = "no input fell into it" if change.measured is None else f"{change.measured:.4g} LSB used"
                print(f"  {change.region}: {used} of {change.before:g}")
            continue
        kept = {r.budget.region.name: r for r in rows if r.table_lsb is not None}
        made, changes = tighten(rows, measured, kept, len(found))
        status = max(status, _finish(args, path, stored, name, made, changes, save))
    return status


def _function(program: Program) -> tuple[Callable[[Any], Any], Domain]:
    """The float64 function of an elementwise program, and its domain: the network's, or that of its one operator."""
    from corstone.accuracy.tables import tables_of
    from corstone_models.networks import NETWORKS

    network = NETWORKS.get(program.source.removeprefix("network:"))
    if network is not None and network.samples is None:
        return (lambda x: network.function(x)[0]), network.domain
    uses = tables_of(program)
    if network is None and len(uses) == 1 and (row := uses[0].function) is not None:
        rows = uses[0]
        if (rows.input, rows.output) == (program.input_qparams[0], program.output_qparams[0]):
            return row, row.domain
    raise ConfigError(
        f"no bound can be derived for {program.network}: it is not one table between its input and output",
        cause=Cause.UNSUPPORTED,
        hint="run it, and give the captures: `corstone budget tighten CAPTURE...` measures",
    )


def _finish(
    args: argparse.Namespace,
    path: Path,
    stored: dict[str, Any],
    name: str,
    made: Sequence[Row],
    changes: Sequence[Any],
    save: Callable[[Path, Any], None],
) -> int:
    print(name)
    for change in changes:
        print(f"  {change}")
    refused = any(change.refused for change in changes)
    if args.dry_run:
        print("  nothing written")
    elif not refused:
        save(path, stored | {name: tuple(made)})
        print(f"  written to {path}")
    else:
        print(f"  nothing written; the budgets are in {path}")
    return REFUSED if refused else DONE


def _print(name: str, path: Path, rows: Sequence[Row]) -> None:
    print(f"{name} ({path})" if rows else f"{name}: none in {path}")
    for row in rows:
        region, parts = row.budget.region, []
        for word, value in (("input", row.input_lsb), ("table", row.table_lsb), ("measured", row.measured_lsb)):
            parts += [] if value is None else [f"{word} {value:.4g}"]
        known = f" ({', '.join(parts)})" if parts else ""
        print(f"  {region.name} [{region.lo:g}, {region.hi:g}]: {row.budget.max_lsb:g} LSB{known}")
        print(f"    {row.budget.reason}")
