"""A simulator that was found: how to start it, and who it says it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from corstone.capture import Executor


@dataclass(frozen=True)
class Tried:
    """One candidate of a search and what it answered."""

    path: str
    answer: str


@dataclass(frozen=True)
class Simulator:
    """``argv`` starts it; ``env`` is laid over the caller's environment; ``kind`` is ``fvp`` or ``emulator``.

    ``forks``: it is our own emulator of this installation, so that a server may fork what ``argv`` would start.
    """

    kind: str
    argv: tuple[str, ...]
    name: str
    version: str
    env: Mapping[str, str] = field(default_factory=dict)
    tried: tuple[Tried, ...] = ()
    forks: bool = False

    @property
    def executor(self) -> Executor:
        """Who runs the program, as a capture states it."""
        return Executor(self.kind, self.name, self.version)
