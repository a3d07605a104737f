"""Checks of the program against the board's NPU: identifier, delegate, product, MACs, versions, alignment.

Rules of the driver (hal_ethos_u ethosu_device_u55_u65.c, ethosu_device_u85.c, ethosu_driver.c): product, MACs, command
stream version and, on U85, port counts must be equal; architecture major equal, the NPU's minor not smaller than the
stream's; command stream and base addresses aligned to 16 bytes.
"""

from __future__ import annotations

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.formats.tflite import is_tflite
from corstone.formats.vela import VelaBlob
from corstone.preflight.finding import ERROR, Finding, Subject
from corstone.targets import from_config

TFLM_WANTED = (
    "give --runner-elf of a TFLM inference runner that takes the model at run time (Arm's are in the wheel "
    "mlia-ethos-u: mlia/resources/backends/applications/*-tflm-*/*.axf); an image with its model compiled in needs no "
    "model file"
)
_ALIGNMENT = 16
_PRODUCTS = {0: "Ethos-U55", 1: "Ethos-U65", 2: "Ethos-U85"}


def identifier(subject: Subject) -> list[Finding]:
    """Bytes 4 to 7 are an identifier that the runner reads."""
    found = subject.program[4:8]
    if any(found == wanted.encode() for wanted in subject.runner.identifiers):
        return []
    offered = f"{subject.runner.name} reads {' or '.join(subject.runner.identifiers)}"
    if found.startswith(b"BP"):
        what = f"a bundled program (bytes 4 to 7 are {found!r})"
        change = "give the plain .pte, or --runner-elf of a runner built for bundled programs"
    elif is_tflite(subject.program):
        what = "a TensorFlow Lite model, no .pte"
        change = TFLM_WANTED
    elif "TFL3" in subject.runner.identifiers:
        what = f"no TensorFlow Lite model: bytes 4 to 7 are {found!r}"
        change = "give the .tflite that Vela wrote, or leave --runner-elf out to boot a .pte"
    else:
        what = f"not a program: bytes 4 to 7 are {found!r}, of {len(subject.program)} in all"
        change = "compile it again with the ExecuTorch release that the runner was built with"
    return [Finding("identifier", ERROR, Cause.BAD_PROGRAM, what, offered, change)]


def readable(subject: Subject) -> list[Finding]:
    """The program and its delegates can be read from end to end."""
    try:
        _ = subject.payloads
    except ConfigError as error:
        offered = f"{subject.runner.name} needs a whole file"
        return [Finding("readable", ERROR, error.cause, error.message, offered, error.hint)]
    return []


def operator(subject: Subject) -> list[Finding]:
    """A ``.tflite`` was compiled by Vela."""
    if subject.payloads:
        return []
    what, change = "the .tflite has no ethos-u operator", "compile it: vela MODEL.tflite --accelerator-config NPU"
    return [
        Finding("operator", ERROR, Cause.NO_DELEGATE, what, f"{subject.runner.name} has the ethos-u driver", change)
    ]


def delegate(subject: Subject) -> list[Finding]:
    """There is an Ethos-U delegate, and no delegate of another backend."""
    others = sorted({d.backend for d in subject.pte.delegates} - {"EthosUBackend"})
    offered = f"{subject.runner.name} has the Ethos-U backend"
    if others:
        what = f"the program has delegates of {', '.join(others)}"
        change = "lower the whole program with EthosUPartitioner"
        return [Finding("delegate", ERROR, Cause.UNSUPPORTED, what, offered, change)]
    if subject.pte.ethos_u:
        return []
    change = "lower with EthosUPartitioner: a program without a delegate never touches the NPU"
    return [Finding("delegate", ERROR, Cause.NO_DELEGATE, "the program has no Ethos-U delegate", offered, change)]


def configuration(subject: Subject) -> list[Finding]:
    """Product, MACs and command stream version equal the NPU's."""
    wanted = subject.target
    findings = []
    for config in sorted({payload.config for payload in subject.payloads}):
        if _essential(config) == _essential(wanted.config):
            continue
        row = from_config(config)
        name = row.name if row else f"CONFIG 0x{config:08x}"
        change = "compile for this target"
        if row is not None:
            fits = "" if row.name in subject.board.targets else " (another board)"
            change = f"boot with --target {row.name}{fits}, or compile for {wanted.name}"
        findings.append(
            Finding(
                "configuration",
                ERROR,
                Cause.WRONG_TARGET,
                f"the delegate is for {name}: {_words(config)}",
                f"{subject.board.name} was asked for {wanted.name}: {_words(wanted.config)}",
                change,
            )
        )
    return findings


def _essential(config: int) -> tuple[int, ...]:
    """The fields that the driver compares; SHRAM size and weight decoders are not among them."""
    product, ports = config >> 28, config >> 8 & 0x7
    return (product, config & 0xF, config >> 4 & 0xF, ports if product == 2 else 0)


def _words(config: int) -> str:
    product = _PRODUCTS.get(config >> 28, f"product {config >> 28}")
    return f"{product}, {1 << (config & 0xF)} MACs, command stream version {config >> 4 & 0xF}"


def architecture(subject: Subject) -> list[Finding]:
    """The NPU's architecture is not older than the one the stream was compiled for."""
    npu = _arch(subject.target.id)
    findings = []
    for stream in sorted({_arch(payload.id) for payload in subject.payloads}):
        if stream[0] == npu[0] and stream[1] <= npu[1]:
            continue
        findings.append(
            Finding(
                "architecture",
                ERROR,
                Cause.CONFIG_MISMATCH,
                f"the command stream is for architecture {'.'.join(map(str, stream))}",
                f"{subject.target.name} has {'.'.join(map(str, npu))}",
                "compile with the Vela version that this environment pins",
            )
        )
    return findings


def _arch(identifier: int) -> tuple[int, int, int]:
    return identifier >> 28 & 0xF, identifier >> 20 & 0xFF, identifier >> 16 & 0xF


def alignment(subject: Subject) -> list[Finding]:
    """What the NPU reads lies at multiples of 16 bytes: the delegates in the file, the stream and weights in them."""
    base = subject.runner.window.program if subject.runner.window else 0
    findings = []
    for index, (block, blob) in enumerate(zip(subject.pte.ethos_u, subject.blobs, strict=True)):
        offset = subject.program.find(block.data)
        for what, start in (("", offset), ("the command stream of ", _stream_offset(offset, block.data, blob))):
            if offset < 0 or (base + start) % _ALIGNMENT == 0:
                continue
            findings.append(
                Finding(
                    "alignment",
                    ERROR,
                    Cause.ALIGNMENT,
                    f"{what}delegate {index} lies at byte {start} of the program, address 0x{base + start:08x}",
                    f"the NPU reads at multiples of {_ALIGNMENT} bytes",
                    "write the .pte with delegate_alignment=16 (ExecutorchBackendConfig)",
                )
            )
    return findings


def _stream_offset(offset: int, block: bytes, blob: VelaBlob) -> int:
    return offset + block.find(blob.cmd_data) + blob.payload.offset
