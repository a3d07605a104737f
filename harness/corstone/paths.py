"""Paths that people write: ``~`` and ``~user`` are expanded, the way a shell does it; names that become files.

Leaves out: whether the path exists, and which folder a relative one counts from.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

_NAME_BYTES = 200  # file systems take 255; the rest is for endings


def user_path(text: str | Path) -> Path:
    """``text`` with a leading ``~`` or ``~user`` expanded.

    Like a shell, and unlike `Path.expanduser`, it leaves a ``~user`` whose home nobody knows as it is: such a file is
    then simply not found, under the name that was written.
    """
    return Path(os.path.expanduser(text))


def file_name(text: str) -> str:
    """``text`` as the name of one file or folder: it stays in its folder, fits any file system, and two texts that are
    cut stay apart. Usual names stay as they are.
    """
    name = re.sub("[/\x00-\x1f\x7f\ud800-\udfff]", "_", text)
    if len(name.encode()) > _NAME_BYTES:
        mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        name = f"{name.encode()[: _NAME_BYTES - 13].decode(errors='ignore')}-{mark}"
    return "_" if name in {"", ".", ".."} else name


def cache_dir() -> Path:
    """The cache: ``CORSTONE_CACHE``, else ``~/.cache/corstone``."""
    return user_path(os.environ.get("CORSTONE_CACHE") or "~/.cache/corstone")
