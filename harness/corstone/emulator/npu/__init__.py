"""Functional, bit-exact model of the Arm Ethos-U55, U65 and U85 NPUs in numpy.

``execute`` runs a command stream on a ``Memory``. What it claims is what is measured: equality with the TOSA reference
model and with the vendor vectors named in the documentation. Timing is an estimate, never a cycle count of hardware.
Names are imported when they are asked for: who only reads a stream (``decode``) needs no datapath.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corstone.emulator.npu.config import NpuConfig
    from corstone.emulator.npu.errors import NpuError
    from corstone.emulator.npu.interpreter import execute
    from corstone.emulator.npu.memory import ArrayMemory, Memory
    from corstone.emulator.npu.stats import Limits, RunStats
    from corstone.emulator.npu.trace import TraceRecord

__all__ = ["ArrayMemory", "Limits", "Memory", "NpuConfig", "NpuError", "RunStats", "TraceRecord", "execute"]

_HOME = {
    "ArrayMemory": "memory",
    "Limits": "stats",
    "Memory": "memory",
    "NpuConfig": "config",
    "NpuError": "errors",
    "RunStats": "stats",
    "TraceRecord": "trace",
    "execute": "interpreter",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
