"""Corstone-320: SSE-320 on MPS4, Cortex-M85, Ethos-U85.

Sources: TF-M platform/ext/target/arm/mps4 platform_base_address.h; ml-embedded-evaluation-kit sse-320 headers; Zephyr
mps4_corstone320_fvp.dts; ARM-software/AVH board/Corstone-320/fvp_config.txt; executorch backends/arm/scripts/
run_fvp.sh. Note the secure alias of the FPGA SRAM: +0x11000000, where all others are +0x10000000.
"""

from __future__ import annotations

from corstone.boards.board import Board, NpuPort, Parameter, Region, Uart

_EXECUTORCH = "executorch backends/arm/scripts/run_fvp.sh"
_AVH = "ARM-software/AVH board/Corstone-320/fvp_config.txt"

BOARD = Board(
    name="corstone-320",
    title="Arm Corstone-320 (SSE-320, MPS4)",
    cpu="cortex-m85",
    simulators={"U85": "FVP_Corstone_SSE-320"},
    vectors=0x11000000,
    regions=(
        Region("ITCM", 0x10000000, 32 << 10, 0x00000000, npu=False),
        Region("ROM", 0x11000000, 128 << 10, npu=False),
        Region("BRAM", 0x12000000, 2 << 20, 0x01000000),
        Region("DTCM", 0x30000000, 32 << 10, 0x20000000, npu=False),
        Region("ISRAM", 0x31000000, 4 << 20, 0x21000000),
        Region("QSPI", 0x38000000, 8 << 20, 0x28000000),
        Region("DDR", 0x60000000, 2 << 30),
    ),
    uart=Uart(0x58203000, 0x48203000),
    npu=NpuPort(0x50004000, 0x40004000, 16),
    targets=(
        "ethos-u85-128",
        "ethos-u85-256",
        "ethos-u85-512",
        "ethos-u85-1024",
        "ethos-u85-2048",
    ),
    default_target="ethos-u85-256",
    parameters=(
        Parameter("uart-out", "mps4_board.uart0.out_file", "-", _EXECUTORCH),
        Parameter("uart-unbuffered", "mps4_board.uart0.unbuffered_output", "1", _EXECUTORCH),
        Parameter("uart-eot", "mps4_board.uart0.shutdown_on_eot", "1", _EXECUTORCH),
        Parameter("uart-tag", "mps4_board.uart0.shutdown_tag", "{tag}", _AVH, assumed=True),
        Parameter("terminal-0", "mps4_board.telnetterminal0.start_telnet", "0", _EXECUTORCH),
        Parameter("terminal-1", "mps4_board.telnetterminal1.start_telnet", "0", _AVH),
        Parameter("terminal-2", "mps4_board.telnetterminal2.start_telnet", "0", _AVH),
        Parameter("terminal-5", "mps4_board.telnetterminal5.start_telnet", "0", _AVH),
        Parameter("display-off", "mps4_board.visualisation.disable-visualisation", "1", _EXECUTORCH),
        Parameter("display-off", "vis_hdlcd.disable_visualisation", "1", _EXECUTORCH),
        Parameter("macs", "mps4_board.subsystem.ethosu.num_macs", "{macs}", _EXECUTORCH),
        Parameter("npu-args", "mps4_board.subsystem.ethosu.extra_args", "{npu_args}", _EXECUTORCH),
        Parameter("semihosting", "mps4_board.subsystem.cpu0.semihosting-enable", "1", _EXECUTORCH),
        Parameter("semihosting-stack", "mps4_board.subsystem.cpu0.semihosting-stack_base", "0", _EXECUTORCH),
        Parameter("semihosting-heap", "mps4_board.subsystem.cpu0.semihosting-heap_limit", "0", _EXECUTORCH),
        Parameter("semihosting-cwd", "mps4_board.subsystem.cpu0.semihosting-cwd", "{cwd}", _EXECUTORCH),
        Parameter("semihosting-line", "mps4_board.subsystem.cpu0.semihosting-cmd_line", "{line}", _EXECUTORCH),
    ),
)
