"""``corstone explain``: what is inside a ``.pte``. Nothing is run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from corstone.commands import options
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.looking.inventory import DelegateParts, Inventory, inventory, npu_commands
from corstone.report import terminal
from corstone.report.folder import make_folder, not_writable
from corstone.report.json_file import write_json


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Make the parser."""
    parser = subparsers.add_parser(
        "explain",
        help="what is inside a .pte: delegates, memory, NPU commands",
        description="Take a .pte apart: inputs, outputs, memory, delegates, NPU commands, and what stayed on the CPU.",
    )
    parser.add_argument("program", metavar="PROGRAM.pte", type=options.path)
    parser.add_argument("--commands", action="store_true", help="list every NPU command with its operands")
    parser.add_argument("--json", metavar="FILE", type=options.path, help="write all of it as JSON")
    return parser


def run(args: argparse.Namespace) -> int:
    """Print, and write JSON where asked; 0 when the file could be read."""
    pte = read_pte(args.program)
    parts = inventory(pte)
    listing = {d.number: npu_commands(read_vela(pte.delegates[d.number].data)) for d in parts.delegates if d.config}
    if args.json:
        make_folder(args.json.parent)
        data = parts.to_json()
        if args.commands:
            data["commands"] = {
                str(number): [
                    {"offset": c.offset, "name": c.name, "kind": c.kind, "operands": c.operands} for c in commands
                ]
                for number, commands in listing.items()
            }
        try:
            write_json(args.json, data)
        except OSError as error:
            raise not_writable(args.json, error) from error
    for line in text(parts):
        print(terminal.safe(line))
    for number, commands in listing.items() if args.commands else ():
        print(f"\ncommands of delegate {number}")
        for command in commands:
            words = " ".join(f"{name}={shown(value)}" for name, value in command.operands.items())
            indent = "" if command.kind == "op" else "    "
            print(f"  {command.offset:#07x} {indent}{command.name} {words}".rstrip())
    return 0


def shown(value: object) -> str:
    """An operand for people: larger numbers in hex."""
    plain = not isinstance(value, int) or isinstance(value, bool) or -10 < value < 10
    return str(value) if plain else f"{value:#x}"


def text(parts: Inventory) -> Iterator[str]:
    """The program in lines."""
    yield f"program      {parts.size_bytes:,} bytes, sha256 {parts.sha256[:16]}, method {parts.method!r}"
    for title, rows in (("inputs", parts.inputs), ("outputs", parts.outputs)):
        yield from _list(title, [f"{r['name']}: {r['dtype']}{r['shape']}, {r['size_bytes']:,} bytes" for r in rows])
    scratch = max((d.scratch_bytes for d in parts.delegates), default=0)
    weights = sum(d.weights_bytes for d in parts.delegates)
    yield from _list(
        "memory",
        [
            f"scratch  {scratch:,} bytes (the NPU's feature maps; the largest delegate's)",
            f"method   {parts.method_bytes:,} bytes (tensors between CPU and NPU)",
            f"weights  {weights:,} bytes (read only, in the program: weights, scales, tables)",
        ],
    )
    for delegate in parts.delegates:
        yield from _delegate(delegate)
    if not parts.delegates:
        yield "delegates    none: this program never touches the NPU"
    if not parts.kernels:
        yield "on the CPU   nothing"
        return
    lines = []
    for kernel in parts.kernels:
        having = [name for name, there in kernel.runners.items() if there]
        unknown = [name for name, there in kernel.runners.items() if there is None]
        who = f"in {', '.join(having)}" if having else "in no runner known here"
        who += f"; not known of {', '.join(unknown)} (corstone setup fetches it)" if unknown else ""
        lines.append(f"{kernel.calls} x {kernel.name} ({who})")
    yield from _list("on the CPU", lines)


def _delegate(part: DelegateParts) -> Iterator[str]:
    rows = []
    if part.config:
        rows.append(f"for {part.target or 'an unknown NPU'} (CONFIG {part.config}), called {_times(part.calls)}")
        rows += [f"input {i}: {_tensor(t)}" for i, t in enumerate(part.inputs)]
        rows += [f"output {i}: {_tensor(t)}" for i, t in enumerate(part.outputs)]
        rows.append(f"weights {part.weights_bytes:,} bytes, scratch {part.scratch_bytes:,} bytes")
        total = part.registers + sum(part.operations.values())
        rows.append(f"stream {part.stream_bytes:,} bytes, {total:,} commands, {part.registers:,} of them set registers")
        rows += [f"{count:6,} {name}" for name, count in part.operations.items()]
    if part.problem:
        rows.append(f"problem: {part.problem}")
    yield from _list(f"delegate {part.number}", [f"{part.backend}, {part.size_bytes:,} bytes", *rows])


def _tensor(tensor: dict[str, Any]) -> str:
    shape = list(tensor["shape"])
    while len(shape) > 1 and shape[0] == 1:
        shape.pop(0)
    return f"{shape} of {tensor['elem_size']} bytes, at scratch offset {tensor['offset']:#x}"


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")


def _list(title: str, rows: list[str]) -> Iterator[str]:
    for number, row in enumerate(rows or ["none"]):
        yield f"{title if number == 0 else '':12} {row}"
