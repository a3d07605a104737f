"""One finding of a check, and the subject that checks look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from corstone.boards.board import Board
from corstone.causes import Cause
from corstone.formats.elf import Elf, read_elf
from corstone.formats.pte import PteFile, read_pte
from corstone.formats.tflite import is_tflite, read_tflite
from corstone.formats.vela import Payload, VelaBlob, read_vela
from corstone.runners import Runner
from corstone.targets import Target

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True)
class Finding:
    """``found`` is what the program or ELF has, ``offered`` what board or runner have, ``change`` what to do.

    An ``error`` keeps the program from booting; a ``warning`` does not.
    """

    check: str
    severity: str
    cause: Cause
    found: str
    offered: str
    change: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.check}: {self.found}; {self.offered}. {self.change}"


@dataclass(frozen=True)
class Subject:
    """A program on a board. ``image`` is the runner's ELF, None when it is not at hand (then its checks are left out).

    ``deep`` reads the ELF itself: for images a user brings; ours and Arm's are known by their hash.
    """

    program: bytes = field(repr=False)
    board: Board
    target: Target
    runner: Runner
    provider: str = "emulator"
    image: Path | None = None
    deep: bool = False

    @cached_property
    def pte(self) -> PteFile:
        """The program read; raises ConfigError when it cannot be."""
        return read_pte(self.program)

    @cached_property
    def blobs(self) -> tuple[VelaBlob, ...]:
        """The Ethos-U delegates read."""
        return tuple(read_vela(delegate.data) for delegate in self.pte.ethos_u)

    @cached_property
    def payloads(self) -> tuple[Payload, ...]:
        """The driver payloads, of a ``.pte`` or a ``.tflite``; raises ConfigError when they cannot be read."""
        if is_tflite(self.program):
            return read_tflite(self.program).payloads
        return tuple(blob.payload for blob in self.blobs)

    @cached_property
    def elf(self) -> Elf | None:
        """The runner's ELF read, None when it is not to be looked into."""
        return read_elf(self.image) if self.image is not None and self.deep else None


Check = Callable[[Subject], "list[Finding]"]
