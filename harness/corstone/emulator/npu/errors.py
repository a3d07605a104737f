"""How the NPU model stops: one error type with a kind, the command, its offset and its operands.

The kinds map to the STATUS bits of the hardware (ethos-u.md 1.2): ``bus`` sets bus_status, everything else
cmd_parse_error. Leaves out the registers themselves: the device around the model owns those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from corstone.causes import Cause
from corstone.errors import NpuFault

Kind = Literal["parse", "bus", "unsupported", "weights", "overlap", "limit", "overflow"]


class NpuError(NpuFault):
    """The NPU cannot go on.

    ``kind`` is ``parse`` (the stream is malformed or a needed register was never set), ``bus`` (an address outside
    memory), ``unsupported`` (legal, but not modelled), ``weights`` (a corrupt weight stream), ``overlap`` (an input
    and an output share bytes), ``limit`` (work, time or memory beyond the limits) or ``overflow`` (an accumulator
    beyond its width). ``name`` is the command, ``offset`` its byte offset in the stream, ``operands`` its fields.
    """

    default_cause = Cause.NPU_FAULT

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        name: str = "",
        offset: int = -1,
        operands: Mapping[str, object] | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: Kind = kind
        self.name = name
        self.offset = offset
        self.operands = dict(operands or {})

    def locate(self, name: str, offset: int, operands: Mapping[str, object]) -> NpuError:
        """Add the command that was being executed, where the place that raised did not know it."""
        if not self.name:
            self.name, self.offset, self.operands = name, offset, dict(operands)
        return self

    def __str__(self) -> str:
        where = f" in {self.name} at stream offset {self.offset:#x}" if self.name else ""
        operands = " ".join(f"{key}={value}" for key, value in self.operands.items())
        text = f"NPU {self.kind} fault{where}: {self.message}"
        if operands:
            text += f" ({operands})"
        return f"{text}\n  what to do: {self.hint}" if self.hint else text
