"""One zip with which somebody else can replay a case: everything that went into a capture, and what came out.

::

    README.md       what happened, and the one command that replays it
    bundle.json     verdict, versions, and the SHA-256 of every file
    source/         the Python file of the module, where there is one
    program/        program.pte, each delegate as TOSA and as Vela's stream, the float and the quantized graph
    stream/         each delegate's NPU commands as text
    qparams.json    scales and zero points: inputs, outputs, every operator
    capture/        inputs, outputs, console, references, budgets, verdict

Paths, user and host names are taken out (``scrub``). Leaves out replaying (``replay``).
"""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corstone import __version__
from corstone.accuracy.scrub import Personal
from corstone.causes import Cause
from corstone.emulator.npu.decode import decode
from corstone.errors import ConfigError, HarnessError
from corstone.formats.pte import read_pte
from corstone.formats.vela import read_vela
from corstone.judge.stored import judge_folder
from corstone.judge.verdict import Verdict
from corstone.program import Program

SCHEMA = 1
CAPTURE, PROGRAM = "capture", "program"
_PROGRAM_FILES = ("exported.pt2", "quantized.pt2", "operators.json")
# The same bytes for the same capture: no time of day in the archive.
_STAMP = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Bundle:
    """A bundle that was written: where, its files, and personal things that could not be taken out."""

    path: Path
    files: tuple[str, ...]
    verdict: Verdict
    leaks: tuple[str, ...]


def make_bundle(capture: Path, into: Path, personal: Personal | None = None) -> Bundle:
    """Write the zip.

    Raises
    ------
    ConfigError: the folder holds no capture that can be judged, its program is gone, or ``into`` cannot be written.
    """
    stored, program, _, verdict = judge_folder(capture)
    if program is None:
        raise ConfigError(
            f"{capture} has no program.json: there is nothing to replay",
            cause=Cause.BAD_INPUT,
            hint="bundle a capture of `corstone check` or of the pytest plugin",
        )
    if not program.pte.is_file():
        raise ConfigError(
            f"the program of {capture} is gone: {program.pte}",
            cause=Cause.CACHE,
            hint="run the case again; the cache that held the program was cleared",
        )
    personal = personal or Personal.of_this_machine([(capture.resolve(), "<capture>")])
    files = {name: personal.file(name, data) for name, data in _contents(capture, program)}
    about = _about(program, verdict, str(stored.executor), capture)
    files["README.md"] = personal.text(_readme(about, into.name, sorted(files))).encode()
    about["files"] = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    files["bundle.json"] = personal.text(json.dumps(about, indent=1, sort_keys=True) + "\n").encode()
    try:
        into.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(files):
                entry = zipfile.ZipInfo(name, _STAMP)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, files[name])
    except OSError as error:
        raise ConfigError(
            f"cannot write {into}: {error.strerror or error}", cause=Cause.NOT_WRITABLE, hint="name a file with -o"
        ) from error
    leaks = tuple(leak for name, data in sorted(files.items()) for leak in personal.leaks(name, data))
    return Bundle(into, tuple(sorted(files)), verdict, leaks)


def _contents(capture: Path, program: Program) -> Iterator[tuple[str, bytes]]:
    home = program.pte.parent
    for path in sorted(capture.iterdir()):
        if path.is_file() and path.name != "program.json" and not path.name.startswith("."):
            yield f"{CAPTURE}/{path.name}", path.read_bytes()
    yield f"{CAPTURE}/program.json", _moved(capture / "program.json", program)
    yield f"{PROGRAM}/program.pte", program.pte.read_bytes()
    for path in (*program.tosa, *sorted(home.glob("delegate-*.vela")), *sorted(home.glob("delegate-*.csv"))):
        yield f"{PROGRAM}/{path.name}", path.read_bytes()
    for name in _PROGRAM_FILES:
        if (home / name).is_file():
            yield f"{PROGRAM}/{name}", (home / name).read_bytes()
    for number, text in enumerate(stream_listings(program.pte)):
        yield f"stream/delegate-{number}.txt", text.encode()
    yield "qparams.json", _qparams(program).encode()
    if (source := source_file(program.source)) is not None:
        yield f"source/{source.name}", source.read_bytes()


def _moved(path: Path, program: Program) -> bytes:
    """``program.json`` with its files beside it in the bundle."""
    data: dict[str, Any] = json.loads(path.read_text())
    data["pte"] = f"../{PROGRAM}/program.pte"
    data["tosa"] = [f"../{PROGRAM}/{tosa.name}" for tosa in program.tosa]
    return (json.dumps(data, indent=1, sort_keys=True) + "\n").encode()


def stream_listings(pte: Path) -> tuple[str, ...]:
    """The NPU commands of each delegate, one line a command; a delegate that cannot be read says why."""
    listings = []
    for delegate in read_pte(pte).ethos_u:
        try:
            payload = read_vela(delegate.data).payload
            if payload.target is None:
                listings.append(f"CONFIG {payload.config:#010x} is that of no known target\n")
                continue
            commands = decode(payload.stream, payload.target.product)
            lines = []
            for i in range(commands.bad):
                words = " ".join(f"{key}={value}" for key, value in commands.operands(i).items())
                lines.append(f"{int(commands.offsets[i]):#06x} {commands.row(i).name} {words}".rstrip())
            if commands.bad < commands.codes.size:
                lines.append(f"malformed: {commands.fault(commands.bad)}")
            listings.append("\n".join(lines) + "\n")
        except HarnessError as error:
            listings.append(f"{error.message}\n")
    return tuple(listings)


def _qparams(program: Program) -> str:
    path = program.pte.parent / "operators.json"
    rows = json.loads(path.read_text()) if path.is_file() else []

    def named(specs: Sequence[Any], qparams: Sequence[Any]) -> dict[str, Any]:
        given = list(qparams) or [None] * len(specs)
        return {s.name: None if q is None else vars(q) for s, q in zip(specs, given, strict=True)}

    data = {
        "inputs": named(program.inputs, program.input_qparams),
        "outputs": named(program.outputs, program.output_qparams),
        "operators": rows,
    }
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def source_file(source: str) -> Path | None:
    """The Python file that a program's ``source`` names; None for an exported program, or when it is gone."""
    kind, _, rest = source.partition(":")
    if kind == "file":
        path = Path(rest.rpartition(":")[0])
        return path if path.is_file() else None
    if kind == "network":
        from corstone_models.networks import NETWORKS

        if rest not in NETWORKS:
            return None
        kind, rest = "module", NETWORKS[rest].module
    if kind != "module":
        return None
    return module_file(rest.partition(":")[0])


def module_file(name: str) -> Path | None:
    """The file of an importable module, found without importing it."""
    relative = Path(*name.split("."))
    for entry in ("", *sys.path):
        for path in (Path(entry or ".") / relative.with_suffix(".py"), Path(entry or ".") / relative / "__init__.py"):
            if path.is_file():
                return path
    return None


def _about(program: Program, verdict: Verdict, executor: str, capture: Path) -> dict[str, Any]:
    record = capture / "record.json"
    stored = json.loads(record.read_text()) if record.is_file() else {}
    return {
        "schema": SCHEMA,
        "case": stored.get("case_id", capture.name),
        "network": program.network,
        "source": program.source,
        "bits": program.bits,
        "policy": program.policy,
        "target": program.target,
        "executor": executor,
        "verdict": str(verdict.outcome),
        "cause": str(verdict.cause),
        "reason": verdict.reason,
        "first_difference": verdict.first_difference,
        "repro": stored.get("repro", ""),
        "versions": {"corstone": __version__, **program.versions, **stored.get("versions", {})},
    }


def _readme(about: dict[str, Any], name: str, files: Sequence[str]) -> str:
    source = next((f for f in files if f.startswith("source/")), "")
    module = f"`{source}` ({about['source']})" if source else "`program/exported.pt2` (`torch.export.load`)"
    versions = "\n".join(f"| {tool} | {version} |" for tool, version in sorted(about["versions"].items()))
    again = f"\nFrom the source, compiler included: `{about['repro']}`\n" if about["repro"] else ""
    different = f"\nFirst difference: {about['first_difference']}\n" if about["first_difference"] else ""
    return f"""# {about["case"]}: {about["verdict"]} ({about["cause"]})

{about["reason"]}
{different}
Executed by {about["executor"]}, program for {about["target"]}.

## Replay

    corstone bundle --replay {name}

(or `corstone bundle --replay .` in the unpacked folder). It needs corstone-harness {about["versions"]["corstone"]} and
what `corstone setup` fetches; nothing is compiled, and torch is not needed. It boots `program/program.pte` on
`capture/in-*.bin`, judges the answer by the references and budgets in `capture/`, and exits 0 when the verdict and
every output byte are the ones above. Add `--provider fvp` to ask an FVP.
{again}
## What is here

- module: {module}
- `program/`: the `.pte`; each delegate as TOSA and as Vela's stream; the float and the quantized graph
- `stream/`: the NPU commands as text; `qparams.json`: scales and zero points
- `capture/`: inputs, outputs, console, references (`ref-*.npy`), budgets (`judge.json`), the verdict (`record.json`)

Paths, user and host names were taken out.

| tool | version |
|---|---|
{versions}
"""
