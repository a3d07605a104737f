"""The NPU stopped with an error."""

from __future__ import annotations

from tests.fakes.endings.case import (
    BANNER,
    BOOTED,
    ET,
    ET_START,
    POPULATED,
    RUNNING,
    TERMINATING,
    Case,
    case,
    mlek_ends,
    says,
)

from corstone.causes import Cause

NPU: tuple[Case, ...] = (
    case(
        "npu-bus",
        mlek_ends(
            POPULATED
            + RUNNING
            + "E: NPU status=0x00001804, qread=96, cmd_end_reached=0\r\nERROR - Inference failed.\r\n"
        ),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-bus-error",
        message="byte 96",
    ),
    case(
        "npu-parse",
        mlek_ends(
            POPULATED
            + RUNNING
            + "E: NPU status=0x00000010, qread=40, cmd_end_reached=0\r\nERROR - Inference failed.\r\n"
        ),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-parse-error",
    ),
    case(
        "npu-watchdog",
        mlek_ends("E: NPU status=0x00000080, qread=4, cmd_end_reached=0\r\n"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-watchdog",
    ),
    case(
        "npu-ecc",
        mlek_ends("E: NPU status=0x00000100, qread=4, cmd_end_reached=0\r\n"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-ecc",
    ),
    case(
        "npu-branch",
        mlek_ends("E: NPU status=0x00000200, qread=4, cmd_end_reached=0\r\n"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-branch",
    ),
    case(
        "npu-error-undecoded",
        mlek_ends("E: NPU error(s) occured during inference. (ethosu_driver.c:420)\r\n"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-error",
    ),
    case(
        "npu-fault-emulator",
        [
            BANNER,
            says(BOOTED + POPULATED + RUNNING),
            [
                "error",
                "corstone-emulator: NPU stopped: unsupported command NPU_OP_RESIZE at offset 0x40, operands 0x0001\n",
            ],
            says("E: ERROR - Inference failed.\r\n" + TERMINATING),
            ["dump", {"none": True}],
        ],
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-parse-error",
        message="NPU_OP_RESIZE",
    ),
    case(
        "npu-timeout",
        mlek_ends(RUNNING + "E: NPU inference timed out. (ethosu_driver.c:430)\r\n"),
        "CRASHED",
        Cause.NPU_TIMEOUT,
        "npu-timeout",
    ),
    case(
        "npu-invoke-failed",
        mlek_ends(RUNNING + "E: Failed to invoke inference. (ethosu_driver.c:700)\r\n"),
        "CRASHED",
        Cause.INFERENCE_FAILED,
        "npu-invoke-failed",
    ),
    case(
        "inference-failed",
        mlek_ends(POPULATED + RUNNING + "E: E: ERROR - Inference failed.\r\n"),
        "CRASHED",
        Cause.INFERENCE_FAILED,
        "inference-failed",
    ),
    case(
        "model-run-0",
        [BANNER, says(ET_START + f"{ET}Model run: 0\n{ET}Program complete, exiting.\n"), ["exit", 0]],
        "CRASHED",
        Cause.INFERENCE_FAILED,
        "model-not-run",
        runner="semihosting",
    ),
)
