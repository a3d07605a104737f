"""The runner refuses, or aborts."""

from __future__ import annotations

from tests.fakes.endings.case import (
    BANNER,
    BOOTED,
    ET,
    HANG,
    POPULATED,
    RUNNING,
    STUCK,
    Case,
    case,
    et_ends,
    mlek_ends,
    says,
)

from corstone.causes import Cause

PROGRAM: tuple[Case, ...] = (
    case(
        "identifier-flipped",
        et_ends("E [executorch:program.cpp:100 load()] Program identifier 'XX12' != expected 'ET12'\n", 1),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "program-identifier",
        runner="semihosting",
        user="D40",
        message="'XX12'",
    ),
    case(
        "bundle-on-plain-runner",
        et_ends("E [executorch:program.cpp:100 load()] Program identifier 'BP08' != expected 'ET12'\n", 1),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "program-identifier",
        runner="semihosting",
        user="D40",
        message="bundled program",
    ),
    case(
        "kernel-missing",
        et_ends("E [executorch:method.cpp:750 resolve_operator()] Missing operator: [2] aten::acosh.out\n", 1),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "missing-kernel",
        runner="semihosting",
        message="aten::acosh.out",
    ),
    case(
        "backend-missing",
        et_ends("E [executorch:method.cpp:106 Init()] Backend XnnpackBackend is not registered.\n", 1),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "missing-backend",
        runner="semihosting",
        message="XnnpackBackend",
    ),
    case(
        "delegate-malformed",
        et_ends("E [executorch:EthosUBackend.cpp:90 init()] Malformed vela_bin_stream found\n", 1),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "malformed-delegate",
        runner="semihosting",
    ),
    case(
        "payload-wrong",
        mlek_ends("E: Custom Operator Payload: 1 is not correct, expected 31504f43\r\n"),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "malformed-delegate",
    ),
    case(
        "model-not-initialised",
        mlek_ends("ERROR - Failed to initialise model\r\n"),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "model-not-initialised",
    ),
    case(
        "method-not-loaded",
        et_ends(
            "E [executorch:arm_executor_runner.cpp:700 main()] Loading of method forward failed with status 0x12\n", 1
        ),
        "CRASHED",
        Cause.PROGRAM_REJECTED,
        "method-load-failed",
        runner="semihosting",
    ),
    case(
        "macs-mismatch",
        mlek_ends(
            "E: NPU config mismatch. npu.macs_per_cc=7, optimizer.macs_per_cc=8 (ethosu_device_u55_u65.c:300)\r\n"
        ),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "config-mismatch-macs",
        user="D32",
        message="ethos-u55-256, the simulator's NPU has 128 MACs",
    ),
    case(
        "macs-mismatch-old-text",
        mlek_ends(
            "E: NPU config mismatch: npu.product=0, npu.macs_per_cc=7, npu.shram_size=24 "
            "optimizer.product=0, optimizer.macs_per_cc=8, optimizer.shram_size=48\r\n"
        ),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "config-mismatch-macs",
        user="D32",
    ),
    case(
        "product-mismatch",
        mlek_ends("E: NPU config mismatch. npu.product=0, optimizer.product=1\r\n"),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "wrong-product",
    ),
    case(
        "driver-for-other-product",
        mlek_ends(
            "E: Failed to initialize device. Driver has not been compiled for this product (ethosu_device.c:45)\r\n"
        ),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "wrong-product",
    ),
    case(
        "stream-version-mismatch",
        mlek_ends("E: NPU config mismatch. npu.cmd_stream_version=0, optimizer.cmd_stream_version=1\r\n"),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "config-mismatch-stream-version",
    ),
    case(
        "custom-dma-mismatch",
        mlek_ends("E: NPU config mismatch. npu.custom_dma=0, optimizer.custom_dma=1\r\n"),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "config-mismatch",
    ),
    case(
        "arch-mismatch",
        mlek_ends("E: NPU arch mismatch. npu.arch=1.0.6, optimizer.arch=1.1.0\r\n"),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "arch-mismatch",
        message="1.1.0",
    ),
    case(
        "npu-absent",
        mlek_ends(
            "E: ERROR - Failed to initialise Ethos-U device\r\n"
            "ERROR - Failed to initialise platform Arm Corstone-300 - AN552\r\n"
        ),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "no-npu",
    ),
    case(
        "platform-foreign",
        mlek_ends("ERROR - Failed to initialise platform Arm Corstone-310\r\n"),
        "CRASHED",
        Cause.CONFIG_MISMATCH,
        "platform-not-initialised",
        user="D43",
    ),
    case(
        "stream-unaligned",
        mlek_ends("E: Command stream addr 0x70001004 not aligned to 16 bytes\r\n"),
        "CRASHED",
        Cause.ALIGNMENT,
        "alignment-stream",
        user="D36",
        message="0x70001004",
    ),
    case(
        "base-unaligned",
        mlek_ends("E: Base addr 1: 0x31000008 not aligned to 16 bytes\r\n"),
        "CRASHED",
        Cause.ALIGNMENT,
        "alignment-base",
        user="D36",
        message="0x31000008",
    ),
    case(
        "scratch-too-big",
        et_ends(
            "E [executorch:memory_allocator.h:88 allocate()] 6144000B requested (aligned), 2000B available\n"
            "E [executorch:EthosUBackend.cpp:150 execute()] Failed to allocate scratch buffer of 8197520 bytes from "
            "temp_allocator\n",
            1,
        ),
        "CRASHED",
        Cause.ALLOCATOR,
        "allocator-scratch",
        runner="semihosting",
        user="D33 D34",
        message="8197520",
    ),
    case(
        "method-pool-too-small",
        et_ends(
            "E [executorch:memory_allocator.h:88 allocate()] Memory allocation failed: "
            "6144000B requested, 2000B available\n",
            1,
        ),
        "CRASHED",
        Cause.ALLOCATOR,
        "allocator-pool",
        runner="semihosting",
        user="D34",
        message="6144000",
    ),
    case(
        "mlek-pool-too-small",
        mlek_ends(
            "INFO - E [ExecuTorch: memory_allocator.h:88 allocate()] Memory allocation failed: "
            "4194304B requested, 100B available\r\nERROR - Failed to initialise model\r\n"
        ),
        "CRASHED",
        Cause.ALLOCATOR,
        "allocator-pool",
        user="D34",
    ),
    case(
        "mlek-input-buffer-too-small",
        mlek_ends("ERROR - IFM reserved buffer size insufficient\r\n"),
        "CRASHED",
        Cause.ALLOCATOR,
        "allocator-io",
    ),
    case(
        "fast-memory-too-small",
        mlek_ends("E: Fast memory area too small. fast_memory_size=393216, base_addr_size=524288\r\n"),
        "CRASHED",
        Cause.ALLOCATOR,
        "allocator-fast-memory",
        message="393216",
    ),
    case(
        "scalar-input-not-set",
        mlek_ends(
            POPULATED
            + RUNNING
            + "INFO - E [ExecuTorch: method.cpp:1200 execute()] Input 1 has not been set.\r\n"
            + "ERROR - Inference failed.\r\n"
        ),
        "CRASHED",
        Cause.UNSUPPORTED,
        "input-not-set",
    ),
    case(
        "input-elements-differ",
        et_ends("E [executorch:EthosUBackend.cpp:200 execute()] Program expects 64 elements but got 16\n", 1),
        "CRASHED",
        Cause.BAD_INPUT,
        "input-mismatch",
        runner="semihosting",
    ),
    case(
        "element-size-mismatch",
        mlek_ends(
            RUNNING
            + "INFO - E [ExecuTorch: EthosUBackend.cpp:380 execute()] Ethos-U output 0 "
            + "expansion factor 3 with element size 2 not supported\r\nERROR - Inference failed.\r\n"
        ),
        "CRASHED",
        Cause.OUTPUT_SIZE,
        "element-size",
    ),
    case(
        "arguments-cut",
        [BANNER, says("Running executor with parameter:\n   -m program.pte\nUnknown argument: -i\n"), ["exit", 1]],
        "CRASHED",
        Cause.CONFIGURATION,
        "bad-arguments",
        runner="semihosting",
        user="D22",
    ),
    case(
        "file-not-opened",
        [BANNER, says(f"{ET}Could not open file i0.bin (errno: 2)\n"), ["exit", 1]],
        "CRASHED",
        Cause.NO_SEMIHOSTING,
        "input-file",
        runner="semihosting",
    ),
    case(
        "cpp-exception",
        [
            BANNER,
            says(
                BOOTED + POPULATED + RUNNING + "terminate called after throwing an instance of 'std::length_error'\r\n"
            ),
            HANG,
        ],
        "CRASHED",
        Cause.ABORT,
        "abort-exception",
        deadlines=STUCK,
    ),
    case(
        "assertion",
        et_ends(
            "F [executorch:tensor_impl.cpp:50 check()] In function check(), assert failed (dim > 0): bad rank\n", 255
        ),
        "CRASHED",
        Cause.ABORT,
        "abort-assertion",
        runner="semihosting",
    ),
    case(
        "runtime-fatal",
        et_ends("F [executorch:platform.cpp:20 abort()] out of resources\n", 255),
        "CRASHED",
        Cause.ABORT,
        "abort-fatal",
        runner="semihosting",
    ),
)
