"""What Arm's inference runner (ml-embedded-evaluation-kit, mlia-ethos-u 26.03.0) logs, as evidence.

The image says how many inputs it took from where, whether the inference completed, how many output bytes it left
where, prints the NPU's counters as base64 JSON, and ends with a closing line, EOT and NUL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_POPULATED = re.compile(r"(\d+) input tensor/s populated with (\d+) bytes with data read from (0x[0-9a-fA-F]+)")
_COPIED = re.compile(r"(\d+) output tensor/s worth (\d+) bytes copied to (0x[0-9a-fA-F]+)")


@dataclass(frozen=True)
class Moved:
    """A number of tensors that moved: count, bytes in all, and the address."""

    tensors: int
    size_bytes: int
    address: int

    def __str__(self) -> str:
        return f"{self.tensors} tensors, {self.size_bytes} bytes at 0x{self.address:08x}"


@dataclass(frozen=True)
class MlekLog:
    """The runner's statements; None or False where it made none."""

    populated: Moved | None = None
    copied: Moved | None = None
    completed: bool = False
    failed: bool = False
    terminating: bool = False


def _moved(pattern: re.Pattern[str], lines: list[str]) -> Moved | None:
    for line in lines:
        found = pattern.search(line)
        if found:
            return Moved(int(found[1]), int(found[2]), int(found[3], 16))
    return None


def read_mlek(texts: Iterable[str]) -> MlekLog:
    """Collect the statements from the target's lines."""
    lines = list(texts)
    return MlekLog(
        populated=_moved(_POPULATED, lines),
        copied=_moved(_COPIED, lines),
        completed=any("Inference completed." in line for line in lines),
        failed=any("Inference failed." in line for line in lines),
        terminating=any("program terminating..." in line for line in lines),
    )
