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
    Steps,
    case,
    mlek_ends,
    says,
)

from corstone.causes import Cause


def _emulator(text: str) -> Steps:
    """Our emulator reports the fault, the driver sees it in STATUS, the runner gives up."""
    return [
        BANNER,
        says(BOOTED + POPULATED + RUNNING),
        ["error", f"corstone-emulator: {text}\n"],
        says("E: ERROR - Inference failed.\r\n" + TERMINATING),
        ["dump", {"none": True}],
    ]


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
        "emulator-npu-unsupported",
        _emulator("NPU unsupported fault in NPU_OP_RESIZE at stream offset 0x40: not modelled (mode=1)"),
        "CRASHED",
        Cause.UNSUPPORTED,
        "npu-not-modelled",
        message="NPU_OP_RESIZE at stream offset 0x40",
    ),
    case(
        "emulator-npu-bus",
        _emulator("NPU bus fault in NPU_OP_DMA_START at stream offset 0x18: 0x1f000000 is no memory (length=16)"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-bus-error",
        message="0x1f000000",
    ),
    case(
        "emulator-npu-parse",
        _emulator("NPU parse fault in NPU_OP_POOL at stream offset 0x20: IFM_REGION was never set ()"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-parse-error",
        message="never set",
    ),
    case(
        "emulator-npu-weights",
        _emulator("NPU weights fault in NPU_OP_CONV at stream offset 0x60: the stream ends early ()"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-bad-weights",
        message="ends early",
    ),
    case(
        "emulator-npu-overlap",
        _emulator("NPU overlap fault in NPU_OP_POOL at stream offset 0x20: input and output share bytes ()"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-overlap",
        message="share bytes",
    ),
    case(
        "emulator-npu-overflow",
        _emulator("NPU overflow fault in NPU_OP_CONV at stream offset 0x60: accumulator of 32 bits ()"),
        "CRASHED",
        Cause.NPU_FAULT,
        "npu-overflow",
        message="accumulator",
    ),
    case(
        "emulator-npu-limit",
        _emulator("NPU limit fault in NPU_OP_CONV at stream offset 0x60: more than 60 s of work ()"),
        "CRASHED",
        Cause.NPU_TIMEOUT,
        "npu-limit",
        message="60 s of work",
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
