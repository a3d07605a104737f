"""Damaged and misfit programs on Arm's own image, booted for real on the emulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from corstone.causes import Cause, Outcome


@dataclass(frozen=True)
class ArmCase:
    """A change to a good program (acos, int8, ethos-u55-128) and what Arm's image makes of it.

    ``refused`` says that the checks before the boot refuse it too.
    """

    name: str
    change: Callable[[bytes], bytes]
    outcome: Outcome
    cause: Cause
    rule: str
    target: str = "ethos-u55-128"
    message: str = ""
    refused: bool = True


def _cut(length: int) -> Callable[[bytes], bytes]:
    return lambda program: program[:length]


def _same(program: bytes) -> bytes:
    return program


def _replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(program: bytes) -> bytes:
        assert program.count(old) == 1
        return program.replace(old, new)

    return change


_CRASHED = Outcome.CRASHED

ARM_CASES: tuple[ArmCase, ...] = (
    ArmCase(
        "arm-other-macs",
        _same,
        _CRASHED,
        Cause.CONFIG_MISMATCH,
        "config-mismatch-macs",
        "ethos-u55-256",
        message="ethos-u55-128",
    ),
    ArmCase("arm-cut-64", _cut(64), _CRASHED, Cause.ABORT, "abort-assertion", message="Program has no methods"),
    ArmCase("arm-cut-2560", _cut(2560), _CRASHED, Cause.PROGRAM_REJECTED, "method-load-failed"),
    ArmCase(
        "arm-delegate-footer",
        _replaced(b"vela_end_stream", b"vela_end_scream"),
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "malformed-delegate",
    ),
    ArmCase(
        "arm-identifier",
        lambda program: program[:4] + b"XX12" + program[8:],
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "program-identifier",
        message="'XX12'",
    ),
    ArmCase(
        "arm-bundle",
        lambda program: program[:4] + b"BP08" + program[8:],
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "program-identifier",
        message="bundled",
    ),
    ArmCase("arm-zeros", lambda program: bytes(len(program)), _CRASHED, Cause.PROGRAM_REJECTED, "program-identifier"),
    ArmCase(
        "arm-other-backend",
        _replaced(b"EthosUBackend", b"EthosXBackend"),
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "missing-backend",
        message="EthosXBackend",
    ),
    ArmCase(
        "arm-payload-magic",
        _replaced(b"COP1", b"COP2"),
        _CRASHED,
        Cause.PROGRAM_REJECTED,
        "malformed-delegate",
    ),
)
