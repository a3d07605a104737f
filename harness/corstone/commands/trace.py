"""``corstone trace``: each NPU command of a run on the NPU model, with operands, tiles and feature maps."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from corstone.causes import Cause
from corstone.commands import options
from corstone.commands.explain import shown
from corstone.errors import ConfigError, HarnessError
from corstone.formats.pte import PteFile, read_pte
from corstone.looking.matching import Match
from corstone.looking.walk import Command, Walk, walk
from corstone.program import Program
from corstone.report import terminal
from corstone.report.folder import make_folder, not_writable
from corstone.report.json_file import write_json

SCHEMA = 1


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "trace",
        help="each NPU command of a run, with the feature maps it wrote",
        description="Run a .pte on the NPU model, without a board, and write what each command did. Feature maps are"
        " matched with the tensors of the TOSA graph, which is found in program.json beside the program or given.",
    )
    parser.add_argument("program", metavar="PROGRAM.pte", type=options.path, help="or the folder of a program or case")
    options.add_inputs(parser, "raw inputs, in the program's order")
    parser.add_argument("-o", "--out", metavar="DIR", type=options.path, default=Path("corstone-out/trace"))
    parser.add_argument(
        "--tosa", metavar="FILE", type=options.path, action="append", default=[], help="TOSA graph of a delegate call"
    )
    parser.add_argument("--feature-maps", action="store_true", help="keep what each command wrote, as feature-maps.npz")
    parser.add_argument("--registers", action="store_true", help="show register writes too")
    return parser


def run(args: argparse.Namespace) -> int:
    """Run, print, write ``trace.json``, the outputs, and feature maps where asked."""
    import numpy as np

    from corstone.pipeline import read_inputs

    program = _program(args.program, tuple(args.tosa))
    pte = read_pte(program.pte)
    raw = read_inputs(program.inputs, _inputs(args, program))
    arrays = [
        np.frombuffer(data, np.dtype(spec.dtype)).reshape(spec.shape)
        for data, spec, index in zip(raw, program.inputs, pte.inputs, strict=True)
        if pte.values[index].kind != "null"
    ]
    make_folder(args.out)
    walked = walk(pte, arrays)
    matches, words = _matches(program, walked)
    try:
        _write(args.out, pte, walked, matches, words, feature_maps=args.feature_maps)
    except OSError as error:
        raise not_writable(args.out, error) from error
    _print(walked, matches, words, registers=args.registers)
    print(f"written to {args.out}")
    return 0


def _program(path: Path, tosa: tuple[Path, ...]) -> Program:
    """The program with the TOSA graphs that belong to it: given, or named by a ``program.json`` beside the file."""
    from dataclasses import replace

    from corstone.pipeline import load_pte

    stored = (path if path.is_dir() else path.parent) / "program.json"
    found = None
    if stored.is_file():
        try:
            found = Program.load(stored)
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{stored} is damaged: {error}", cause=Cause.BAD_INPUT) from error
    if path.is_dir():
        if found is None:
            raise ConfigError(f"{path} holds no program.json", hint="give a .pte, or the folder of a program or a case")
        program = found
    else:
        program = load_pte(path)
        if found is not None and found.pte.resolve() == path.resolve():
            program = replace(program, tosa=found.tosa)
    return replace(program, tosa=tosa) if tosa else program


def _inputs(args: argparse.Namespace, program: Program) -> list[Path]:
    """The files given, or those that a case's folder keeps."""
    if args.input or not args.program.is_dir():
        return list(args.input)
    return [args.program / f"in-{number}.bin" for number in range(len(program.inputs))]


def _matches(program: Program, walked: Walk) -> tuple[list[list[Match | None]], str]:
    """A match a command of each call, and what to say about them together."""
    from corstone.looking.matching import inner_tensors, match

    nothing: list[list[Match | None]] = [[None] * len(commands) for commands in walked.commands]
    if not program.tosa:
        return nothing, "matched with nothing: the program came without its TOSA graph (--tosa FILE gives one)"
    if len(program.tosa) != len(walked.calls):
        return nothing, f"matched with nothing: {len(program.tosa)} TOSA graphs for {len(walked.calls)} delegate calls"
    try:
        tensors = inner_tensors(program, walked)
    except HarnessError as error:
        return nothing, f"matched with nothing: {error.message}"
    except ValueError as error:
        return nothing, f"matched with nothing: the TOSA graph does not take the delegate's inputs ({error})"
    found = [match([c.ofm for c in commands], t) for commands, t in zip(walked.commands, tensors, strict=True)]
    hits = [hit for call in found for hit in call if hit is not None]
    maps = sum(c.ofm is not None for commands in walked.commands for c in commands)
    equal = sum(hit.equal for hit in hits)
    words = f"{equal} of {maps} feature maps equal a tensor of the TOSA graph"
    return found, words + (f", {len(hits) - equal} nearly" if len(hits) > equal else "")


def describe(found: Match | None) -> str:
    """A match for people."""
    if found is None:
        return "no TOSA tensor"
    name = found.tensor if found.part == "whole" else f"{found.tensor} ({found.part})"
    if found.equal:
        return f"= {name}"
    at = ",".join(map(str, found.first))
    return f"~ {name}: {found.differing} elements differ, first [{at}] is {found.got}, not {found.expected}"


def _write(
    out: Path,
    pte: PteFile,
    walked: Walk,
    matches: list[list[Match | None]],
    words: str,
    *,
    feature_maps: bool,
) -> None:
    import numpy as np

    from corstone.reference.plan import to_memory

    for number, (index, output) in enumerate(zip(pte.outputs, walked.outputs, strict=True)):
        order = getattr(pte.values[index].value, "dim_order", ())
        (out / f"out-{number}.bin").write_bytes(to_memory(np.asarray(output), order).tobytes())
    rows = [
        _row(command, found)
        for commands, call in zip(walked.commands, matches, strict=True)
        for command, found in zip(commands, call, strict=True)
    ]
    write_json(out / "trace.json", {"schema": SCHEMA, "matching": words, "commands": rows})
    if feature_maps:
        maps = {map_name(c): c.ofm for commands in walked.commands for c in commands if c.ofm is not None}
        np.savez_compressed(out / "feature-maps.npz", **maps)


def map_name(command: Command) -> str:
    """The key of a command's feature map in ``feature-maps.npz``."""
    return f"call{command.call}-{command.number:05d}-{command.name}"


def _row(command: Command, found: Match | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "call": command.call,
        "number": command.number,
        "offset": command.offset,
        "name": command.name,
        "operands": dict(command.operands),
        "registers": [{"name": name, **operands} for name, operands in command.registers],
        "tensors": {name: {k: _plain(v) for k, v in t.items()} for name, t in command.tensors.items()},
        "feature_map": map_name(command) if command.ofm is not None else None,
        "tosa": None,
    }
    if found is not None:
        row["tosa"] = {"tensor": found.tensor, "part": found.part, "differing": found.differing}
        if not found.equal:
            row["tosa"] |= {"first": list(found.first), "expected": found.expected, "got": found.got}
    return row


def _plain(value: object) -> object:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def _print(walked: Walk, matches: list[list[Match | None]], words: str, *, registers: bool) -> None:
    for number, (commands, call) in enumerate(zip(walked.commands, matches, strict=True)):
        print(f"delegate call {number}: {walked.stats[number].ops} operations, {walked.stats[number].macs:,} MACs")
        for command, found in zip(commands, call, strict=True):
            for name, operands in command.registers if registers else ():
                values = " ".join(f"{key}={shown(value)}" for key, value in operands.items())
                print(f"           {name} {values}")
            line = f"  {command.offset:#07x} {command.name}"
            print(terminal.safe(f"{line}  {describe(found)}" if command.ofm is not None else line))
            for name, tensor in command.tensors.items():
                print(f"           {name}: {_tiles(tensor)}")
    print(words)


def _tiles(tensor: Any) -> str:
    shape = list(tensor.get("shape", ()))
    if not isinstance(tensor.get("address"), list):
        return f"{tensor.get('dtype', '')}{shape} " + " ".join(
            f"{k}={shown(v)}" for k, v in tensor.items() if k not in ("shape", "dtype")
        )
    tiles = ", ".join(f"{address:#x}" for address in tensor["address"])
    strides = list(tensor["strides"])
    return f"{tensor['dtype']}{shape} {tensor['format']} strides {strides} at {tiles}"
