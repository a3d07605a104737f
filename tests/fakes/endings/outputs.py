"""Outputs, or what was said about them, are not as asked."""

from __future__ import annotations

from tests.fakes.endings.case import BANNER, BOOTED, DUMP, ET, ET_END, ET_RUN, ET_START, MLEK, OUT0, Case, case, says

from corstone.causes import Cause

OUTPUTS: tuple[Case, ...] = (
    case("dump-missing", [BANNER, says(BOOTED + MLEK)], "NO_OUTPUT", Cause.OUTPUT_MISSING, "outputs-missing"),
    case(
        "files-missing",
        [BANNER, says(ET_START + ET_RUN + ET_END), ["exit", 0]],
        "NO_OUTPUT",
        Cause.OUTPUT_MISSING,
        "outputs-missing",
        runner="semihosting",
    ),
    case(
        "one-file-missing",
        [BANNER, says(ET_START + ET_END), OUT0, ["exit", 0]],
        "NO_OUTPUT",
        Cause.OUTPUT_MISSING,
        "outputs-some-missing",
        runner="semihosting",
        outputs=(16, 8),
    ),
    case(
        "file-not-written",
        [
            BANNER,
            says(
                ET_START
                + ET_RUN
                + "E [executorch:arm_executor_runner.cpp:900 write()] "
                + "Could not open output file out-0.bin (errno: 13)\n"
                + ET_END
            ),
            ["exit", 0],
        ],
        "NO_OUTPUT",
        Cause.OUTPUT_MISSING,
        "outputs-not-opened",
        runner="semihosting",
    ),
    case(
        "stale-file",
        [
            BANNER,
            says(ET_START + ET_RUN + ET_END),
            ["write", {"name": "out-0.bin", "size": 16, "age": 3600}],
            ["exit", 0],
        ],
        "NO_OUTPUT",
        Cause.STALE,
        "outputs-stale",
        runner="semihosting",
        user="D23",
    ),
    case(
        "link-instead-of-file",
        [
            BANNER,
            says(ET_START + ET_RUN + ET_END),
            ["link", {"name": "out-0.bin", "to": "/etc/hostname"}],
            ["exit", 0],
        ],
        "NO_OUTPUT",
        Cause.OUTPUT_MISSING,
        "outputs-missing",
        runner="semihosting",
    ),
    case(
        "file-too-short",
        [BANNER, says(ET_START + ET_RUN + ET_END), ["write", {"name": "out-0.bin", "size": 7}], ["exit", 0]],
        "NO_OUTPUT",
        Cause.OUTPUT_SIZE,
        "outputs-too-short",
        runner="semihosting",
    ),
    case(
        "file-too-long",
        [BANNER, says(ET_START + ET_RUN + ET_END), ["write", {"name": "out-0.bin", "size": 64}], ["exit", 0]],
        "NO_OUTPUT",
        Cause.OUTPUT_SIZE,
        "outputs-too-long",
        runner="semihosting",
    ),
    case(
        "file-too-many",
        [BANNER, says(ET_START + ET_END), OUT0, ["write", {"name": "out-1.bin", "size": 16}], ["exit", 0]],
        "NO_OUTPUT",
        Cause.OUTPUT_COUNT,
        "outputs-count",
        runner="semihosting",
    ),
    case(
        "files-fewer-announced",
        [BANNER, says(ET_START + ET_RUN + ET_END), OUT0, ["write", {"name": "out-1.bin", "size": 8}], ["exit", 0]],
        "NO_OUTPUT",
        Cause.OUTPUT_COUNT,
        "outputs-count",
        runner="semihosting",
        outputs=(16, 8),
    ),
    case(
        "fill-pattern-left",
        [
            BANNER,
            says(ET_START + ET_RUN + ET_END),
            ["write", {"name": "out-0.bin", "size": 64, "value": 0xA5}],
            ["exit", 0],
        ],
        "NO_OUTPUT",
        Cause.CANARY,
        "outputs-untouched",
        runner="semihosting",
        outputs=(64,),
        user="D24",
    ),
    case(
        "canary-left",
        [BANNER, says(BOOTED + MLEK), ["dump", {"none": True}]],
        "NO_OUTPUT",
        Cause.CANARY,
        "outputs-untouched",
        user="D24",
    ),
    case(
        "canary-half-left",
        [BANNER, says(BOOTED + MLEK), ["dump", {"bytes": 32}]],
        "NO_OUTPUT",
        Cause.CANARY,
        "outputs-partial",
        outputs=(64,),
        user="D24",
        message="last 32 bytes",
    ),
    case(
        "canary-left-in-one-byte",
        [BANNER, says(BOOTED + MLEK), ["dump", {"none": True}]],
        "NO_OUTPUT",
        Cause.CANARY,
        "outputs-doubtful",
        outputs=(1,),
    ),
    case(
        "dump-cut",
        [BANNER, says(BOOTED + MLEK), ["dump", {"cut": 9}]],
        "NO_OUTPUT",
        Cause.OUTPUT_SIZE,
        "outputs-too-short",
    ),
    case(
        "written-beyond-the-end",
        [BANNER, says(BOOTED + MLEK), ["dump", {"beyond": 4}]],
        "NO_OUTPUT",
        Cause.OUTPUT_SIZE,
        "outputs-too-long",
    ),
    case(
        "int16-not-dumped",
        [BANNER, says(ET_START + ET_RUN + f"{ET}Program complete, exiting.\n\x04"), ["exit", 0]],
        "NO_OUTPUT",
        Cause.UNSUPPORTED,
        "outputs-not-dumped",
        runner="console",
        user="D25",
    ),
    case(
        "floats-printed-empty",
        [
            BANNER,
            says(
                ET_START
                + ET_RUN
                + "Output[0][0]: (float) \nOutput[0][1]: (float) \n"
                + f"{ET}Program complete, exiting.\n\x04"
            ),
            ["exit", 0],
        ],
        "NO_OUTPUT",
        Cause.UNSUPPORTED,
        "outputs-not-dumped",
        runner="console",
        user="D26",
    ),
    case(
        "other-input-bytes",
        [BANNER, says(BOOTED + MLEK.replace("{inputs}", "8")), DUMP],
        "NO_OUTPUT",
        Cause.EVIDENCE,
        "evidence-inputs",
    ),
    case(
        "other-input-count",
        [BANNER, says(BOOTED + MLEK.replace("{tensors}", "2")), DUMP],
        "NO_OUTPUT",
        Cause.EVIDENCE,
        "evidence-inputs",
    ),
    case(
        "other-output-bytes",
        [BANNER, says(BOOTED + MLEK.replace("{outputs}", "4")), DUMP],
        "NO_OUTPUT",
        Cause.EVIDENCE,
        "evidence-outputs",
    ),
    case(
        "other-output-address",
        [BANNER, says(BOOTED + MLEK.replace("0x93000000", "0x94000000")), DUMP],
        "NO_OUTPUT",
        Cause.EVIDENCE,
        "evidence-outputs",
        user="D24 D31",
    ),
    case(
        "bundle-comparison-failed",
        [
            BANNER,
            says(ET_START + "TEST: BundleIO index[0] Test_result: FAIL\n" + ET_END + "\x04"),
            OUT0,
            ["exit", 0],
        ],
        "FAILED",
        Cause.BITS,
        "bundle-failed",
        runner="semihosting",
    ),
)
