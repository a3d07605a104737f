"""Registers of Ethos-U55, U65 and U85 as rows: offset, name, reset value, access and writable bits.

Sources: the register maps of hal_ethos_u ethosu55/65/85_interface.h. Differences between the products are rows with a
``products`` field. Leaves out what a write does (``npu.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

ALL = ("U55", "U65", "U85")
_OLD = ("U55", "U65")
_WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Register:
    """One 32-bit register. ``mask`` holds the bits a write changes; 0 for read-only ones."""

    offset: int
    name: str
    reset: int = 0
    mask: int = _WORD
    products: tuple[str, ...] = ALL


@dataclass(frozen=True)
class PmuLayout:
    """Where a product's performance counters are."""

    base: int
    counters: int
    counter_base: int
    type_base: int


PMU: dict[str, PmuLayout] = {
    "U55": PmuLayout(0x180, 4, 0x300, 0x380),
    "U65": PmuLayout(0x180, 4, 0x300, 0x380),
    "U85": PmuLayout(0x1180, 8, 0x1300, 0x1380),
}

_ROWS: tuple[Register, ...] = (
    Register(0x000, "ID", mask=0),
    Register(0x004, "STATUS", mask=0),
    Register(0x008, "CMD", 0xC),
    Register(0x00C, "RESET", mask=0x3),
    Register(0x010, "QBASE0"),
    Register(0x014, "QBASE1", mask=0xFF, products=("U65", "U85")),
    Register(0x014, "QBASE1", mask=0, products=("U55",)),
    Register(0x018, "QREAD", mask=0),
    Register(0x01C, "QCONFIG", mask=0x3),
    Register(0x020, "QSIZE"),
    Register(0x024, "PROT", mask=0),
    Register(0x028, "CONFIG", mask=0),
    Register(0x02C, "LOCK", products=_OLD),
    Register(0x030, "COND_STATUS", mask=0, products=("U85",)),
    Register(0x038, "POWER_CTRL", mask=0x3F, products=("U85",)),
    Register(0x03C, "REGIONCFG", mask=0xFFFF),
    *(Register(0x040 + 4 * i, f"AXI_LIMIT{i}", mask=0x0F1F00F3, products=_OLD) for i in range(4)),
    *(Register(0x040 + 4 * i, f"MEM_ATTR{i}", mask=0xF7, products=("U85",)) for i in range(4)),
    Register(0x050, "AXI_SRAM", mask=0x31F3F, products=("U85",)),
    Register(0x054, "AXI_EXT", mask=0x31F3F, products=("U85",)),
    *(Register(0x080 + 8 * i, f"BASEP{i}_LO") for i in range(8)),
    *(Register(0x084 + 8 * i, f"BASEP{i}_HI", mask=0xFF, products=("U65", "U85")) for i in range(8)),
    *(Register(0x084 + 8 * i, f"BASEP{i}_HI", mask=0, products=("U55",)) for i in range(8)),
    Register(0xFC0, "REVISION", mask=0),
    Register(0xFD0, "PID4", 0x04, 0),
    Register(0xFD4, "PID5", 0, 0),
    Register(0xFD8, "PID6", 0, 0),
    Register(0xFDC, "PID7", 0, 0),
    Register(0xFE0, "PID0", 0x80, 0, ("U55",)),
    Register(0xFE0, "PID0", 0x81, 0, ("U65",)),
    Register(0xFE0, "PID0", 0x82, 0, ("U85",)),
    Register(0xFE4, "PID1", 0xB5, 0),
    Register(0xFE8, "PID2", 0x0B, 0),
    Register(0xFEC, "PID3", 0, 0),
    Register(0xFF0, "CID0", 0x0D, 0),
    Register(0xFF4, "CID1", 0xF0, 0),
    Register(0xFF8, "CID2", 0x05, 0),
    Register(0xFFC, "CID3", 0xB1, 0),
)

# Blocks that exist and hold nothing here: internal RAM, the mirror of the NPU_SET state, debug status.
DEBUG_RANGES = ((0x100, 0x180), (0x400, 0xC00), (0x1100, 0x1180))


@cache
def registers(product: str) -> dict[int, Register]:
    """Rows of a product by offset, its PMU included."""
    rows = [row for row in _ROWS if product in row.products] + _pmu_rows(PMU[product])
    return {row.offset: row for row in rows}


def _pmu_rows(pmu: PmuLayout) -> list[Register]:
    bits = 1 << 31 | (1 << pmu.counters) - 1
    names = ("PMCNTENSET", "PMCNTENCLR", "PMOVSSET", "PMOVSCLR", "PMINTSET", "PMINTCLR")
    return [
        Register(pmu.base, "PMCR", pmu.counters << 11, 0xF),
        *(Register(pmu.base + 4 + 4 * i, name, 0, bits) for i, name in enumerate(names)),
        Register(pmu.base + 0x20, "PMCCNTR_LO"),
        Register(pmu.base + 0x24, "PMCCNTR_HI", mask=0xFFFF),
        Register(pmu.base + 0x28, "PMCCNTR_CFG", mask=0x03FF03FF),
        Register(pmu.base + 0x2C, "PMCAXI_CHAN", mask=0x7FF),
        *(Register(pmu.counter_base + 4 * i, f"PMEVCNTR{i}") for i in range(pmu.counters)),
        *(Register(pmu.type_base + 4 * i, f"PMEVTYPER{i}", mask=0x3FF) for i in range(pmu.counters)),
    ]
