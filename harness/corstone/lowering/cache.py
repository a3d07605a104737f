"""A store of folders by key: written aside, renamed into place, checked by hash when read.

Safe for several processes at once and against a kill at any moment: a folder is either whole or not there, and one that
was damaged later is found by its manifest, moved away and made again. Below the own cache there may be a shared one
(``CORSTONE_CACHE_SHARED``), which is only read. Leaves out what the folders hold, and how the cache is kept small
(``prune``).
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError, ToolError
from corstone.lowering.keys import file_sha256

MANIFEST = "manifest.json"
SHARED = "CORSTONE_CACHE_SHARED"
_ABANDONED_S = 3600.0


def cache_root() -> Path:
    """Root of the lowering cache, ``$CORSTONE_CACHE/lowering``; read at each call."""
    from corstone.paths import cache_dir

    return cache_dir() / "lowering"


def shared_root() -> Path | None:
    """Root of the shared cache that is looked into after the own one, None without ``$CORSTONE_CACHE_SHARED``."""
    from corstone.paths import user_path

    given = os.environ.get(SHARED)
    return user_path(given) / "lowering" if given else None


@contextmanager
def disk_errors(where: Path) -> Iterator[None]:
    """Turn a full or unwritable disk into an error that says so."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise ToolError(f"no space left while writing to {where}", cause=Cause.DISK_FULL) from error
        if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}:
            raise ConfigError(
                f"the cache {where} cannot be written: {error.strerror}",
                cause=Cause.NOT_WRITABLE,
                hint="set CORSTONE_CACHE to a folder you can write",
            ) from error
        raise


class Store:
    """Folders of one kind under ``root/kind/<first two digits>/<key>``.

    ``lazy`` names files whose hash is not checked by ``get`` (only their size): large ones that few readers open;
    those readers call ``check``.
    """

    def __init__(self, root: Path, kind: str, lazy: frozenset[str] = frozenset()) -> None:
        self.root = root
        self.kind = kind
        self.lazy = lazy

    def path(self, key: str) -> Path:
        """Where the folder of ``key`` is or would be."""
        return self.root / self.kind / key[:2] / key

    def get(self, key: str) -> Path | None:
        """The folder of ``key`` when it is there and whole, else the shared one's, else None.

        A damaged folder of our own is removed; one of the shared cache is left to whoever keeps that.
        """
        folder = self.path(key)
        if folder.is_dir():
            if self.damage(folder) is None:
                with suppress(OSError):  # when it was last used, for prune; somebody else's cache stays as it is
                    os.utime(folder / MANIFEST)
                return folder
            self.discard(folder)
        shared = shared_root()
        if shared is not None and shared != self.root:
            folder = Store(shared, self.kind, self.lazy).path(key)
            if folder.is_dir() and self.damage(folder) is None:
                return folder
        return None

    def damage(self, folder: Path, *, thorough: bool = False) -> str | None:
        """What is wrong with a folder, None when it is whole. ``thorough`` hashes the lazy files, too."""
        try:
            files = json.loads((folder / MANIFEST).read_text())["files"]
            for name, facts in files.items():
                path = folder / name
                if path.stat().st_size != facts["bytes"]:
                    return f"{name} has {path.stat().st_size} bytes, expected {facts['bytes']}"
                if (thorough or name not in self.lazy) and file_sha256(path) != facts["sha256"]:
                    return f"{name} is not the file that was written: its sha256 differs"
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            return f"{MANIFEST} or a file it names cannot be read: {error}"
        return None

    def discard(self, folder: Path) -> None:
        """Move a folder out of the way at once, then delete it."""
        with disk_errors(self.root):
            aside = self.aside()
            with suppress(FileNotFoundError):
                folder.rename(aside / "damaged")
            shutil.rmtree(aside, ignore_errors=True)

    def aside(self) -> Path:
        """A fresh folder on the same file system, to build an entry in."""
        with disk_errors(self.root):
            work = self.root / "tmp"
            work.mkdir(parents=True, exist_ok=True)
            return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=work))

    def publish(self, key: str, built: Path) -> Path:
        """Put the folder ``built`` (from ``aside``) under ``key``; another writer's whole entry wins over ours."""
        final = self.path(key)
        with disk_errors(self.root):
            files = {
                path.name: {"sha256": file_sha256(path), "bytes": path.stat().st_size}
                for path in sorted(built.iterdir())
                if path.is_file()
            }
            (built / MANIFEST).write_text(json.dumps({"schema": 1, "key": key, "files": files}, indent=1) + "\n")
            final.parent.mkdir(parents=True, exist_ok=True)
            for _ in range(3):
                try:
                    built.rename(final)
                except OSError as error:
                    if error.errno not in {errno.EEXIST, errno.ENOTEMPTY}:
                        raise
                    if self.get(key) is not None:
                        shutil.rmtree(built, ignore_errors=True)
                        return final
                else:
                    return final
        raise ToolError(f"the cache entry {final} could not be put in place", cause=Cause.CACHE)

    @contextmanager
    def locked(self, key: str, timeout_s: float) -> Iterator[None]:
        """Hold the lock of ``key``; the system releases it when its holder dies.

        Raises
        ------
        ToolError: somebody else held it until the deadline.
        """
        # Only a cold run locks; importing this takes as long as the whole warm lookup.
        from filelock import FileLock, Timeout

        with disk_errors(self.root):
            folder = self.root / "locks"
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder / f"{key}.lock")
        try:
            with disk_errors(self.root):
                lock.acquire(timeout=timeout_s)
        except Timeout:
            raise ToolError(
                f"another process holds the lock of cache entry {key[:16]} for more than {timeout_s:.0f} s",
                cause=Cause.COMPILE_TIMEOUT,
                hint=f"see which one has {lock.lock_file} open",
            ) from None
        try:
            yield
        finally:
            lock.release()


def sweep(root: Path, now: float) -> None:
    """Delete what killed writers left behind: folders in ``tmp`` older than an hour whose process is gone."""
    work = root / "tmp"
    if not work.is_dir():
        return
    for entry in work.iterdir():
        owner = entry.name.partition("-")[0]
        try:
            old = now - entry.stat().st_mtime > _ABANDONED_S
        except FileNotFoundError:
            continue
        if old and owner.isdigit() and not _alive(int(owner)):
            shutil.rmtree(entry, ignore_errors=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_whole(path: Path, text: str) -> None:
    """Write a file so that no reader ever sees half of it."""
    with disk_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "w") as file:
                file.write(text)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
