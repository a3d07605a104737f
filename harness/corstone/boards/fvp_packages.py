"""Arm's FVP packages as data: archive names and hashes, as other public projects pin them.

Sources: pytorch/executorch backends/arm/scripts (md5 of 11.27); mlia-ethos-u 0.1.0 install.py (sha256).
Leaves out downloading (``install_fvp.py``). Nothing here was fetched while this project was made.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.errors import ConfigError

BASE_URL = "https://developer.arm.com/-/cdn-downloads/permalink/FVPs-Corstone-IoT/"


@dataclass(frozen=True)
class Package:
    """One archive. ``digest`` is checked with ``algorithm``: sha256 where one is published, else md5."""

    board: str
    version: str
    machine: str
    path: str
    algorithm: str
    digest: str

    @property
    def file_name(self) -> str:
        """Name of the archive."""
        return self.path.rpartition("/")[2]


def _row(board: str, version: str, machine: str, algorithm: str, digest: str) -> Package:
    number = board.rpartition("-")[2]
    suffix = {"x86_64": "", "aarch64": "_armv8l"}[machine]
    path = f"Corstone-{number}/FVP_Corstone_SSE-{number}_{version}_Linux64{suffix}.tgz"
    return Package(board, version, machine, path, algorithm, digest)


PACKAGES: tuple[Package, ...] = (
    _row("corstone-300", "11.27_42", "x86_64", "md5", "0dc9538041296b8d479249e6fa5aab74"),
    _row("corstone-300", "11.27_42", "aarch64", "md5", "74e7952817b338c8479bcf66874b23e0"),
    _row(
        "corstone-300",
        "11.24_13",
        "x86_64",
        "sha256",
        "6ea4096ecf8a8c06d6e76e21cae494f0c7139374cb33f6bc3964d189b84539a9",
    ),
    _row(
        "corstone-300",
        "11.24_13",
        "aarch64",
        "sha256",
        "9b43da6a688220c707cd1801baf9cf4f5fb37d6dc77587b9071347411a64fd56",
    ),
    _row(
        "corstone-320",
        "11.27_25",
        "x86_64",
        "sha256",
        "6986af8805de54fa8dcbc54ea2cd63b305ebf5f1c07d3cba09641e2f8cc4e2f5",
    ),
    _row(
        "corstone-320",
        "11.27_25",
        "aarch64",
        "sha256",
        "6766fd2ba138473c6b01c7e2f98125439ba68b638a08c6d11e3e1aeffb88878a",
    ),
)


def package(board: str, version: str = "", system: str = "", machine: str = "") -> Package:
    """The package of a board for this machine; the first row is the default version.

    Raises
    ------
    ConfigError: there is none; the message lists the versions there are, or says what to use on another system.
    """
    system, machine = system or platform.system(), machine or platform.machine()
    if system != "Linux":
        raise ConfigError(
            f"Arm has no FVP archive for {system}; a Linux one does not run there",
            cause=Cause.UNSUPPORTED,
            hint="on macOS use github.com/Arm-Examples/FVPs-on-Mac, and name its folder with --fvp-dir",
        )
    rows = [row for row in PACKAGES if row.board == board and row.machine == machine]
    for row in rows:
        if version in {"", row.version, row.version.replace("_", ".")}:
            return row
    known = ", ".join(f"{row.board} {row.version} ({row.machine})" for row in PACKAGES)
    raise ConfigError(f"no FVP package for {board} {version} on {machine}".replace("  ", " "), hint=f"known: {known}")
