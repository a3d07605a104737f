"""Checks before the boot: would this program run on that board with that runner?

``CHECKS`` is the table; each row looks at one thing and says what was found, what the board or runner offers and which
option to change. Leaves out what only a boot can show.
"""

from __future__ import annotations

from corstone.errors import ConfigError
from corstone.formats.tflite import is_tflite
from corstone.preflight import elf_checks, program_checks, runner_checks
from corstone.preflight.finding import ERROR, WARNING, Check, Finding, Subject

__all__ = ["CHECKS", "ERROR", "WARNING", "Finding", "Subject", "preflight", "require"]

# The first two are needed by the others: what cannot be read is not looked into.
GATES: tuple[tuple[str, Check], ...] = (
    ("identifier", program_checks.identifier),
    ("readable", program_checks.readable),
)
CHECKS: tuple[tuple[str, Check], ...] = (
    ("delegate", program_checks.delegate),
    ("configuration", program_checks.configuration),
    ("architecture", program_checks.architecture),
    ("alignment", program_checks.alignment),
    ("room", runner_checks.room),
    ("pools", runner_checks.pools),
    ("tensors", runner_checks.tensors),
    ("kernels", runner_checks.kernels),
    ("reads", runner_checks.reads),
)
# A .tflite is interpreted by a runner that we do not know: only what the driver compares is looked at.
TFLITE_CHECKS: tuple[tuple[str, Check], ...] = (
    ("operator", program_checks.operator),
    ("configuration", program_checks.configuration),
    ("architecture", program_checks.architecture),
)
ELF_CHECKS: tuple[tuple[str, Check], ...] = (
    ("memory", elf_checks.memory),
    ("vectors", elf_checks.vectors),
    ("npu-data", elf_checks.npu_data),
    ("cpu", elf_checks.cpu),
)


def preflight(subject: Subject) -> tuple[Finding, ...]:
    """All findings, errors first."""
    findings: list[Finding] = []
    for _, check in GATES:
        findings += check(subject)
        if findings:
            break
    else:
        for _, check in TFLITE_CHECKS if is_tflite(subject.program) else CHECKS:
            findings += check(subject)
    for _, check in ELF_CHECKS:
        findings += check(subject)
    return tuple(sorted(findings, key=lambda finding: finding.severity != ERROR))


def require(subject: Subject) -> tuple[Finding, ...]:
    """The warnings; an error is raised.

    Raises
    ------
    ConfigError: the first error, the others as evidence.
    """
    findings = preflight(subject)
    errors = [finding for finding in findings if finding.severity == ERROR]
    if errors:
        first, *others = errors
        raise ConfigError(
            f"{first.found}; {first.offered}",
            cause=first.cause,
            hint=first.change,
            evidence={f"also {other.check}": f"{other.found}; {other.offered}" for other in others},
        )
    return findings
