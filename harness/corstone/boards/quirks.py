"""What is known to be odd about particular simulators and versions, each with its source.

A quirk becomes a note of the capture. It is looked up by version, so that a new version drops it by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from corstone.boards.settings import version_key


@dataclass(frozen=True)
class Quirk:
    """``simulator`` is a prefix of the file name; ``since`` and ``until`` bound the version, both included."""

    id: str
    simulator: str
    text: str
    source: str
    since: str = ""
    until: str = ""


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        "sys-seek",
        "FVP_Corstone",
        "SYS_SEEK returns a wrong value",
        "arm/arm-toolchain pull request 918: wrong in 11.27, right in 11.31",
        "11.27",
        "11.30",
    ),
    Quirk(
        "sys-tickfreq",
        "FVP_Corstone",
        "SYS_TICKFREQ fails",
        "arm/arm-toolchain pull request 584: wrong in 11.27, fixed in 11.28",
        "11.27",
        "11.27",
    ),
    Quirk(
        "semihosting-features",
        "FVP_",
        ":semihosting-features is not implemented; SYS_EXIT_EXTENDED works all the same",
        "arm/arm-toolchain run_fvp.py, ticket SDDKW-53824",
    ),
    Quirk(
        "corstone-300-11.22",
        "FVP_Corstone_SSE-300",
        "this model version had bugs that users met; 11.27.42 replaced it",
        "pytorch/executorch pull request 17950",
        "11.22",
        "11.22",
    ),
    Quirk(
        "quiet-exit",
        "FVP_Corstone",
        "no stop line on the console after a semihosting exit",
        "arm/arm-toolchain run_fvp.py (seen with SSE-310 11.27)",
        "11.27",
    ),
    Quirk(
        "executable-stack",
        "FVP_",
        "libarmctmodel.so asks for an executable stack, which newer kernels and glibc refuse",
        "ArmDeveloperEcosystem/arm-learning-paths issue 2038",
        until="11.26",
    ),
)


def quirks_of(simulator: str, version: str) -> tuple[Quirk, ...]:
    """The quirks of one simulator; none when the version is not known."""
    key = version_key(version)
    return tuple(q for q in QUIRKS if simulator.startswith(q.simulator) and key and _within(key, q))


def _within(key: tuple[int, ...], quirk: Quirk) -> bool:
    since, until = version_key(quirk.since), version_key(quirk.until)
    return (not since or key[: len(since)] >= since) and (not until or key[: len(until)] <= until)
