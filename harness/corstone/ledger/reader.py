"""Reading a ledger, whatever became of the process that wrote it.

A last line without its end, a torn line in the middle, bytes that are no JSON, and an empty file are all read: what
cannot be understood is counted, and ``corstone.ledger.merge`` decides whether anything is missing. Ledgers may be
gzip files. Leaves out what the events mean together.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.ledger.events import SUFFIX, VERSION, upgrade
from corstone.ledger.model import Source

_DETAIL = b'{"t":"detail"'


class UnreadableLedger(ConfigError):
    """The file is no ledger, or one of a newer version."""

    default_cause = Cause.BAD_INPUT


def find_ledgers(paths: list[Path]) -> list[Path]:
    """Ledger files under the given files and folders, each once, in the order of their names.

    Raises
    ------
    ConfigError: a path does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = [p for pattern in (f"*{SUFFIX}", f"*{SUFFIX}.gz") for p in path.rglob(pattern)]
            found.update(dict.fromkeys(sorted(p.resolve() for p in inside)))
        elif path.exists():
            found[path.resolve()] = None
        else:
            raise ConfigError(f"no ledger at {path}", hint="name ledger files, or a folder that holds some")
    return list(found)


def open_binary(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked where it is a gzip file."""
    return cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")


def read_head(path: Path, stream: IO[bytes]) -> tuple[Source, bool]:
    """The opening line as a ``Source``; False where there is none because the process died before writing it.

    Raises
    ------
    UnreadableLedger: the first line is whole and no opening line, or its version is newer than this reader.
    """
    raw = stream.readline()
    event = _parse(raw)
    if event is None or event.get("t") != "open":
        if raw.endswith(b"\n") and raw.strip(b"\x00\n"):
            raise UnreadableLedger(
                f"{path} is no ledger: it begins with {raw[:60]!r}", hint='a ledger begins with {"t":"open"'
            )
        return Source(path, {"run": "", "cell": "", "shard": "1/1", "v": VERSION}, torn_tail=bool(raw)), False
    if int(event.get("v", 1)) > VERSION:
        raise UnreadableLedger(
            f"{path} is a ledger of version {event['v']}; this reader knows versions 1 to {VERSION}",
            hint="merge with the newest corstone among those that wrote the shards",
        )
    defaults = {"v": 1, "run": "", "cell": "", "shard": "1/1", "worker": "", "job_attempt": 1, "boot": "", "uid": ""}
    head = defaults | upgrade(event, int(event.get("v", 1)))[0]
    return Source(path, head), True


def events(source: Source, stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Events after the opening line with their offsets; a ``detail`` line comes as None, unparsed.

    Counts damage in ``source``. For version 1 a line with its detail inside comes as two, both at its offset.
    """
    version = int(source.head["v"])
    offset = stream.tell()
    for raw in stream:
        here, offset = offset, offset + len(raw)
        if raw.startswith(_DETAIL) and raw.endswith(b"}\n"):
            yield here, None
            continue
        event = _parse(raw) if raw.endswith(b"\n") else None
        if event is None or "t" not in event:
            if not raw.endswith(b"\n"):
                source.torn_tail = True
            elif raw.strip():
                source.damaged += 1
            continue
        if version == VERSION:
            yield here, event
            continue
        for new in upgrade(event, version):
            yield here, (None if new["t"] == "detail" else new)


def detail_at(source: Source, offset: int) -> dict[str, Any]:
    """The ``detail`` at an offset that ``events`` gave; not to be changed, since the next call gives the same."""
    if source.recent[0] == offset:
        return source.recent[1]
    with open_binary(source.path) as stream:
        stream.seek(offset)
        event = _parse(stream.readline()) or {}
    event = upgrade(event, int(source.head["v"]))[0]
    found: dict[str, Any] = {"records": [], "text": "", "out": "", "err": "", "props": []} | event
    source.recent = (offset, found)
    return found


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None
