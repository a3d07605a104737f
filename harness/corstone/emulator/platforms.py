"""How each board lies on QEMU's mps3-an547 machine: memory, device windows, parameter prefixes.

The board's own facts (addresses of NPU and UART, vectors, sizes) come from ``corstone.boards``; here is what QEMU has
behind them. A platform is data; nothing tests its name. Sources: QEMU hw/arm/mps2-tz.c and armsse.c, measured on 7.2.
Leaves out the devices' behaviour (``devices``).
"""

from __future__ import annotations

from dataclasses import dataclass

from corstone.boards.board import Board
from corstone.boards.corstone_300 import BOARD as CORSTONE_300
from corstone.boards.corstone_320 import BOARD as CORSTONE_320
from corstone.causes import Cause
from corstone.errors import ConfigError

DDR_BASE = 0x60000000
DDR_SIZE = 2 << 30
CPU_NAME = "Cortex-M55"


@dataclass(frozen=True)
class Ram:
    """Memory by its secure address. ``alias`` is the non-secure one, -1 for none; ``npu`` whether the NPU reaches it.

    ``shared`` memory is the file that QEMU and the NPU model both map; the rest is moved through qtest.
    """

    name: str
    base: int
    size: int
    alias: int = -1
    npu: bool = True
    shared: bool = False
    read_only: bool = False


@dataclass(frozen=True)
class Window:
    """A device model's registers: ``kind`` names the model, ``bases`` are its aliases."""

    kind: str
    bases: tuple[int, ...]
    size: int
    name: str = ""


@dataclass(frozen=True)
class Platform:
    """One board on QEMU.

    ``prefix`` precedes the names of the CPU's and the NPU's parameters, ``board_prefix`` those of the board.
    ``qemu_uart`` is True where QEMU's own UART is at the board's address. ``stub`` is an address of QEMU's memory that
    no image of the board uses: a few instructions there set the vector table where QEMU starts with another.
    """

    board: Board
    top: str
    board_prefix: str
    prefix: str
    vectors_parameter: str
    rams: tuple[Ram, ...]
    windows: tuple[Window, ...]
    qemu_uart: bool
    stub: int

    @property
    def name(self) -> str:
        """The board's name."""
        return self.board.name

    def ram_of(self, address: int, size: int = 1) -> tuple[Ram, int] | None:
        """The memory that holds the whole range, and the offset in it."""
        for ram in self.rams:
            for base in (ram.base, ram.alias):
                if 0 <= base <= address and address + size <= base + ram.size:
                    return ram, address - base
        return None


_ITCM_SIZE = 512 << 10  # QEMU's; Corstone-320's linker scripts get the board's smaller sizes, see below
_DDR = Ram("DDR", DDR_BASE, DDR_SIZE, shared=True)

_PLATFORMS = (
    Platform(
        board=CORSTONE_300,
        top="FVP_MPS3_Corstone_SSE_300",
        board_prefix="mps3_board.",
        prefix="",
        vectors_parameter="cpu0.INITSVTOR",
        rams=(
            Ram("ITCM", 0x10000000, _ITCM_SIZE, 0x00000000, npu=False),
            Ram("BRAM", 0x11000000, 2 << 20, 0x01000000),
            Ram("DTCM", 0x30000000, _ITCM_SIZE, 0x20000000, npu=False),
            Ram("ISRAM", 0x31000000, 4 << 20, 0x21000000),
            Ram("QSPI", 0x38000000, 8 << 20, 0x28000000, read_only=True),
            _DDR,
        ),
        windows=(
            Window("npu", (0x58102000, 0x48102000), 0x1000),
            Window("timing-adapter", (0x58103000, 0x48103000), 0x200, "TA0"),
            Window("timing-adapter", (0x58103200, 0x48103200), 0xE00, "TA1"),
        ),
        qemu_uart=True,
        stub=0x313FFFC0,  # the board has 2 MB of ISRAM, QEMU 4 MB
    ),
    Platform(
        board=CORSTONE_320,
        top="FVP_Corstone_SSE_320",
        board_prefix="mps4_board.",
        prefix="mps4_board.subsystem.",
        vectors_parameter="mps4_board.subsystem.iotss3_systemcontrol.INITSVTOR_RST",
        rams=(
            Ram("ITCM", 0x10000000, 32 << 10, 0x00000000, npu=False),
            # QEMU's code SRAM plays the boot ROM. The board's own BRAM at 0x12000000 has nothing behind it.
            Ram("ROM", 0x11000000, 128 << 10, npu=False),
            Ram("DTCM", 0x30000000, 32 << 10, 0x20000000, npu=False),
            Ram("ISRAM", 0x31000000, 4 << 20, 0x21000000),
            Ram("QSPI", 0x38000000, 8 << 20, 0x28000000, read_only=True),
            _DDR,
        ),
        windows=(
            Window("npu", (0x50004000, 0x40004000), 0x2000),
            Window("timing-adapter", (0x50006000, 0x40006000), 0x800, "TA0"),
            Window("timing-adapter", (0x50006800, 0x40006800), 0x800, "TA1"),
            Window("unimplemented", (0x58202000, 0x48202000), 0x1000, "FPGAIO"),
            Window("uart", (0x58203000, 0x48203000), 0x1000, "UART0"),
            Window("unimplemented", (0x58204000, 0x48204000), 0x5000, "UART1 to UART5"),
            Window("unimplemented", (0x58300000, 0x48300000), 0x1000, "SCC"),
        ),
        qemu_uart=False,
        stub=0x1007FFC0,  # the board has 32 KB of ITCM, QEMU 512 KB
    ),
)

# What names a platform: its own name, and the file names of the FVPs.
PLATFORMS: dict[str, Platform] = {p.name: p for p in _PLATFORMS}
SIMULATORS: dict[str, tuple[Platform, str]] = {
    file: (platform, product) for platform in _PLATFORMS for product, file in platform.board.simulators.items()
}


def platform(name: str) -> Platform:
    """The platform of that name.

    Raises
    ------
    ConfigError: there is none; the message lists those that are.
    """
    try:
        return PLATFORMS[name]
    except KeyError:
        raise ConfigError(
            f"there is no board {name!r}", cause=Cause.CONFIGURATION, hint="use one of " + ", ".join(PLATFORMS)
        ) from None
