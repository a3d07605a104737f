"""The NPU's register block as the real driver uses it, for each product."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from corstone.emulator.devices.npu import Npu, RunFailed
from corstone.emulator.devices.npu_registers import registers
from corstone.emulator.npu import NpuError, RunStats
from corstone.targets import TARGETS, target

ID, STATUS, CMD, RESET, QBASE, QREAD, QSIZE, PROT, CONFIG = 0, 4, 8, 0xC, 0x10, 0x18, 0x20, 0x24, 0x28
PMCR = {"U55": 0x180, "U65": 0x180, "U85": 0x1180}
COUNTERS = {"U55": (4, 0x300, 0x380), "U65": (4, 0x300, 0x380), "U85": (8, 0x1300, 0x1380)}
RUNS: list[tuple[int, int, list[int]]] = []


def finished(address: int, size: int, bases: list[int]) -> RunStats:
    """A stream that ends well."""
    RUNS.append((address, size, bases))
    return RunStats(
        cycles=5000, macs=128000, bytes_read=1600, bytes_written=800, irq_mask=1, stop_mask=0xFF00, qread=size
    )  # fmt: skip


def failing(kind: str, offset: int) -> Callable[[int, int, list[int]], RunStats]:
    """A stream that faults."""

    def execute(_address: int, _size: int, _bases: list[int]) -> RunStats:
        raise RunFailed(NpuError(kind, "made to fail", name="POOL", offset=offset))  # type: ignore[arg-type]

    return execute


def made(name: str, execute: Callable[[int, int, list[int]], RunStats] = finished) -> tuple[Npu, list[bool]]:
    """A device and the history of its interrupt line."""
    RUNS.clear()
    levels: list[bool] = []
    return Npu(target(name), execute, levels.append), levels


@pytest.mark.parametrize("name", TARGETS)
def test_identification(name: str) -> None:
    npu, _ = made(name)
    row = target(name)
    assert npu.read(CONFIG) == row.config
    assert npu.read(ID) == row.id
    assert npu.read(0xFE0) == {"U55": 0x80, "U65": 0x81, "U85": 0x82}[row.product]
    assert [npu.read(0xFF0 + 4 * i) for i in range(4)] == [0x0D, 0xF0, 0x05, 0xB1]
    assert npu.read(PMCR[row.product]) >> 11 == COUNTERS[row.product][0]


@pytest.mark.parametrize("name", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_the_drivers_sequence(name: str) -> None:
    npu, levels = made(name)
    product = target(name).product
    npu.write(RESET, 1)
    assert npu.read(STATUS) & 8 == 0
    assert npu.read(PROT) == 1
    npu.write(CMD, 0)
    assert npu.read(CMD) == 0  # the queue enables last written, not the reset value
    counters, values, types = COUNTERS[product]
    npu.write(PMCR[product], 1)
    npu.write(PMCR[product] + 4, 1 << 31 | 0xF)
    assert npu.read(PMCR[product] + 8) == 1 << 31 | 0xF
    for i, event in enumerate((0x82, 0x87, 0x20, 0x23)):
        npu.write(types + 4 * i, event)
    npu.write(QBASE, 0x90000960)
    npu.write(QSIZE, 0x130)
    npu.write(0x80, 0x90000AB0)
    npu.write(0x88, 0x94000000)
    npu.write(0x8C, 0x1)
    npu.write(CMD, npu.read(CMD) & 0xC | 1)
    high = 0 if product == "U55" else 1 << 32
    assert [(0x90000960, 0x130, [0x90000AB0, 0x94000000 | high, *[0] * 6])] == RUNS
    assert levels == [True]
    # End reached, interrupt raised, not running; the masks of IRQ and STOP in the history.
    assert npu.read(STATUS) == 0xFF01 << 16 | 0x20 | 2
    npu.write(CMD, npu.read(CMD) & 0xC | 2)
    assert levels == [True, False]
    assert npu.read(STATUS) == 0xFF01 << 16 | 0x20  # still readable after the interrupt is cleared
    assert npu.read(QREAD) == 0x130
    beat = 8 if product == "U55" else 16
    assert [npu.read(values + 4 * i) for i in range(4)] == [1600 // beat, 800 // beat, 50, 4950]
    assert npu.read(PMCR[product] + 0x20) == 5000
    npu.write(CMD, 0xFF01 << 16)
    assert npu.read(STATUS) == 0x20
    npu.write(QSIZE, 4)
    assert npu.read(STATUS) == 0
    assert counters in (4, 8)
    # The high half of a base is no register of the U55; a write to it goes nowhere and is recorded.
    assert npu.seen == ({"write 0x08c": 1} if product == "U55" else {})


@pytest.mark.parametrize(("kind", "bit"), [("parse", 4), ("bus", 2), ("unsupported", 4), ("limit", 4), ("weights", 4)])
def test_faults_stop_until_reset(kind: str, bit: int) -> None:
    npu, levels = made("ethos-u55-128", failing(kind, 0x58))
    npu.write(CMD, 0xC | 1)
    assert npu.read(STATUS) == 1 << bit | 2
    assert npu.read(QREAD) == 0x58
    assert levels == [True]
    npu.write(CMD, 0xC | 2)
    npu.write(QBASE, 0)
    assert npu.read(STATUS) == 1 << bit  # neither clearing the interrupt nor a new queue clears a fault
    npu.write(RESET, 0)
    assert npu.read(STATUS) == 0
    assert npu.read(PROT) == 0


def test_reset_returns_every_register() -> None:
    npu, _ = made("ethos-u85-256")
    before = {offset: npu.read(offset) for offset in registers("U85")}
    for offset in registers("U85"):
        if offset not in (CMD, RESET):
            npu.write(offset, 0xFFFFFFFF)
    npu.write(CMD, 0)
    assert {offset: npu.read(offset) for offset in registers("U85")} != before
    npu.write(RESET, 0)
    assert {offset: npu.read(offset) for offset in registers("U85")} == before


def test_read_only_registers_stay() -> None:
    npu, _ = made("ethos-u55-128")
    for offset in (ID, STATUS, QREAD, PROT, CONFIG, 0xFE0):
        value = npu.read(offset)
        npu.write(offset, 0xFFFFFFFF)
        assert npu.read(offset) == value
    # The driver writes 0 to the high half of an address; only something that is lost is noted.
    npu.seen.clear()
    npu.write(0x84, 0)
    assert not npu.seen
    npu.write(0x84, 5)
    assert npu.seen == {"write 0x084": 1}


def test_counters_count_only_while_enabled() -> None:
    npu, _ = made("ethos-u55-128")
    npu.write(0x184, 1 << 31)
    npu.write(CMD, 1)
    assert npu.read(0x1A0) == 0  # PMCR.cnt_en is off
    npu.write(0x180, 1)
    npu.write(CMD, 1)
    npu.write(CMD, 1)
    assert npu.read(0x1A0) == 10000
    npu.write(0x180, 1 | 4)
    assert npu.read(0x1A0) == 0
    npu.write(0x188, 1 << 31)
    npu.write(CMD, 1)
    assert npu.read(0x1A0) == 0
    npu.write(0x1A0, 0xFFFFFFFF)
    npu.write(0x184, 1 << 31)
    npu.write(CMD, 1)
    assert (npu.read(0x1A4), npu.read(0x1A0)) == (1, 4999)  # 48 bits over two registers


@pytest.mark.parametrize("product", ["U55", "U65", "U85"])
def test_rows_do_not_collide(product: str) -> None:
    rows = registers(product)
    assert len({row.name for row in rows.values()}) == len(rows)
    assert all(offset % 4 == 0 and offset < 0x2000 for offset in rows)
    assert ("AXI_LIMIT0" in {r.name for r in rows.values()}) == (product != "U85")
