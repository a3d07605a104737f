"""A stage of lowering: its name, its result, and how its failure is told. Imports no torch.

The stages, in order: ``source`` (the module is made), ``export``, ``quantize``, ``tosa``, ``vela``, ``pte``.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from corstone.errors import HarnessError, StageError
from corstone.lowering.keys import file_sha256, tool_versions
from corstone.program import Provenance

STAGES = ("source", "export", "quantize", "tosa", "vela", "pte")
_HINTS = {
    "export": "torch.export must take the network: no control flow on values, inputs as positional tensors; "
    "the traceback's end says where it stopped",
}
_WORDS = 500


def _first(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


@dataclass(frozen=True)
class Artifact:
    """An immutable file and how it was made."""

    path: Path
    provenance: Provenance

    @property
    def sha256(self) -> str:
        """Hash of the file as it was written."""
        return self.provenance.output_sha256


def artifact(path: Path, stage: str, input_sha256: str, tool: str, options: Mapping[str, object]) -> Artifact:
    """Describe a file that a stage has just written. ``tool`` is a name of ``tool_versions``."""
    text = {name: str(value) for name, value in options.items()}
    return Artifact(path, Provenance(stage, input_sha256, file_sha256(path), tool, tool_versions().get(tool, ""), text))


@dataclass
class Run:
    """The stages of one request as they pass: where it is, what was made, how long each took (seconds)."""

    report: Callable[[str], None]
    artifacts: list[Artifact] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Report the stage, time it, and turn whatever it raises into a ``StageError`` that names it."""
        self.report(name)
        begin = time.perf_counter()
        try:
            yield
        except HarnessError:
            raise
        # SystemExit: Vela's command line leaves by it. Anything else a tool may raise is the stage's failure.
        except (Exception, SystemExit) as error:
            # Pass managers wrap what went wrong; the first exception of the chain says it.
            first = _first(error)
            lines = "".join(traceback.format_exception(first)).splitlines()
            raise StageError(
                f"the stage '{name}' failed: {type(first).__name__}: {str(first).strip()[:_WORDS] or 'no message'}",
                hint=_HINTS.get(name, "the traceback's end is the tool's own; 'corstone doctor' shows the versions"),
                evidence={"stage": name, "traceback": "\n" + "\n".join(lines[-12:])},
            ) from error
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
