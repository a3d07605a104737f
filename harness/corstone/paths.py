"""Paths that people write: ``~`` and ``~user`` are expanded, the way a shell does it.

Leaves out: whether the path exists, and which folder a relative one counts from.
"""

from __future__ import annotations

import os
from pathlib import Path


def user_path(text: str | Path) -> Path:
    """``text`` with a leading ``~`` or ``~user`` expanded.

    Like a shell, and unlike `Path.expanduser`, it leaves a ``~user`` whose home nobody knows as it is: such a file is
    then simply not found, under the name that was written.
    """
    return Path(os.path.expanduser(text))


def cache_dir() -> Path:
    """The cache: ``CORSTONE_CACHE``, else ``~/.cache/corstone``."""
    return user_path(os.environ.get("CORSTONE_CACHE") or "~/.cache/corstone")
