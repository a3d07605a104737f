"""Takes what is personal out of files that leave the machine: paths, the user's name, the host's name.

Text is rewritten; archives of exported programs are opened and their texts rewritten; other binary files stay byte for
byte as they are, and ``leaks`` says when one of them holds something personal.
"""

from __future__ import annotations

import getpass
import io
import os
import re
import socket
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import corstone
from corstone.paths import cache_dir

TEXTS = frozenset({".json", ".txt", ".log", ".md", ".csv", ".py", ".toml", ".cfg"})
ARCHIVES = frozenset({".pt2", ".zip"})

# Absolute paths of two parts or more; a URL's slashes follow a colon, a slash or a letter.
_PATH = re.compile(r"(?<![\w/:.<>~\-])/(?:[\w.@+\-]+/)+[\w.@+\-]*")
_SAME_EVERYWHERE = ("/usr/", "/bin/", "/lib/", "/etc/", "/dev/", "/proc/", "/sys/")
# Accounts that say nothing of a person, and are words of their own.
_NOBODY = frozenset({"root", "user", "admin", "runner", "ubuntu", "debian", "vscode", "nobody", "default", "test"})
_SHORTEST_NAME = 3


@dataclass(frozen=True)
class Personal:
    """What is taken out: folders with the words that replace them (longest first), and names."""

    folders: tuple[tuple[str, str], ...]
    names: tuple[tuple[str, str], ...]

    @staticmethod
    def of_this_machine(extra: Sequence[tuple[Path, str]] = ()) -> Personal:
        """Names of the user and the host, and folders that a capture may name; ``extra`` are further ones."""
        roots = [
            *extra,
            (cache_dir(), "<cache>"),
            (Path(sys.prefix), "<python>"),
            (Path(corstone.__file__).parents[2], "<corstone>"),
            (Path.cwd(), "<folder>"),
            (Path(tempfile.gettempdir()), "<tmp>"),
            (Path.home(), "<home>"),
        ]
        folders = {str(form): word for path, word in reversed(roots) for form in (path, path.resolve())}
        folders.pop("/", None)
        named = [(_user(), "<user>"), (socket.gethostname(), "<host>")]
        names = tuple((n, word) for n, word in named if len(n) >= _SHORTEST_NAME and n.lower() not in _NOBODY)
        return Personal(tuple(sorted(folders.items(), key=lambda item: -len(item[0]))), names)

    def text(self, text: str) -> str:
        """The text without them."""
        for folder, word in self.folders:
            text = re.sub(rf"(?<![\w/]){re.escape(folder)}(?![\w\-])", word, text)
        for name, word in self.names:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", word, text)
        return _PATH.sub(_last_part, text)

    def file(self, name: str, data: bytes) -> bytes:
        """A file's content without them, as far as its kind can be rewritten."""
        suffix = Path(name).suffix
        if suffix in ARCHIVES:
            return self._archive(data)
        if suffix not in TEXTS:
            return data
        # Latin-1 keeps every byte: a transcript need not be text in any encoding.
        return self.text(data.decode("latin-1")).encode("latin-1")

    def _archive(self, data: bytes) -> bytes:
        made = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as new:
            for entry in old.infolist():
                new.writestr(zipfile.ZipInfo(entry.filename), self.file(entry.filename, old.read(entry)))
        return made.getvalue()

    def leaks(self, name: str, data: bytes) -> tuple[str, ...]:
        """What personal things are still in a file, archives opened."""
        if Path(name).suffix in ARCHIVES:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return tuple(found for e in archive.infolist() for found in self.leaks(e.filename, archive.read(e)))
        wanted = [*(folder for folder, _ in self.folders), *(n for n, _ in self.names)]
        # A short folder (/tmp) may be chance in binary data: only with something behind it.
        return tuple(f"{name}: {word}" for word in wanted if (word + ("/" if word[0] == "/" else "")).encode() in data)


def _last_part(match: re.Match[str]) -> str:
    path = match[0]
    if path.startswith(_SAME_EVERYWHERE):
        return path
    return f"<path>/{path.rstrip('/').rpartition('/')[2]}"


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # No account has this number, as in many containers.
        return os.environ.get("USER", "")
