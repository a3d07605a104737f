"""What lies in the lowering cache, how much of it may stay, and whether it is what was written.

The entries used longest ago go first; one that was used in the last hour stays whatever the limit, as somebody may be
about to read it. Leaves out how entries are written and read (``cache``).
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.lowering.cache import MANIFEST, Store

LIMIT = "CORSTONE_CACHE_LIMIT"
DEFAULT_LIMIT = "4G"
IDLE_S = 3600.0
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_NO_KINDS = {"tmp", "locks", "sources", "code"}


@dataclass(frozen=True)
class Entry:
    """One folder of the cache. ``used`` is when it was last read or written, seconds since the epoch."""

    store: Store
    folder: Path
    size: int
    used: float

    @property
    def what(self) -> str:
        """What a program was made from; empty for other kinds."""
        with suppress(OSError, ValueError, KeyError):
            data: dict[str, Any] = json.loads((self.folder / "program.json").read_text())
            return f"{data['network']} int{data['bits']} {data['policy']} {data['target']}"
        return ""


def parse_size(text: str) -> int:
    """Bytes of a text like ``500M`` or ``4G`` (powers of 1024).

    Raises
    ------
    ConfigError: it is none.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?\s*", text, re.IGNORECASE)
    if found is None:
        raise ConfigError(
            f"{text!r} is no size", cause=Cause.CONFIGURATION, hint="give a number of bytes, or with a unit: 500M, 4G"
        )
    return int(float(found[1]) * _UNITS[found[2].lower()])


def size_limit() -> int:
    """How large the cache may be, bytes: ``$CORSTONE_CACHE_LIMIT``."""
    return parse_size(os.environ.get(LIMIT) or DEFAULT_LIMIT)


def entries(root: Path) -> Iterator[Entry]:
    """Every entry, in no order. What vanishes meanwhile is left out."""
    for kind in _folders(root):
        if kind.name in _NO_KINDS:
            continue
        store = Store(root, kind.name)
        for group in _folders(kind):
            for folder in _folders(group):
                with suppress(OSError):
                    stats = {path.name: path.stat() for path in folder.iterdir()}
                    newest = max((stat.st_mtime for stat in stats.values()), default=folder.stat().st_mtime)
                    used = stats[MANIFEST].st_mtime if MANIFEST in stats else newest
                    yield Entry(store, folder, sum(stat.st_size for stat in stats.values()), used)


def prune(root: Path, limit: int, *, idle_s: float = IDLE_S, now: float | None = None) -> list[Entry]:
    """Remove the entries used longest ago until the rest is within ``limit`` bytes; returns those removed."""
    now = time.time() if now is None else now
    found = sorted(entries(root), key=lambda entry: entry.used)
    total = sum(entry.size for entry in found)
    removed = []
    for entry in found:
        if total <= limit or now - entry.used < idle_s:
            break
        entry.store.discard(entry.folder)
        total -= entry.size
        removed.append(entry)
    return removed


def damaged(root: Path) -> list[tuple[Entry, str]]:
    """Entries that are not what was written, each with what is wrong; every file is hashed."""
    found = []
    for entry in entries(root):
        problem = entry.store.damage(entry.folder, thorough=True)
        if problem is not None and entry.folder.is_dir():
            found.append((entry, problem))
    return found


def _folders(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.is_dir())
    return []
