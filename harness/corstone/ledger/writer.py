"""Writing a ledger: one process, one file, one ``write`` a line.

The file is opened for append without a buffer, so a line is with the operating system when the call returns and
survives ``kill -9`` of this process. A power cut is another matter: ``fsync`` says how often the file is also forced
to the disk. A full disk never stops a test run: the lines wait in memory, are tried again with each next line, and
the ledger says at the end that it is incomplete.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from corstone.causes import Cause, Outcome
from corstone.errors import HarnessError
from corstone.ledger.events import SUFFIX, VERSION, capped, encode
from corstone.ledger.figures import case_names, figures
from corstone.report.record import CaseRecord

Fsync = Literal["never", "interval", "always"]
FSYNC_EVERY_S = 5.0
_WAITING_LINES = 20_000


class LedgerError(HarnessError):
    """The ledger could not be opened."""

    default_cause = Cause.NOT_WRITABLE


@dataclass(frozen=True)
class Identity:
    """Whose ledger this is. ``cell`` and ``shard`` come from the CI matrix, ``worker`` from pytest-xdist."""

    run: str
    cell: str = ""
    shard: str = "1/1"
    worker: str = ""
    job_attempt: int = 1

    @staticmethod
    def from_environment(environ: Mapping[str, str], worker: str = "", run: str = "") -> Identity:
        """Identity given by CI through ``CORSTONE_RUN``, ``_CELL``, ``_SHARD`` (``2/4``) and ``_JOB_ATTEMPT``."""
        attempt = environ.get("CORSTONE_JOB_ATTEMPT", "1")
        return Identity(
            run=environ.get("CORSTONE_RUN", "") or run or new_run_id(),
            cell=environ.get("CORSTONE_CELL", ""),
            shard=environ.get("CORSTONE_SHARD", "") or "1/1",
            worker=worker,
            job_attempt=int(attempt) if attempt.isdecimal() else 1,
        )


def new_run_id() -> str:
    """A name for a run that never repeats and sorts by time, also among runs of the same second."""
    now = datetime.now(UTC)
    return now.strftime("%Y%m%dT%H%M%S.%fZ") + "-" + secrets.token_hex(3)


def boot_id() -> str:
    """Which boot of this host: monotonic clocks may be compared only where it is the same."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return socket.gethostname()


@dataclass
class Ledger:
    """An open ledger. Use as a context manager, or call ``close``.

    Methods may be called from several threads. In a forked child they do nothing: a child has no business in its
    parent's file.
    """

    path: Path
    identity: Identity
    fsync: Fsync = "interval"
    incomplete: str = ""
    _fd: int = -1
    _pid: int = 0
    _torn: bool = False
    _synced: float = 0.0
    _waiting: list[bytes] = field(default_factory=list)
    _attempts: dict[str, int] = field(default_factory=dict)
    _begun: dict[str, float] = field(default_factory=dict)
    _collected: set[str] = field(default_factory=set)
    _named: bool = False
    _versions: dict[str, int] = field(default_factory=dict)
    _counts: list[int] = field(default_factory=lambda: [0, 0])
    _folder: str = ""
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._folder = os.path.realpath(self.path.parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(None if error is None else 1)

    @property
    def has_collection(self) -> bool:
        """Whether this process has named its tests."""
        return self._named

    def collected(self, ids: Iterable[str]) -> None:
        """Write the tests this shard will run, and how many there are. Called once, before the first starts."""
        with self._lock:
            self._named = True
            self._collected.update(fresh := [i for i in dict.fromkeys(ids) if i not in self._collected])
            lines = [encode("collected", {"id": i}) for i in fresh]
            lines.append(encode("collection", {"count": len(self._collected)}))
            self._write(b"".join(lines))

    def started(self, test_id: str) -> int:
        """Write that an attempt of a test begins; returns its number, counted from 1 in this process."""
        with self._lock:
            if not self._writable:
                return 0
            n = self._attempts[test_id] = self._attempts.get(test_id, 0) + 1
            self._counts[0] += 1
            self._begun[test_id] = time.monotonic()
            self._write(encode("started", {"id": test_id, "n": n} | _now()))
            return n

    def finished(
        self,
        test_id: str,
        outcome: Outcome,
        cause: Cause = Cause.NONE,
        *,
        word: str = "",
        reason: str = "",
        records: Sequence[CaseRecord] = (),
        text: str = "",
        out: str = "",
        err: str = "",
        properties: Sequence[tuple[str, object]] = (),
    ) -> None:
        """Write how the attempt that ``started`` began has ended.

        Parameters
        ----------
        word: pytest's word for it (``xfailed`` and ``xpassed`` cannot be told from the outcome alone).
        reason: one line for people. ``text``, ``out``, ``err``: traceback and captured output, cut when very long.
        records: the case records made in this attempt.
        properties: names and values of the test's own, in its order; a name may come twice.
        """
        with self._lock:
            if not self._writable:
                return
            n = self._attempts.setdefault(test_id, 1)
            now = _now()
            begun = self._begun.pop(test_id, now["mono"])
            lines = [] if not records else self._versions_lines(records)
            detail: dict[str, Any] = {"id": test_id, "n": n, "records": [self._portable(r) for r in records]}
            detail |= {"text": capped(text), "out": capped(out), "err": capped(err)}
            if properties:
                detail["props"] = [[str(name), capped(str(value), 8192)] for name, value in properties]
            if records or text or out or err or properties:
                lines.append(encode("detail", detail))
            line: dict[str, Any] = {"id": test_id, "n": n, "outcome": outcome.value, "cause": cause.value}
            line |= {"word": word or _word(outcome), "reason": capped(reason, 2000)}
            line |= {"s": round(max(0.0, now["mono"] - begun), 6)} | now
            if records:
                line |= {"m": figures(records), "case": case_names(records), "ver": self._key(records[0].versions)}
            self._counts[1] += 1
            lines.append(encode("finished", line))
            self._write(b"".join(lines))

    def lost(self, test_id: str, reason: str) -> None:
        """Write that the process running a test is gone, as seen from this one."""
        with self._lock:
            self._write(encode("lost", {"id": test_id, "reason": capped(reason, 2000)}))

    def set_property(self, name: str, value: object) -> None:
        """Write a fact about the whole run, such as the version of the FVP."""
        with self._lock:
            self._write(encode("property", {"name": name, "value": str(value)}))

    def close(self, exit_status: int | None = 0) -> None:
        """Write the closing line and close the file; a second call does nothing."""
        with self._lock:
            if not self._writable:
                return
            started, finished = self._counts
            self._write(encode("close", {"started": started, "finished": finished, "exit": exit_status}))
            if self.fsync != "never" and not self.incomplete:
                with contextlib.suppress(OSError):
                    os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _versions_lines(self, records: Sequence[CaseRecord]) -> list[bytes]:
        lines = []
        for record in records:
            known = len(self._versions)
            key = self._key(record.versions)
            if key == known:
                lines.append(encode("versions", {"key": key, "versions": record.versions}))
        return lines

    def _key(self, versions: Mapping[str, str]) -> int:
        return self._versions.setdefault(repr(sorted(versions.items())), len(self._versions))

    def _portable(self, record: CaseRecord) -> dict[str, Any]:
        """Record as data; a capture below or beside the ledger's folder is named relative to it: both may move."""
        data = record.to_json()
        with contextlib.suppress(ValueError, OSError):
            if record.capture:
                capture = os.path.realpath(record.capture)
                if capture.startswith(os.path.dirname(self._folder) + os.sep):
                    data["capture"] = os.path.relpath(capture, self._folder)
        return data

    @property
    def _writable(self) -> bool:
        return self._fd >= 0 and os.getpid() == self._pid

    def _write(self, data: bytes) -> None:
        if not self._writable:
            return
        self._waiting.append(data)
        if len(self._waiting) > _WAITING_LINES:
            self._waiting.pop(0)
        try:
            while self._waiting:
                # After a torn write the next one starts on a line of its own, and the torn one is told again in full.
                block = (b"\n" if self._torn else b"") + self._waiting[0]
                written = os.write(self._fd, block)
                self._torn = written < len(block)
                if self._torn:
                    raise OSError(f"only {written} of {len(block)} bytes written")
                self._waiting.pop(0)
            self.incomplete = ""
            self._sync()
        except OSError as error:
            self.incomplete = f"{self.path}: {error.strerror or error}; {len(self._waiting)} entries not written"

    def _sync(self) -> None:
        if self.fsync == "never":
            return
        now = time.monotonic()
        if self.fsync == "always" or now - self._synced > FSYNC_EVERY_S:
            os.fsync(self._fd)
            self._synced = now


def open_ledger(
    folder: Path,
    identity: Identity | None = None,
    *,
    properties: Mapping[str, object] | None = None,
    fsync: Fsync = "interval",
) -> Ledger:
    """Open a new ledger in ``folder``. Its name holds run, shard, worker and a random part: no two processes share one.

    Raises
    ------
    LedgerError: the folder cannot be made or written.
    """
    identity = identity or Identity.from_environment(os.environ)
    uid = secrets.token_hex(6)
    parts = [identity.run, identity.cell, identity.shard.replace("/", "of"), identity.worker or "main", uid]
    name = "-".join(re.sub(r"[^A-Za-z0-9_.]+", "_", p)[:60] for p in parts if p)
    path = folder / (name + SUFFIX)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise LedgerError(
            f"cannot open a ledger at {path}: {error.strerror or error}",
            cause=Cause.DISK_FULL if error.errno == 28 else Cause.NOT_WRITABLE,
            hint="give another folder with --corstone-ledger, or free some space",
        ) from error
    ledger = Ledger(path, identity, fsync, _fd=fd, _pid=os.getpid(), _synced=time.monotonic())
    head = {"v": VERSION, "run": identity.run, "uid": uid, "cell": identity.cell, "shard": identity.shard}
    head |= {"worker": identity.worker, "job_attempt": identity.job_attempt, "pid": os.getpid()}
    head |= {"host": socket.gethostname(), "boot": boot_id()} | _now()
    head["properties"] = {k: str(v) for k, v in (properties or {}).items()}
    ledger._write(encode("open", head))
    return ledger


def _now() -> dict[str, Any]:
    return {"wall": round(time.time(), 3), "mono": round(time.monotonic(), 6)}


def _word(outcome: Outcome) -> str:
    simple = {Outcome.PASSED: "passed", Outcome.SKIPPED: "skipped", Outcome.ERROR: "error"}
    return simple.get(outcome, "failed")
