"""Expected outputs: ``table`` and ``tosa`` in the integer domain, ``float`` and ``fake-quantized`` as real values.

``references`` answers for a whole program, CPU kernels included (``answers.answers`` also keeps what went into and out
of each delegate). Names are imported when they are asked for, so a process that runs one reference loads no other.
Importing them imports no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corstone.reference.answers import references
    from corstone.reference.domains import domain_findings, operators_of

__all__ = ["domain_findings", "operators_of", "references"]

_HOME = {"domain_findings": "domains", "operators_of": "domains", "references": "answers"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
