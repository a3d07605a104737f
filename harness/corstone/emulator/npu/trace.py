"""The trace hook: one record a command, as the model executes it.

A hook is any callable that takes a ``TraceRecord``. When it has a true attribute ``wants_ofm``, records of operations
carry a copy of the feature map they wrote. Leaves out formatting for people: ``corstone trace`` does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from corstone.emulator.npu.types import Array


@dataclass(frozen=True)
class TraceRecord:
    """One executed command.

    ``kind`` is ``set`` for a register write and ``op`` for an operation or control command. ``ofm`` is the feature map
    written, ``[H, W, C]`` before any OFM transpose, in the OFM's type; None for other commands or when not asked for.
    ``tensors`` describes the feature maps of an operation: address, shape, strides, format, type.
    """

    offset: int
    name: str
    kind: str
    operands: Mapping[str, object]
    ofm: Array | None = None
    tensors: Mapping[str, Mapping[str, object]] | None = None


Trace = Callable[[TraceRecord], None]
