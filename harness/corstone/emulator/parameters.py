"""The FVP's parameters that scripts use, as rows: name, type, default, and whether the emulator acts on it.

Names and defaults: a public ``--list-params`` dump of FVP_Corstone_SSE-300_Ethos-U55 (January 2022), ARM-software/AVH
board/Corstone-320/fvp_config.txt, and the command lines in executorch backends/arm and mlia. A row's name is a format
over the platform's prefixes: ``{board}`` is ``mps3_board.`` or ``mps4_board.``, ``{sub}`` empty or
``mps4_board.subsystem.``. Rows that are accepted and change nothing say so in ``--list-params``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from corstone.causes import Cause
from corstone.emulator.platforms import Platform
from corstone.errors import ConfigError

Value = bool | int | str


@dataclass(frozen=True)
class Row:
    """One parameter. ``low`` and ``high`` bound an integer; ``boards`` are those that have it, all when empty."""

    name: str
    default: Value
    text: str
    acts: bool = False
    run_time: bool = False
    low: int = 0
    high: int = 0xFFFFFFFF
    boards: tuple[str, ...] = ()


_UARTS = (0, 1, 2, 5)
_C300, _C320 = ("corstone-300",), ("corstone-320",)

_ROWS: tuple[Row, ...] = (
    Row("core_clk.mul", 25000000, "Clock rate multiplier of the core"),
    Row("core_clk.div", 1, "Clock rate divider of the core", low=1),
    Row("{sub}cpu0.semihosting-enable", False, "Enable semihosting", acts=True),
    Row("{sub}cpu0.semihosting-cmd_line", "", "Command line given to semihosting calls", acts=True),
    Row("{sub}cpu0.semihosting-cwd", "", "Base directory for semihosting file access", acts=True),
    Row("{sub}cpu0.semihosting-prefix", False, "Prefix semihosting output with the instance name"),
    Row("{sub}cpu0.semihosting-Thumb_SVC", 0xAB, "Breakpoint number for semihosting", high=0xFF),
    Row("{sub}cpu0.semihosting-heap_base", 0, "Virtual address of the heap base"),
    Row("{sub}cpu0.semihosting-heap_limit", 0x10700000, "Virtual address of the top of heap"),
    Row("{sub}cpu0.semihosting-stack_base", 0x10700000, "Virtual address of the base of stack"),
    Row("{sub}cpu0.semihosting-stack_limit", 0x10800000, "Virtual address of the stack limit"),
    Row("{sub}cpu0.CFGITCMSZ", 10, "Size of the instruction TCM, 2 to the power n-1 KB", high=15),
    Row("{sub}cpu0.CFGDTCMSZ", 10, "Size of the data TCM, 2 to the power n-1 KB", high=15),
    Row("{sub}cpu0.CFGMEMALIAS", 16, "Address bit of the memory alias", high=31),
    Row("{sub}cpu0.CFGPACBTI", False, "Pointer authentication and branch targets", boards=_C320),
    Row("{sub}cpu0.INITSVTOR", 0x10000000, "Secure vector table at reset", acts=True, boards=_C300),
    Row("{sub}cpu0.INITSVTOR", 0x11000000, "Secure vector table at reset", boards=_C320),
    Row("{sub}cpu0.INITNSVTOR", 0, "Non-secure vector table at reset"),
    Row("{sub}cpu0.MPU_S", 16, "Number of secure MPU regions", high=16),
    Row("{sub}cpu0.MPU_NS", 16, "Number of non-secure MPU regions", high=16),
    Row("{sub}cpu0.SAU", 8, "Number of SAU regions", high=8),
    Row("{sub}cpu0.FPU", True, "Floating-point unit"),
    Row("{sub}cpu0.MVE", 2, "M-profile vector extension: 0 none, 1 integer, 2 integer and floating point", high=2),
    Row("{sub}cpu0.vfp-enable_at_reset", False, "Enable the FPU at reset"),
    Row("{sub}cpu0.has_pmu", False, "Performance monitoring unit of the core"),
    Row("{sub}cpu0.ICACHESZ", 15, "Size of the instruction cache", high=31),
    Row("{sub}cpu0.DCACHESZ", 15, "Size of the data cache", high=31),
    Row("{sub}cpu0.icache-state_modelled", False, "Model the instruction cache"),
    Row("{sub}cpu0.dcache-state_modelled", False, "Model the data cache"),
    Row("{sub}cpu0.min_sync_level", 0, "Minimum synchronisation level", run_time=True, high=3),
    Row("{sub}cpu0.cpi_mul", 1, "Cycles per instruction, multiplier", run_time=True, low=1),
    Row("{sub}cpu0.cpi_div", 1, "Cycles per instruction, divider", run_time=True, low=1),
    Row("{sub}cpu0.tcm_fill_pattern_1", 0xDFDFDFCF, "First fill pattern of the TCMs"),
    Row("{sub}cpu0.tcm_fill_pattern_2", 0xCFDFDFDF, "Second fill pattern of the TCMs"),
    Row("{sub}ethosu.num_macs", 128, "MACs a cycle of the NPU", acts=True, high=2048, boards=_C300),
    Row("{sub}ethosu.num_macs", 256, "MACs a cycle of the NPU", acts=True, high=2048, boards=_C320),
    Row("{sub}ethosu.extra_args", "", "Arguments for the NPU model: --fast, --pmu-trace FILE", acts=True),
    Row("{sub}ethosu.diagnostics", 0, "Verbosity of the NPU model", run_time=True, high=4),
    Row("ethosu.config", "", "NPU configuration of models up to 11.12, such as H128", acts=True, boards=_C300),
    Row("{board}DISABLE_GATING", False, "Turn off the gating of memory and peripherals"),
    Row("{board}FPGA_SRAM_SIZE", 2, "Size of the FPGA SRAM in MB", low=1, high=8),
    Row("{board}v_path", "", "Folder of the virtual streaming interface"),
    Row("{board}visualisation.disable-visualisation", False, "No window"),
    Row("{board}visualisation.rate_limit-enable", True, "Limit the rate to real time"),
    Row("{board}visualisation.cpu_name", "", "Window title"),
    Row("vis_hdlcd.disable_visualisation", False, "No window for the display controller", boards=_C320),
    Row("{board}hostbridge.interfaceName", "ARM0", "Host interface"),
    Row("{board}hostbridge.userNetworking", False, "User-mode networking"),
    Row("{board}hostbridge.userNetPorts", "", "Forwarded ports"),
    Row("{board}hostbridge.userNetSubnet", "172.20.51.0/24", "Subnet of user-mode networking"),
    Row("{board}smsc_91c111.enabled", False, "Ethernet controller"),
    Row("{board}smsc_91c111.mac_address", "00:02:f7:ef:5f:2c", "Ethernet address"),
    Row("mps3_board.sse300.VM_BANK_SIZE", 2048, "Size of a volatile memory bank in KB", boards=_C300),
    Row("mps3_board.sse300.NUMVMBANK", 2, "Number of volatile memory banks", high=4, boards=_C300),
    Row(
        "{sub}iotss3_systemcontrol.INITSVTOR_RST",
        0x11000000,
        "Secure vector table at reset",
        acts=True,
        boards=_C320,
    ),
    Row("{board}ddr.read_latency", 0, "Read latency of the DDR", boards=_C320),
    Row("{board}ddr.write_latency", 0, "Write latency of the DDR", boards=_C320),
)


def _uart_rows() -> Iterable[Row]:
    for i in _UARTS:
        name, acts = f"{{board}}uart{i}.", i == 0
        yield Row(name + "out_file", "", "Output file, - for the standard output", acts=acts)
        yield Row(name + "in_file", "", "Input file", acts=acts)
        yield Row(name + "in_file_escape_sequence", "##", "Escape sequence of the input file")
        yield Row(name + "shutdown_on_eot", False, "Stop when a byte 0x04 is sent", acts=acts)
        yield Row(name + "shutdown_tag", "", "Stop when this text is sent", acts=acts, run_time=True)
        yield Row(name + "unbuffered_output", False, "Unbuffered output (it always is here)")
        yield Row(name + "untimed_fifos", False, "Ignore the baud rate")
        yield Row(name + "rx_overrun_mode", 0, "What happens to bytes beyond the receive buffer")
        yield Row(name + "baud_rate", 38400, "Baud rate")
        yield Row(name + "enable_dc4", True, "Treat byte 0x14 as a command")
        yield Row(name + "clk_divider.mul", 1, "Clock multiplier", low=1)
        yield Row(name + "clk_divider.div", 1, "Clock divider", low=1)
        name = f"{{board}}telnetterminal{i}."
        yield Row(name + "start_telnet", True, "Start a telnet session (there is none here)")
        yield Row(name + "start_port", 5000, "First port to try", high=65535)
        yield Row(name + "mode", "telnet", "telnet or raw")
        yield Row(name + "quiet", False, "Print nothing")
        yield Row(name + "terminal_command", "", "Command line of the terminal")


def rows(platform: Platform) -> dict[str, Row]:
    """All parameters of a platform by full name, sorted."""
    found = {
        row.name.format(board=platform.board_prefix, sub=platform.prefix): row
        for row in (*_ROWS, *_uart_rows())
        if not row.boards or platform.name in row.boards
    }
    return dict(sorted(found.items()))


class Parameters:
    """Values of all parameters of a platform: the defaults, and what the caller set."""

    def __init__(self, platform: Platform, settings: Iterable[tuple[str, str]]) -> None:
        self._platform = platform
        self._rows = rows(platform)
        self.values: dict[str, Value] = {name: row.default for name, row in self._rows.items()}
        self.given: dict[str, Value] = {}
        for name, text in settings:
            self.values[name] = self.given[name] = self._parse(name, text)

    def cpu(self, name: str) -> Value:
        """A parameter below the CPU's and NPU's prefix."""
        return self.values[self._platform.prefix + name]

    def board(self, name: str) -> Value:
        """A parameter below the board's prefix."""
        return self.values[self._platform.board_prefix + name]

    def _parse(self, name: str, text: str) -> Value:
        row = self._rows.get(name)
        if row is None:
            close = difflib.get_close_matches(name, self._rows, 3, 0.6)
            raise ConfigError(
                f"unknown parameter {name!r} for {self._platform.name}",
                cause=Cause.CONFIGURATION,
                hint=("did you mean " + ", ".join(close) + "? " if close else "") + "--list-params prints all",
            )
        return parse_value(name, row, text)


def parse_value(name: str, row: Row, text: str) -> Value:
    """Text as the row's type; quotes around the whole are dropped, as callers without a shell pass them.

    Raises
    ------
    ConfigError: it is not of that type or out of range.
    """
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    if isinstance(row.default, str):
        return text
    if isinstance(row.default, bool):
        word = text.strip().lower()
        if word in ("0", "false"):
            return False
        if word in ("1", "true"):
            return True
        raise _bad(name, text, "a bool: 0 or 1")
    try:
        value = int(text.strip(), 0)
    except ValueError:
        raise _bad(name, text, "an integer, decimal or 0x") from None
    if not row.low <= value <= row.high:
        raise _bad(name, text, f"within [{row.low:#x}..{row.high:#x}]")
    return value


def _bad(name: str, text: str, expected: str) -> ConfigError:
    return ConfigError(f"bad value {text!r} for parameter {name}: expected {expected}", cause=Cause.CONFIGURATION)


def listing(platform: Platform, values: Mapping[str, Value]) -> str:
    """``--list-params``: one line a parameter, in the form of a config file."""
    lines = [
        f"# Parameters of {platform.board.title}, as corstone-emulator takes them",
        "# instance.parameter=value" + " " * 27 + "# (type, mode) default = 'value' : description : [min..max]",
        "#" + "-" * 98,
    ]  # fmt: skip
    for name, row in rows(platform).items():
        value = values[name]
        kind = "bool" if isinstance(row.default, bool) else "int" if isinstance(row.default, int) else "string"
        mode = "run-time " if row.run_time else "init-time"
        if isinstance(row.default, str):
            shown, default, bounds = f'"{value}"' if value else "", row.default, ""
        elif isinstance(row.default, bool):
            shown, default, bounds = str(int(value)), str(int(row.default)), " : [0..1]"
        else:
            shown, default, bounds = str(value), f"{row.default:#x}", f" : [{row.low:#x}..{row.high:#x}]"
        text = row.text + ("" if row.acts else " (accepted, no effect)")
        lines.append(f"{name + '=' + shown:<54}# ({kind:<6}, {mode}) default = '{default}' : {text}{bounds}")
    lines.append("#" + "-" * 98)
    return "\n".join(lines) + "\n"
