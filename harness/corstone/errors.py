"""Errors by whose fault they are.

``ConfigError`` is the caller's, ``ToolError`` a host tool's, ``StageError`` a compile step's and ``TargetError`` the
device's. A wrong number is not an exception: it is a FAILED verdict. Each error carries its cause, what to do next,
and the facts it was raised with, and prints all three.
"""

from __future__ import annotations

from collections.abc import Mapping

from corstone.causes import Cause, Outcome


class HarnessError(Exception):
    """Base of every error this project raises on purpose.

    Parameters
    ----------
    message: what was expected, what came, and where.
    cause: one word of the cause catalogue.
    hint: what the reader should do next.
    evidence: facts to keep with the verdict (argv, exit status, addresses, the tail of a transcript).
    """

    exit_code = 3
    outcome = Outcome.ERROR
    default_cause = Cause.LAUNCH

    def __init__(
        self,
        message: str,
        *,
        cause: Cause | None = None,
        hint: str = "",
        evidence: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.cause = cause or self.default_cause
        self.hint = hint
        self.evidence = dict(evidence or {})

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  {name}: {value}" for name, value in self.evidence.items()]
        if self.hint:
            lines.append(f"  what to do: {self.hint}")
        return "\n".join(lines)


class ConfigError(HarnessError):
    """The caller asked for something that cannot be: a name, a file, a combination."""

    exit_code = 2
    default_cause = Cause.CONFIGURATION


class ToolError(HarnessError):
    """A program on the host is missing, refuses, or broke."""

    exit_code = 3
    default_cause = Cause.MISSING_TOOL


class StageError(HarnessError):
    """A compile step (export, TOSA, Vela, PTE) failed; the message names the stage."""

    exit_code = 3
    default_cause = Cause.COMPILE


class TargetError(HarnessError):
    """The device did not do what it should."""

    exit_code = 4
    outcome = Outcome.CRASHED
    default_cause = Cause.CPU_FAULT


class DeviceFault(TargetError):
    """The CPU of the board faulted or locked up."""


class NpuFault(TargetError):
    """The NPU stopped with an error status."""

    default_cause = Cause.NPU_FAULT


class DeadlineExceeded(TargetError):
    """A wait on the device passed its deadline; the message says what was waited for and whether it still moved."""

    outcome = Outcome.TIMED_OUT
    default_cause = Cause.NO_PROGRESS
