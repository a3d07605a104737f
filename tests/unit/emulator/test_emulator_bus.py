"""Accesses of any width on 32-bit registers, the UART, the timing adapter and the placeholder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.emulator.devices.bus import Bus
from corstone.emulator.devices.timing_adapter import TimingAdapter
from corstone.emulator.devices.uart import Uart
from corstone.emulator.devices.unimplemented import Unimplemented
from corstone.emulator.thumb import Access
from corstone.errors import DeviceFault


class Words:
    """A device of plain registers."""

    name = "words"

    def __init__(self) -> None:
        self.values = dict.fromkeys(range(0, 64, 4), 0)

    def read(self, offset: int) -> int:
        return self.values[offset]

    def write(self, offset: int, value: int) -> None:
        assert 0 <= value <= 0xFFFFFFFF
        self.values[offset] = value

    def reset(self) -> None:
        self.values = dict.fromkeys(self.values, 0)


@given(st.lists(st.tuples(st.sampled_from([1, 2, 4]), st.integers(0, 59), st.integers(0, 0xFFFFFFFF)), max_size=20))
def test_like_plain_memory(stores: list[tuple[int, int, int]]) -> None:
    words, plain = Words(), bytearray(64)
    bus = Bus([(0x1000, 64, words)])
    for size, at, value in stores:
        bus.store(Access("str", True, 0x1000 + at, size, (3,), 2), (0, 0, 0, value))
        plain[at : at + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    assert b"".join(v.to_bytes(4, "little") for v in words.values.values()) == plain
    for size in (1, 2, 4):
        for at in range(64 - size):
            expected = int.from_bytes(plain[at : at + size], "little")
            assert bus.load(Access("ldr", False, 0x1000 + at, size, (0,), 2)) == [expected]
            signed = int.from_bytes(plain[at : at + size], "little", signed=True) & 0xFFFFFFFF
            assert bus.load(Access("ldrs", False, 0x1000 + at, size, (0,), 2, True)) == [signed]


def test_outside_every_window() -> None:
    bus = Bus([(0x1000, 64, Words())])
    with pytest.raises(DeviceFault, match="no device model at 0x00001040"):
        bus.load(Access("ldm", False, 0x1038, 4, (0, 1, 2), 2))


class Lines:
    """Records what a UART does outside."""

    def __init__(self) -> None:
        self.sent = bytearray()
        self.levels: list[tuple[bool, bool]] = []
        self.uart = Uart("UART0", self.sent.append, lambda receive, transmit: self.levels.append((receive, transmit)))


def test_uart_sends_only_when_enabled() -> None:
    made = Lines()
    made.uart.write(0x00, ord("x"))
    made.uart.write(0x08, 1)
    for letter in b"ok":
        assert made.uart.read(0x04) & 1 == 0
        made.uart.write(0x00, letter)
    assert made.sent == b"ok"
    assert made.levels == []


def test_uart_interrupts_clear_on_a_one() -> None:
    made = Lines()
    made.uart.write(0x08, 1 | 4)
    made.uart.write(0x00, 65)
    assert made.levels == [(False, True)]
    assert made.uart.read(0x0C) == 1
    made.uart.write(0x0C, 1)
    assert made.levels == [(False, True), (False, False)]


def test_uart_receives() -> None:
    made = Lines()
    made.uart.feed(b"hi")
    assert made.uart.read(0x04) == 0  # the receiver is off
    made.uart.write(0x08, 2 | 8)
    assert made.uart.read(0x04) == 2
    assert made.levels == [(True, False)]
    assert [made.uart.read(0), made.uart.read(0)] == [ord("h"), ord("i")]
    assert made.uart.read(0x04) == 0
    assert made.uart.read(0) == 0
    made.uart.write(0x0C, 2)
    assert made.levels[-1] == (False, False)
    made.uart.reset()
    assert made.uart.read(0x08) == 0


def test_uart_identity() -> None:
    uart = Lines().uart
    assert [uart.read(0xFF0 + 4 * i) for i in range(4)] == [0x0D, 0xF0, 0x05, 0xB1]
    assert uart.read(0xFE0) == 0x21


def test_timing_adapter() -> None:
    adapter = TimingAdapter("TA0")
    assert adapter.read(0x38) == 0x1117
    adapter.write(0x38, 0)
    adapter.write(0x00, 0xFFFFFFFF)
    adapter.write(0x0C, 0xFFFFFFFF)
    assert (adapter.read(0x38), adapter.read(0x00), adapter.read(0x0C)) == (0x1117, 0x3F, 0xFFF)
    adapter.reset()
    assert adapter.read(0x0C) == 0


def test_placeholder_keeps_every_access() -> None:
    device = Unimplemented("SCC")
    assert device.read(4) == 0
    device.read(4)
    device.write(8, 0x12)
    assert device.seen == {("read", 4): 2, ("write 0x12", 8): 1}
