"""``--trace``: the decoded command stream as text, one line a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corstone.causes import Cause
from corstone.errors import ConfigError


class TraceFile:
    """A trace hook that writes ``offset name operand=value ...``; a blank line and a title start each run."""

    wants_ofm = False

    def __init__(self, path: Path) -> None:
        try:
            self._stream = path.open("w", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                f"cannot open trace file {str(path)!r}: {error.strerror}", cause=Cause.NOT_WRITABLE
            ) from error

    def __call__(self, record: Any) -> None:
        """One executed command."""
        operands = " ".join(f"{name}={_value(value)}" for name, value in record.operands.items())
        self._stream.write(f"{record.offset:#06x} {record.name} {operands}".rstrip() + "\n")

    def close(self) -> None:
        """Flush and close."""
        self._stream.close()


def _value(value: object) -> str:
    return f"{value:#x}" if isinstance(value, int) and not isinstance(value, bool) and value > 9 else str(value)
