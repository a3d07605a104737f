"""No transport: an ELF that carries its own data and only prints. Nothing to send, nothing to collect."""

from __future__ import annotations

from pathlib import Path

from corstone.boards.transports.base import OutputState, Parcel


class ConsoleOnly:
    """For bare-metal programs brought with ``--runner-elf``; semihosting is served for those that exit by it."""

    roles: tuple[str, ...] = ("semihosting", "semihosting-stack", "semihosting-heap", "semihosting-cwd")

    def send(self, work: Path, parcel: Parcel) -> tuple[list[str], dict[str, object]]:
        """Only the working folder."""
        del parcel
        return [], {"cwd": str(work)}

    def collect(self, work: Path, parcel: Parcel) -> tuple[OutputState, ...]:
        """Nothing comes back but text."""
        del work, parcel
        return ()
