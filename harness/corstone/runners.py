"""Runner images as data: what runs on the board's CPU, how programs travel to it, and how it ends.

Arm's images come from the wheel ``mlia-ethos-u`` 0.1.0 (built March 2026 from the ml-embedded-evaluation-kit; the real
ExecuTorch runtime with all portable kernels and the real Ethos-U driver; Apache-2.0 AND BSD-3-Clause and CC-PDDC). Our
own is built from ``harness/corstone/firmware``. Leaves out fetching (``corstone.setup``) and booting.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.targets import target as target_named


class Transport(StrEnum):
    """How program, inputs and outputs travel: through memory (``--data``, ``--dump``) or semihosting files."""

    MEMORY = "memory"
    SEMIHOSTING = "semihosting"
    NONE = "none"


@dataclass(frozen=True)
class WheelImage:
    """An image inside a wheel, with the hashes of both."""

    distribution: str
    version: str
    wheel_sha256: str
    member: str
    sha256: str

    @property
    def file_name(self) -> str:
        """The image's own file name."""
        return self.member.rpartition("/")[2]


@dataclass(frozen=True)
class BuiltImage:
    """An image that ``corstone.firmware`` builds for a board."""

    board: str


@dataclass(frozen=True)
class FileImage:
    """An image that the user names."""

    path: Path


Image = WheelImage | BuiltImage | FileImage


@dataclass(frozen=True)
class Window:
    """Addresses of the memory transport, each with its room in bytes."""

    program: int
    program_size: int
    inputs: int
    inputs_size: int
    outputs: int
    outputs_size: int


@dataclass(frozen=True)
class Runner:
    """One runner.

    ``dialect`` names the log it writes: ``mlek``, ``executorch``, ``corstone`` (ours) or ``plain``. ``identifiers`` are
    the program identifiers it reads. ``pools`` are its allocators in bytes; where none is given the ELF's symbols
    decide. ``inputs_in`` is the allocator that also takes a copy of the inputs. ``lacks`` names what a program must not
    need: ``non-tensor-inputs``, ``rank-0``. ``providers`` can play its board.
    """

    name: str
    title: str
    board: str
    products: tuple[str, ...]
    transport: Transport
    dialect: str
    image: Image
    window: Window | None = None
    identifiers: tuple[str, ...] = ("ET12",)
    pools: tuple[tuple[str, int], ...] = ()
    inputs_in: str = ""
    lacks: tuple[str, ...] = ()
    providers: tuple[str, ...] = ("fvp", "emulator")

    def pool(self, name: str) -> int | None:
        """Size of an allocator in bytes, None when unknown."""
        return dict(self.pools).get(name)


_WHEEL = ("mlia-ethos-u", "0.1.0", "883212dbecb724b274c3c681df01d91c9b368e2a69d8f903e56e5875a0de9dae")
_FOLDER = "mlia/resources/backends/applications/inference_runner-{}-Default-noTA/mlek_inference_runner.axf"

# Where the image looks (its own log lines say so): program 32 MB, inputs and outputs 16 MB each, scratch behind them.
_WINDOW = Window(0x90000000, 32 << 20, 0x92000000, 16 << 20, 0x93000000, 16 << 20)

# One pool for plan and scratch (firmware/ld: __pool_start to __pool_end), in DDR.
_OUR_POOLS = (("method", 256 << 20), ("scratch", 256 << 20))

RUNNERS: tuple[Runner, ...] = (
    Runner(
        name="arm-executorch-u55",
        title="Arm's ExecuTorch inference runner for Corstone-300 with Ethos-U55 (26.03.0)",
        board="corstone-300",
        products=("U55",),
        transport=Transport.MEMORY,
        dialect="mlek",
        image=WheelImage(
            *_WHEEL,
            _FOLDER.format("sse-300-26.03.0-executorch-ethos-U55"),
            "59dd86b81d47a076fbd6ef0c970e8a5b6d3bc82608da32dfd38ac00de4877f5c",
        ),
        window=_WINDOW,
        # As the image itself logs them: method pool in ISRAM, temporary pool (NPU scratch) at 0x94000000.
        pools=(("method", 2 << 20), ("scratch", 32 << 20)),
        # It aborts where they do not fit beside the plan: "Could not allocate memory for input buffers" (EtModel.cc).
        inputs_in="method",
        lacks=("non-tensor-inputs", "rank-0"),
    ),
    Runner(
        name="arm-executorch-u85",
        title="Arm's ExecuTorch inference runner for Corstone-320 with Ethos-U85 (26.03.0)",
        board="corstone-320",
        products=("U85",),
        transport=Transport.MEMORY,
        dialect="mlek",
        image=WheelImage(
            *_WHEEL,
            _FOLDER.format("sse-320-26.03.0-executorch-ethos-U85"),
            "081640840d4e38448e708f8495e88f30f42fd86714bc0fb4ea8306184f56598f",
        ),
        window=_WINDOW,
        lacks=("non-tensor-inputs", "rank-0"),
        # Its code is at 0x12000000, where no QEMU machine has memory.
        providers=("fvp",),
    ),
    Runner(
        name="corstone-300",
        title="our runner for Corstone-300",
        board="corstone-300",
        products=("U55", "U65"),
        transport=Transport.SEMIHOSTING,
        dialect="corstone",
        image=BuiltImage("corstone-300"),
        pools=_OUR_POOLS,
    ),
    Runner(
        name="corstone-320",
        title="our runner for Corstone-320",
        board="corstone-320",
        products=("U85",),
        transport=Transport.SEMIHOSTING,
        dialect="corstone",
        image=BuiltImage("corstone-320"),
        pools=_OUR_POOLS,
    ),
)


def runner(name: str) -> Runner:
    """The runner of that name.

    Raises
    ------
    ConfigError: there is none; the message lists those there are.
    """
    for row in RUNNERS:
        if row.name == name:
            return row
    raise ConfigError(f"there is no runner {name!r}", hint="use one of " + ", ".join(r.name for r in RUNNERS))


def default_runner(board: str, target: str, provider: str, needs: frozenset[str] = frozenset()) -> Runner:
    """The runner used when none is asked for.

    On the emulator the first row that fits: Arm's own image where it boots, so that only the board and the NPU are
    ours. On an FVP the semihosting runner, as ``--dump`` is in no public log of an FVP. ``needs`` are words of
    ``Runner.lacks`` that the program requires.

    Raises
    ------
    ConfigError: no runner fits; the message says why each does not.
    """
    product = target_named(target).product
    reasons = []
    fitting = []
    for row in RUNNERS:
        if row.board != board or product not in row.products:
            continue
        missing = needs & set(row.lacks)
        if provider not in row.providers:
            reasons.append(f"{row.name} does not boot on the {provider}")
        elif missing:
            reasons.append(f"{row.name} cannot do {', '.join(sorted(missing))}")
        else:
            fitting.append(row)
    if not fitting:
        raise ConfigError(
            f"no runner for {target} on {board} with the {provider}",
            cause=Cause.UNSUPPORTED,
            hint="; ".join(reasons) or "give one with --runner-elf",
        )
    if provider == "fvp":
        fitting.sort(key=lambda row: row.transport is not Transport.SEMIHOSTING)
    return fitting[0]


def sharing_runner(target: str, board: str | None = None) -> str:
    """The name of the runner that takes several runs in one boot.

    Raises
    ------
    ConfigError: none does for that target, or on that board.
    """
    product = target_named(target).product
    for row in RUNNERS:
        if row.dialect == "corstone" and product in row.products and board in (None, row.board):
            return row.name
    raise ConfigError(
        f"no runner for {target} on {board or 'any board'} takes several runs in one boot", cause=Cause.UNSUPPORTED
    )


# What an ELF's own text says about the protocol it speaks, first match; without one it is booted for its console.
_PROTOCOLS: tuple[tuple[bytes, str], ...] = (
    (b"@corstone {", "corstone"),
    (b"input tensor/s populated with", "mlek"),
    (b"Writing output to file: ", "executorch"),
)


def protocol_of(path: Path) -> str:
    """The dialect that an ELF speaks, by the texts in it; ``plain`` when it has none of those known."""
    content = path.read_bytes()
    return next((dialect for mark, dialect in _PROTOCOLS if mark in content), "plain")


def elf_runner(path: Path, board: str, dialect: str | None = None) -> Runner:
    """A runner for an ELF the user brings; protocol and addresses follow from its dialect.

    Raises
    ------
    ConfigError: there is no such file.
    """
    if not path.is_file():
        raise ConfigError(f"there is no runner ELF at {path}", cause=Cause.BAD_INPUT, hint="check --runner-elf")
    dialect = dialect or protocol_of(path)
    transports = {"mlek": Transport.MEMORY, "executorch": Transport.SEMIHOSTING, "corstone": Transport.SEMIHOSTING}
    return Runner(
        name=path.name,
        title=f"{path.name} (given by the user)",
        board=board,
        products=("U55", "U65", "U85"),
        transport=transports.get(dialect, Transport.NONE),
        dialect=dialect,
        image=FileImage(path),
        window=_WINDOW if dialect == "mlek" else None,
        lacks=("non-tensor-inputs", "rank-0") if dialect == "mlek" else (),
        identifiers=("TFL3",) if dialect == "mlek" and _is_tflm(path) else ("ET12",),
    )


def _is_tflm(path: Path) -> bool:
    """Whether an inference runner is TFLM's: it compares the model's schema version, ExecuTorch's names itself."""
    content = path.read_bytes()
    return b"schema version" in content and b"executorch" not in content


def file_sha256(path: Path) -> str:
    """Hash of a file's bytes, in hex."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
