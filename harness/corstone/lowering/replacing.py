"""Whether a library's function is still the one that was read when its replacement was written. Needs no torch."""

from __future__ import annotations

import hashlib
import inspect
from typing import Any


def is_known(function: Any, sha256: str) -> bool:
    """Whether the function's source has that hash; False where there is none, as for a function already replaced."""
    try:
        source = inspect.getsource(function)
    except (OSError, TypeError):
        return False
    return hashlib.sha256(source.encode()).hexdigest() == sha256
