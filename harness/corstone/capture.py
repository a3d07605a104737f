"""A Capture: all that one boot gave back, on disk, so that a run can be judged again without a board.

Layout of a capture folder::

    capture.json     what follows, without the bytes
    program.json     the Program (its files beside it or in the cache)
    in-<i>.bin       raw inputs as the device got them
    out-<i>.bin      raw outputs as the device left them
    console.log      the transcript, raw bytes
    trace.txt        the decoded command stream, when asked for
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from corstone.causes import Cause, Outcome

SCHEMA = 1


@dataclass(frozen=True)
class Executor:
    """Who ran the program. ``kind`` is ``fvp`` or ``emulator``; the two are never mixed up."""

    kind: str
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Ending:
    """How the boot ended, as far as the boot alone can tell; PASSED here only means: finished with all outputs."""

    outcome: Outcome
    cause: Cause
    message: str
    hint: str = ""
    evidence: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Capture:
    """One boot. ``folder`` holds the files; ``counters`` the NPU's PMU counts by name; times in seconds."""

    folder: Path
    executor: Executor
    board: str
    target: str
    runner: str
    runner_sha256: str
    ending: Ending
    command: tuple[str, ...] = ()
    exit_status: int | None = None
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    counters: dict[str, int] = field(default_factory=dict)
    evidence: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def console(self) -> bytes:
        """The transcript as raw bytes; empty when nothing was printed."""
        path = self.folder / "console.log"
        return path.read_bytes() if path.exists() else b""

    def output_bytes(self) -> tuple[bytes, ...]:
        """The outputs in order, as the device left them."""
        return tuple((self.folder / name).read_bytes() for name in self.outputs)

    def input_bytes(self) -> tuple[bytes, ...]:
        """The inputs in order, as the device got them."""
        return tuple((self.folder / name).read_bytes() for name in self.inputs)

    def save(self) -> None:
        """Write ``capture.json`` into the folder."""
        data = asdict(self) | {"schema": SCHEMA}
        del data["folder"]
        (self.folder / "capture.json").write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")

    @staticmethod
    def load(folder: Path) -> Capture:
        """Read a capture folder.

        Raises
        ------
        ValueError: it names a file outside itself, or is no capture (also KeyError, TypeError).
        """
        data: dict[str, Any] = json.loads((folder / "capture.json").read_text())
        data.pop("schema")
        for name in (*data["inputs"], *data["outputs"]):
            if Path(name).name != name or name in {"", ".."}:
                raise ValueError(f"it names a file outside the capture: {name!r}")
        ending = data.pop("ending")
        return Capture(
            folder=folder,
            executor=Executor(**data.pop("executor")),
            ending=Ending(Outcome(ending.pop("outcome")), Cause(ending.pop("cause")), **ending),
            command=tuple(data.pop("command")),
            outputs=tuple(data.pop("outputs")),
            inputs=tuple(data.pop("inputs")),
            notes=tuple(data.pop("notes")),
            **data,
        )
