"""The CPU of the board faulted."""

from __future__ import annotations

from tests.fakes.endings.case import BANNER, BOOTED, ET, ET_START, POPULATED, RUNNING, STUCK, Case, case, says

from corstone.causes import Cause


def _fault(
    name: str, cfsr: int, extra: str = "", rule: str = "", user: str = "", message: str = "", kind: str = "UsageFault"
) -> Case:
    text = f"FAULT {kind} cfsr=0x{cfsr:08x} hfsr=0x40000000 {extra} pc=0x00001234 lr=0x00000101 sp=0x20010000\r\n"
    return case(
        name,
        [BANNER, says(ET_START + text), ["exit", 101]],
        "CRASHED",
        Cause.CPU_FAULT,
        rule or name,
        runner="semihosting",
        user=user,
        message=message or "0x00001234",
    )


FAULTS: tuple[Case, ...] = (
    _fault("cpu-undefined-instruction", 1 << 16, user="D04"),
    _fault("cpu-invalid-state", 1 << 17, user="D04"),
    _fault("cpu-invalid-return", 1 << 18),
    _fault("cpu-no-coprocessor", 1 << 19),
    _fault("cpu-stack-overflow", 1 << 20),
    _fault("cpu-unaligned", 1 << 24, user="D03 D05"),
    _fault("cpu-divide-by-zero", 1 << 25),
    _fault("cpu-instruction-access", 1 << 0, kind="MemManage"),
    _fault("cpu-data-access", 1 << 1 | 1 << 7, "mmfar=0x20000000", kind="MemManage", message="0x20000000"),
    _fault("cpu-stacking", 1 << 12, kind="BusFault"),
    _fault("cpu-lazy-fp", 1 << 13, kind="BusFault"),
    _fault("cpu-bus-instruction", 1 << 8, kind="BusFault"),
    _fault("cpu-bus-data", 1 << 9 | 1 << 15, "bfar=0x11200000", kind="BusFault", message="0x11200000"),
    _fault("cpu-bus-imprecise", 1 << 10, kind="BusFault"),
    _fault("cpu-secure-fault", 0, "sfsr=0x00000048 sfar=0x40000000", kind="SecureFault", message="0x40000000"),
    case(
        "cpu-vector-table",
        [BANNER, says(ET_START + "HardFault cfsr=0x0 hfsr=0x00000002 pc=0x0\r\n"), ["exit", 101]],
        "CRASHED",
        Cause.CPU_FAULT,
        "cpu-vector-table",
        runner="semihosting",
    ),
    case(
        "hard-fault-core-platform",
        [
            BANNER,
            says(
                ET_START
                + ET
                + "Preparing inputs...\nHard fault. irqn=-13, pc=0x10002468, lr=0x10001111, xpsr=0x41000003, "
                + "sp=0x3007ff00\n        cfsr=0x00008200 bfar=0x11200000 mmfar=0x00000000\n"
            ),
            ["exit", 1],
        ],
        "CRASHED",
        Cause.CPU_FAULT,
        "cpu-bus-data",
        runner="semihosting",
        user="D35",
        message="Preparing inputs...",
    ),
    case(
        "fault-handler-spins",
        [BANNER, says(BOOTED + POPULATED + RUNNING + "HardFault\r\n"), ["spin", 60]],
        "CRASHED",
        Cause.CPU_FAULT,
        "cpu-fault",
        deadlines=STUCK,
        user="D03 D04",
        message="Running inference",
    ),
    case(
        "fault-dump-mlek",
        [
            BANNER,
            says(
                BOOTED
                + POPULATED
                + RUNNING
                + "CTRL    : 0x00000000\r\nIPSR    : 0x00000003\r\nAPSR    : 0x20000000\r\n"
                + "xPSR    : 0x20000003\r\n"
                + "PSP     : 0x00000000\r\nMSP     : 0x2007fe00\r\nPRIMASK : 0x00000000\r\n"
                + "Exception caught by function HardFault_Handler\r\n"
            ),
            ["spin", 60],
        ],
        "CRASHED",
        Cause.CPU_FAULT,
        "cpu-fault",
        deadlines=STUCK,
    ),
    case(
        "emulator-cpu-fault",
        [
            BANNER,
            says(BOOTED + POPULATED + RUNNING),
            [
                "error",
                (
                    "corstone-emulator: CPU fault: BusFault: precise bus error on a data access, address 0x11200000\n"
                    "  at copy+0x12, called from main+0x40\n"
                    "  pc=0x00001234 lr=0x00002345 sp=0x20001000 xpsr=0x01000000 r0=0x00000000\n"
                    "  cfsr=0x00008200 hfsr=0x40000000 mmfar=0x00000000 bfar=0x11200000 "
                    "sfsr=0x00000000 sfar=0x00000000\n"
                    "  its handler at BusFault_Handler+0x0 loops for ever\n"
                ),
            ],
            ["exit", 4],
        ],
        "CRASHED",
        Cause.CPU_FAULT,
        "cpu-bus-data",
        message="0x00001234 in copy+0x12, address 0x11200000",
    ),
    case(
        "emulator-stray-interrupt",
        [
            BANNER,
            says(BOOTED),
            [
                "error",
                (
                    "corstone-emulator: CPU fault: interrupt 33 went to the handler at Default_Handler+0x0, "
                    "which loops for ever\n"
                ),
            ],
            ["exit", 4],
        ],
        "CRASHED",
        Cause.CPU_FAULT,
        "cpu-stray-exception",
        message="interrupt 33",
    ),
)
