"""Where the UART's bytes go, and what in them ends the run: EOT or a tag."""

from __future__ import annotations

import os
from pathlib import Path

from corstone.causes import Cause
from corstone.errors import ConfigError

EOT = b"\x04"


class Console:
    """UART0 as the FVP offers it: a file or the standard output, ``shutdown_on_eot``, ``shutdown_tag``.

    ``out_file`` is ``-`` for the standard output. Empty means a terminal window on the FVP; as there is none here, the
    text goes to the standard output too. ``ended`` becomes ``eot`` or ``tag``; what follows is dropped.
    """

    def __init__(self, out_file: str, shutdown_on_eot: bool, tag: str, copy: Path | None = None) -> None:
        self._on_eot = shutdown_on_eot
        self._tag = tag.encode()
        self._tail = b""
        self.ended = ""
        self._last = b"\n"
        self._own = [_open(Path(out_file))] if out_file not in ("", "-") else []
        self._fds = self._own or [1]
        if copy is not None:
            self._own.append(_open(copy))
            self._fds = [*self._fds, self._own[-1]]

    def take(self, data: bytes) -> None:
        """Bytes from the UART."""
        if self.ended or not data:
            return
        end = len(data)
        if self._on_eot and (at := data.find(EOT)) >= 0:
            end, self.ended = at + 1, "eot"
        if self._tag:
            text = self._tail + data[:end]
            if (at := text.find(self._tag)) >= 0:
                end, self.ended = at + len(self._tag) - len(self._tail), "tag"
            self._tail = text[-(len(self._tag) - 1) :] if len(self._tag) > 1 else b""
        self._write(data[:end])

    @property
    def mid_line(self) -> bool:
        """Whether the standard output got the start of a line whose end is missing."""
        return 1 in self._fds and self._last != b"\n"

    def put(self, code: int) -> None:
        """One byte, from a UART that is a device model."""
        self.take(bytes((code,)))

    def close(self) -> None:
        """Close what was opened here."""
        for fd in self._own:
            os.close(fd)
        self._own = []

    def _write(self, data: bytes) -> None:
        self._last = data[-1:] or self._last
        for fd in self._fds:
            write_all(fd, data)


def write_all(fd: int, data: bytes) -> None:
    """Write everything; a reader that went away is not the target's fault and not ours."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except BrokenPipeError:
        return
    except OSError as error:
        raise ConfigError(
            f"cannot write the UART's output: {error.strerror}", cause=Cause.NOT_WRITABLE, hint="is the disk full?"
        ) from error


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise ConfigError(
            f"cannot open output file {str(path)!r}: {error.strerror}",
            cause=Cause.NOT_WRITABLE,
            hint="check the folder and its permissions",
        ) from error
