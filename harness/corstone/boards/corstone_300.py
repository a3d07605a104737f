"""Corstone-300: SSE-300 on MPS3, Cortex-M55, Ethos-U55 or Ethos-U65.

Sizes are those of the FVP from Fast Models 11.16 on (AN552), the smallest published; the AN547 image and QEMU have
more. Sources: TF-M platform/ext/target/arm/mps3/corstone300 platform_base_address.h; ml-embedded-evaluation-kit
sse-300 mem_regions.h; Zephyr boards/arm/mps3 dts; a public ``--list-params`` dump of the U55 model (January 2022).
"""

from __future__ import annotations

from corstone.boards.board import Board, NpuPort, Parameter, Region, Uart

_DUMP = "lv_port_mps3_an547_cm55 fvp_cfg.txt (--list-params dump, January 2022)"
_EXECUTORCH = "executorch backends/arm/scripts/run_fvp.sh"

BOARD = Board(
    name="corstone-300",
    title="Arm Corstone-300 (SSE-300, MPS3)",
    cpu="cortex-m55",
    simulators={"U55": "FVP_Corstone_SSE-300_Ethos-U55", "U65": "FVP_Corstone_SSE-300_Ethos-U65"},
    vectors=0x10000000,
    regions=(
        Region("ITCM", 0x10000000, 512 << 10, 0x00000000, npu=False),
        Region("BRAM", 0x11000000, 1 << 20, 0x01000000),
        Region("DTCM", 0x30000000, 512 << 10, 0x20000000, npu=False),
        Region("ISRAM", 0x31000000, 2 << 20, 0x21000000),
        Region("QSPI", 0x38000000, 8 << 20, 0x28000000),
        # Eight segments of 256 MB, secure and non-secure in turn; flat here, as no alias among them is relied on.
        Region("DDR", 0x60000000, 2 << 30),
    ),
    uart=Uart(0x59303000, 0x49303000),
    npu=NpuPort(0x58102000, 0x48102000, 56),
    targets=(
        "ethos-u55-32",
        "ethos-u55-64",
        "ethos-u55-128",
        "ethos-u55-256",
        "ethos-u65-256",
        "ethos-u65-512",
    ),
    default_target="ethos-u55-128",
    parameters=(
        Parameter("uart-out", "mps3_board.uart0.out_file", "-", _DUMP),
        Parameter("uart-unbuffered", "mps3_board.uart0.unbuffered_output", "1", _DUMP),
        Parameter("uart-eot", "mps3_board.uart0.shutdown_on_eot", "1", _DUMP),
        Parameter("uart-tag", "mps3_board.uart0.shutdown_tag", "{tag}", _DUMP),
        Parameter("terminal-0", "mps3_board.telnetterminal0.start_telnet", "0", _DUMP),
        Parameter("terminal-1", "mps3_board.telnetterminal1.start_telnet", "0", _DUMP),
        Parameter("terminal-2", "mps3_board.telnetterminal2.start_telnet", "0", _DUMP),
        Parameter("terminal-5", "mps3_board.telnetterminal5.start_telnet", "0", _DUMP),
        Parameter("display-off", "mps3_board.visualisation.disable-visualisation", "1", _DUMP),
        Parameter("macs", "ethosu.num_macs", "{macs}", _DUMP, since="11.13"),
        Parameter("macs", "ethosu.config", "H{macs}", "ethos-u-core-platform 715c07b0", until="11.12"),
        Parameter("npu-args", "ethosu.extra_args", "{npu_args}", _EXECUTORCH),
        Parameter("semihosting", "cpu0.semihosting-enable", "1", _DUMP),
        Parameter("semihosting-stack", "cpu0.semihosting-stack_base", "0", _DUMP),
        Parameter("semihosting-heap", "cpu0.semihosting-heap_limit", "0", _DUMP),
        Parameter("semihosting-cwd", "cpu0.semihosting-cwd", "{cwd}", _DUMP),
        Parameter("semihosting-line", "cpu0.semihosting-cmd_line", "{line}", _DUMP),
    ),
)
