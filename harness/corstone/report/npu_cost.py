"""What a program costs the NPU: commands in its streams, and bytes from the beats a board counted."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from corstone.errors import HarnessError

COMMANDS = "npu_commands"
BYTES = "npu_bytes"
# The driver's names of what went over the AXI ports; data beats only, so that nothing is counted twice.
_BEATS = "_DATA_BEAT_"


@functools.lru_cache(maxsize=256)
def commands(pte: Path, stamp: int) -> int | None:
    """Commands in all command streams of a program; None when it cannot be read.

    ``stamp``: time of the file's last change, so that a file replaced under its name is read again.
    """
    from corstone.emulator.npu.decode import decode
    from corstone.formats.pte import read_pte
    from corstone.formats.vela import read_vela

    del stamp
    try:
        payloads = [read_vela(d.data).payload for d in read_pte(pte).ethos_u]
        return sum(decode(p.stream, p.target.product).codes.size for p in payloads if p.target is not None)
    except (HarnessError, OSError, ValueError):
        return None


def npu_cost(pte: Path, target: str, counters: Mapping[str, int]) -> dict[str, int]:
    """``npu_commands`` and ``npu_bytes`` where they are known."""
    found: dict[str, int] = {}
    try:
        count = commands(pte, pte.stat().st_mtime_ns)
    except OSError:
        count = None
    if count is not None:
        found[COMMANDS] = count
    beats = [n for name, n in counters.items() if _BEATS in name]
    if beats:
        from corstone.emulator.npu.config import NpuConfig

        found[BYTES] = sum(beats) * NpuConfig.for_target(target).axi_bytes
    return found
