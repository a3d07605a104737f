"""The lines of a ledger, version 2, and how an older line becomes one.

One JSON object a line, ``t`` always first so that a reader can skip a kind without parsing it::

    open        v, run, uid, cell, shard, worker, job_attempt, pid, host, boot, wall, mono, properties
    property    name, value                      a fact about the whole run, found out later
    versions    key, versions                    a set of tool versions; ``finished`` names it by ``key``
    collected   id                               one a test, by the process that collects for its shard
    collection  count                            how many distinct ids were collected: the number to agree with
    started     id, n, wall, mono                attempt ``n`` (1, 2, ...) begins
    detail      id, n, records, text, out, err, [props]   the heavy part of the next line, always written with it
    finished    id, n, outcome, cause, word, reason, s, wall, mono, m, case, ver
    lost        id, reason                       another process saw this test's process die
    close       started, finished, exit          the process ended in order

``word`` is pytest's word (passed, failed, error, skipped, xfailed, xpassed), ``s`` seconds on the monotonic clock,
``m`` the figures of ``corstone.ledger.figures``, ``case`` the names a report filters by, ``props`` pairs of name and
value that the test recorded itself.

Version 1 had no ``detail`` line: ``record``, ``text``, ``out`` and ``err`` lay in ``finished``, with ``duration`` for
``s``, and ``time`` for ``wall``.
"""

from __future__ import annotations

import json
from typing import Any

VERSION = 2
SUFFIX = ".ndjson"

# A transcript or traceback longer than this keeps its head and its tail; the whole one is in the capture folder.
TEXT_CAP_CHARS = 64 * 1024


def encode(kind: str, fields: dict[str, Any]) -> bytes:
    """One line. Non-ASCII is escaped, so that lone surrogates and any console byte survive the way through a file."""
    return json.dumps({"t": kind, **fields}, separators=(",", ":"), default=str).encode("ascii") + b"\n"


def capped(text: str, limit: int = TEXT_CAP_CHARS) -> str:
    """``text``, or its first third and last two thirds of ``limit`` characters with a note of what is left out."""
    if len(text) <= limit:
        return text
    head, tail = limit // 3, limit - limit // 3
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[-tail:]}"


def upgrade(event: dict[str, Any], version: int) -> list[dict[str, Any]]:
    """The line or lines of the current version that say what ``event`` of an older ``version`` said."""
    if version >= VERSION:
        return [event]
    event = dict(event)
    if "time" in event:
        event["wall"] = event.pop("time")
    if event.get("t") != "finished":
        return [event]
    record = event.pop("record", None)
    detail = {"t": "detail", "id": event.get("id"), "n": event.get("n", 1), "records": [record] if record else []}
    for name in ("text", "out", "err"):
        detail[name] = event.pop(name, "")
    event["s"] = event.pop("duration", 0.0)
    if record:
        from corstone.ledger.figures import case_names, figures
        from corstone.report.record import CaseRecord

        records = [CaseRecord.from_json(record)]
        event["m"], event["case"] = figures(records), case_names(records)
    return [detail, event]
