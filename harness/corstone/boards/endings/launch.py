"""Endings where the target never ran: the host, the simulator's start, its licence, its parameters, its files."""

from __future__ import annotations

import errno

from corstone.boards.endings.rule import Match, Matcher, Rule, find, says
from corstone.boards.facts import BootFacts
from corstone.causes import Cause, Outcome

_ERROR = Outcome.ERROR
_FULL = {errno.ENOSPC, errno.EDQUOT}
_OWN = r"^corstone-emulator: "


def _interrupted(facts: BootFacts) -> Match | None:
    return Match("interrupted at the keyboard; the simulator was stopped") if facts.interrupted else None


def _errno(*numbers: int) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        if facts.launch_errno not in numbers:
            return None
        return Match(f"the simulator did not start: {facts.launch_error}")

    return match


def _any_launch_error(facts: BootFacts) -> Match | None:
    return Match(f"the simulator did not start: {facts.launch_error}") if facts.launch_error else None


def _disk_full(facts: BootFacts) -> Match | None:
    if facts.host_errno in _FULL:
        return Match(f"the disk is full: {facts.host_error}")
    hit = find(facts, r"No space left on device|Disk quota exceeded")
    return Match(f"the disk is full: {hit[0].text.strip()}") if hit else None


def _host_error(facts: BootFacts) -> Match | None:
    if not facts.host_error or facts.host_errno in _FULL:
        return None
    return Match(f"a file of the boot could not be written or read: {facts.host_error}")


def _first(facts: BootFacts) -> str:
    return facts.transcript.lines[0].text.strip() if facts.transcript.lines else "it printed nothing"


def _never_ran(facts: BootFacts) -> bool:
    """The simulator ended by itself and neither its banner nor any line of a runner was seen."""
    log = facts.transcript
    if facts.stopped != "by-itself" or facts.exit_status is None or facts.exit_status < 0:
        return False
    target_text = log.eot or log.mlek.populated or log.executorch.messages or log.simulator.exit_code is not None
    return not (log.simulator.started or target_text or find(facts, r"^(INFO|WARN|ERROR) - "))


def _status(*statuses: int) -> Matcher:
    def match(facts: BootFacts) -> Match | None:
        if facts.exit_status not in statuses or not _never_ran(facts):
            return None
        return Match(f"the simulator did not run (status {facts.exit_status}): {_first(facts)}")

    return match


def _silent(facts: BootFacts) -> Match | None:
    if facts.transcript.lines or not _never_ran(facts):
        return None
    return Match(f"the simulator ended with status {facts.exit_status} and printed nothing")


def _refused(facts: BootFacts) -> Match | None:
    if not _never_ran(facts) or not facts.exit_status:
        return None
    return Match(f"the simulator ended with status {facts.exit_status} before the target ran: {_first(facts)}")


_ARCHITECTURE = r"cannot execute binary file|[Ee]xec format error|cannot execute: required file not found|rosetta error"

RULES: tuple[Rule, ...] = (
    Rule("interrupted", _ERROR, Cause.INTERRUPTED, "Ctrl-C", "run it again", _interrupted),
    Rule(
        "disk-full",
        _ERROR,
        Cause.DISK_FULL,
        "No space for the files of the boot",
        "free space, or point TMPDIR and --out at a disk with space",
        _disk_full,
    ),
    Rule(
        "host-error",
        _ERROR,
        Cause.NOT_WRITABLE,
        "A file of the boot cannot be written or read",
        "check the folder's permissions",
        _host_error,
    ),
    Rule(
        "launch-wrong-architecture",
        _ERROR,
        Cause.LAUNCH,
        "The simulator is built for another machine",
        "install the simulator built for this machine's architecture and system, or use --provider emulator",
        lambda facts: _errno(errno.ENOEXEC)(facts) or says(_ARCHITECTURE, message="{line}")(facts),
        decides=False,
    ),
    Rule(
        "launch-not-found",
        _ERROR,
        Cause.LAUNCH,
        "The simulator's file, or the loader it names, is not there",
        "see 'corstone doctor'; for a file that exists, the loader it was linked for is missing",
        _errno(errno.ENOENT),
        decides=False,
    ),
    Rule(
        "launch-not-executable",
        _ERROR,
        Cause.LAUNCH,
        "The simulator's file may not be executed",
        "chmod +x the file; check that its file system is not mounted noexec",
        _errno(errno.EACCES, errno.EPERM),
        decides=False,
    ),
    Rule(
        "launch-argument-list",
        _ERROR,
        Cause.LAUNCH,
        "The command line is longer than the system allows",
        "use fewer inputs, or our runner with @file",
        _errno(errno.E2BIG),
        decides=False,
    ),
    Rule(
        "launch-error",
        _ERROR,
        Cause.LAUNCH,
        "The system did not start the simulator, for a reason not listed above",
        "see the system's message",
        _any_launch_error,
        decides=False,
    ),
    Rule(
        "missing-library",
        _ERROR,
        Cause.LAUNCH,
        "A shared library of the simulator is missing",
        "the FVP's own Python is looked for at <root>/python/lib: keep the folder whole, or set LD_LIBRARY_PATH",
        says(r"error while loading shared libraries: (?P<library>[^:]+)", message="missing library {library}"),
        decides=False,
    ),
    Rule(
        "licence",
        _ERROR,
        Cause.LICENCE,
        "The simulator refuses for want of a licence",
        "activate the licence for this user on this machine, or use --provider emulator",
        says(r"(?i)^(?=.*(licen[cs]e))(?=.*(error|fail|denied|expired|not found|another user|checkout|invalid)).*"),
        decides=False,
    ),
    Rule(
        "no-qemu",
        _ERROR,
        Cause.MISSING_TOOL,
        "The emulator finds no QEMU",
        "install qemu-system-arm, or name it in CORSTONE_QEMU",
        says(_OWN + r".*qemu-system-arm.*(?:not found|missing|was not found)|unsupported machine type"),
        decides=False,
    ),
    Rule(
        "unknown-parameter",
        _ERROR,
        Cause.CONFIGURATION,
        "A -C parameter that this simulator does not know",
        "the name may belong to another version: compare with --list-params and the table in the board's file",
        says(
            r"(?i)(?:unknown|no such|unrecogni[sz]ed|undefined|invalid) parameter|parameter\W+\S+\W+(?:was |is )?"
            r"(?:not found|unknown|does not exist)|could not (?:find|set) parameter",
            unless=r"Inference completed|Program complete",
        ),
        assumed=True,
        decides=False,
    ),
    Rule(
        "bad-parameter-value",
        _ERROR,
        Cause.CONFIGURATION,
        "A -C parameter with a value that this simulator does not take",
        "see the range printed by --list-params",
        says(
            r"(?i)(?:invalid|illegal|bad) value|value .* (?:is )?out of range|not a valid (?:value|number)", "simulator"
        ),
        assumed=True,
        decides=False,
    ),
    Rule(
        "unknown-option",
        _ERROR,
        Cause.CONFIGURATION,
        "A command line option that this simulator does not know",
        "see --help of the simulator",
        says(r"(?i)(?:unknown|unrecogni[sz]ed|invalid) (?:command[- ]line )?(?:option|argument)s?\b", "simulator"),
        assumed=True,
        decides=False,
    ),
    Rule(
        "missing-file",
        _ERROR,
        Cause.CONFIGURATION,
        "An ELF or data file named on the command line is not there",
        "check the path",
        says(
            r"(?i)^(?:Error|Fatal|corstone-emulator)\b.*(?:no such file|(?:cannot|could not) open|not found)",
            "simulator",
        ),
        assumed=True,
        decides=False,
    ),
    Rule(
        "elf-rejected",
        _ERROR,
        Cause.UNSUPPORTED,
        "The ELF needs memory, a device or a CPU feature that the simulator lacks",
        "boot it on the FVP, or use a runner built for this board",
        says(
            r"(?i)^(?:Error|Fatal|corstone-emulator)\b(?!: NPU ).*(?:not an? (?:ARM )?ELF|no memory at|cannot load"
            r"|no vector table|needs (?:memory|a CPU)|outside (?:the )?memory|overlaps|unsupported ELF)",
            "simulator",
        ),
        assumed=True,
        decides=False,
    ),
    Rule(
        "port-in-use",
        _ERROR,
        Cause.LAUNCH,
        "A socket that the simulator wants is taken",
        "nothing here needs a port: check for -I, -S or a start_telnet=1 among the extra settings",
        says(r"(?i)address already in use|failed to (?:bind|listen)"),
        decides=False,
    ),
    Rule(
        "out-of-memory",
        _ERROR,
        Cause.SIMULATOR_ERROR,
        "The host has no memory for the simulator",
        "run fewer boots at once (-n), or give the machine or container more memory",
        says(
            r"(?i)cannot (?:allocate|set up) (?:guest )?memory|std::bad_alloc|^MemoryError|out of memory", "simulator"
        ),
        decides=False,
    ),
    Rule(
        "simulator-exception",
        _ERROR,
        Cause.SIMULATOR_ERROR,
        "An exception inside the simulator",
        "known case: a kernel that refuses executable stacks needs a newer FVP; else report it to its makers",
        says(r"^Error: \(E\d+\) uncaught exception: (?P<what>.*)", message="uncaught exception: {what}"),
        decides=False,
    ),
    Rule(
        "emulator-internal-error",
        _ERROR,
        Cause.SIMULATOR_ERROR,
        "A Python error inside our emulator",
        "report it with the console log",
        says(r"^Traceback \(most recent call last\):", "simulator", "the emulator raised an exception"),
        decides=False,
    ),
    Rule(
        "launch-status-126",
        _ERROR,
        Cause.LAUNCH,
        "A wrapper or shell could not execute the simulator",
        "run the command line below by hand",
        _status(126),
        decides=False,
    ),
    Rule(
        "launch-status-127",
        _ERROR,
        Cause.LAUNCH,
        "A wrapper or shell did not find a program it needs",
        "run the command line below by hand; a wrapper may need docker",
        _status(127),
        decides=False,
    ),
    Rule(
        "launch-silent",
        _ERROR,
        Cause.LAUNCH,
        "The simulator ended without printing anything",
        "an empty log is never a pass: run the command line below by hand",
        _silent,
        decides=False,
    ),
    Rule(
        "launch-refused",
        _ERROR,
        Cause.LAUNCH,
        "The simulator ended with a bad status before the target ran",
        "see its message in the console log",
        _refused,
        decides=False,
    ),
)
