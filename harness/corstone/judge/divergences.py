"""Known divergences, by name: where public reports say that a real device answers otherwise than TOSA.

No tolerance comes from here. A verdict on a matching program carries the note, because agreement of emulator and
reference says nothing about silicon or an FVP at that place.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Divergence:
    """``operator`` and ``dtype`` as the TOSA graph names them (``REDUCE_SUM``, ``int16``); ``targets`` are prefixes."""

    name: str
    operator: str
    dtype: str
    targets: tuple[str, ...]
    text: str
    source: str


KNOWN = (
    Divergence(
        name="u85-int16-reduce-sum",
        operator="REDUCE_SUM",
        dtype="int16",
        targets=("ethos-u85",),
        text="on Ethos-U85 an int16 ReduceSum is reported to give zeros",
        source="pytorch/executorch pull requests 19319 and 19493; Vela issue 23",
    ),
)


def divergence_notes(target: str, operators: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """Notes for a program on ``target`` with these ``(operator, dtype)`` pairs; names are compared without case."""
    present = {(op.upper(), dtype.lower()) for op, dtype in operators}
    return tuple(
        f"not FVP-equivalent ({row.name}): {row.text} ({row.source})"
        for row in KNOWN
        if (row.operator, row.dtype) in present and target.startswith(row.targets)
    )
