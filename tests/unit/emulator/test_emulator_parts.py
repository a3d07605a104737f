"""Loading, guest memory, the gdb client, fault decoding, the console and the alarm, each alone."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from corstone.emulator import faults, load
from corstone.emulator.boot import vector_stub
from corstone.emulator.console import Console
from corstone.emulator.gdb import GdbClient, StopKind, packet, write_register
from corstone.emulator.image import Piece
from corstone.emulator.interrupts import Interrupted, Signals
from corstone.emulator.memory import GuestMemory, SharedDdr
from corstone.emulator.npu import NpuError
from corstone.emulator.platforms import PLATFORMS
from corstone.emulator.qemu import check_version, find_qemu
from corstone.errors import ConfigError, ToolError

C300, C320 = PLATFORMS["corstone-300"], PLATFORMS["corstone-320"]


class Qtest:
    """A board's RAM outside the DDR, and a record of what was moved."""

    def __init__(self) -> None:
        self.memory = bytearray(8 << 20)
        self.moves: list[tuple[str, int, int]] = []

    def read(self, address: int, size: int) -> bytes:
        self.moves.append(("read", address, size))
        return bytes(self.memory[address - 0x31000000 :][:size])

    def write(self, address: int, data: bytes) -> None:
        self.moves.append(("write", address, len(data)))
        self.memory[address - 0x31000000 :][: len(data)] = data
        self.memory[address - 0x31000000 : address - 0x31000000 + len(data)] = data


def test_npu_sees_ddr_directly_and_sram_through_copies() -> None:
    ddr, qtest = SharedDdr(), Qtest()
    try:
        memory = GuestMemory(C300, ddr, qtest)  # type: ignore[arg-type]
        memory.window(0x60000100, 4, True)[:] = (1, 2, 3, 4)
        assert ddr.read(0x100, 4) == bytes((1, 2, 3, 4))
        assert memory.read(0x60000100, 4) == bytes((1, 2, 3, 4))
        assert qtest.moves == []
        qtest.memory[0x1FFE:0x2002] = b"abcd"
        view = memory.window(0x21001FFE, 4, False)
        assert view.tobytes() == b"abcd"
        assert qtest.moves == [("read", 0x31001000, 0x2000)]
        out = memory.window(0x31001FFF, 2, True)
        out[:] = (0x58, 0x59)
        assert view.tobytes() == b"aXYd"  # one memory by both aliases
        assert len(qtest.moves) == 1
        memory.commit()
        assert qtest.moves[1:] == [("write", 0x31001000, 0x2000)]
        assert bytes(qtest.memory[0x1FFE:0x2002]) == b"aXYd"
        qtest.memory[0x1FFE] = ord("z")
        assert memory.window(0x31001FFE, 1, False)[0] == ord("z")  # the copy is not kept over a commit
    finally:
        ddr.close()


@pytest.mark.parametrize(
    ("address", "size", "write", "words"),
    [
        (0x00000000, 4, False, "ITCM, which the NPU cannot reach"),
        (0x30000000, 4, False, "DTCM"),
        (0x38000000, 4, True, "QSPI, which cannot be written"),
        (0x50000000, 4, False, "not in this board's memory"),
        (0xDFFFFFFE, 4, False, "not in this board's memory"),
        (0x600000000, 4, False, "not in this board's memory"),
        (0x60000000, 1 << 40, False, "not in this board's memory"),
    ],
)
def test_npu_bus_errors(address: int, size: int, write: bool, words: str) -> None:
    ddr = SharedDdr()
    try:
        memory = GuestMemory(C300, ddr, Qtest())  # type: ignore[arg-type]
        with pytest.raises(NpuError, match=words) as caught:
            memory.window(address, size, write)
        assert caught.value.kind == "bus"
    finally:
        ddr.close()


def test_untouched_ddr_stays_a_hole() -> None:
    ddr = SharedDdr()
    try:
        assert ddr.read(1 << 30, 1 << 20) == bytes(1 << 20)
        assert os.fstat(ddr.fd).st_blocks == 0
        ddr.write(1 << 30, b"x")
        assert os.fstat(ddr.fd).st_blocks * 512 <= 65536
    finally:
        ddr.close()


def piece(address: int, size: int, what: str = "piece") -> Piece:
    return Piece(address, memoryview(bytes(range(256)) * (size // 256 + 1))[:size], what)


def test_aliases_overlap() -> None:
    load.place(C300, [piece(0x10000000, 16), piece(0x00000010, 16)])
    with pytest.raises(ConfigError, match="second at 0x0000000f overlaps first at 0x10000000"):
        load.place(C300, [piece(0x0000000F, 16, "second"), piece(0x10000000, 16, "first")])
    # On Corstone-320 the boot memory and the FPGA SRAM are different memories, whatever QEMU has there.
    with pytest.raises(ConfigError, match=r"no memory at 0x01000000.*BRAM"):
        load.place(C320, [piece(0x11000000, 16), piece(0x01000000, 16)])


def test_no_memory_names_the_board() -> None:
    with pytest.raises(ConfigError, match=r"there is no memory at 0x12000000.*the board's BRAM is there"):
        load.place(C320, [piece(0x12000000, 4)])
    with pytest.raises(ConfigError, match="there is no memory at 0x1007fff8"):
        load.place(C300, [piece(0x1007FFF8, 16)])
    with pytest.raises(ConfigError, match=r"0x40000000.*the ELF"):
        load.place(C300, [], [(0x40000000, 0x40000010)])


def test_vectors_come_from_either_alias() -> None:
    placed = load.place(C300, [piece(0x00000000, 64)])
    assert load.vectors(C300, placed, 0x10000000)[:2] == (0x03020100, 0x07060504)
    assert len(load.vectors(C300, placed, 0x10000000)) == 16
    with pytest.raises(ConfigError, match="no vector table at 0x11000000"):
        load.vectors(C320, load.place(C320, [piece(0x10000000, 64)]), 0x11000000)


def test_stub_words() -> None:
    code = vector_stub(0x11000000, 0x11000101)
    assert len(code) == 32
    assert code[20:] == b"".join(v.to_bytes(4, "little") for v in (0xE000ED08, 0x11000000, 0x11000101))


class Stub:
    """Plays QEMU's gdb stub on the other end of a socket pair: answers in order, then a stop."""

    def __init__(self, answers: list[bytes]) -> None:
        ours, theirs = socket.socketpair()
        self._ours = ours
        self.client = GdbClient(ours, 2.0)
        self.got = b""
        self._socket = theirs
        self._answers = answers
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        with self._socket:
            for number, answer in enumerate(self._answers, 1):
                while self.got.count(b"#") < number:
                    data = self._socket.recv(4096)
                    if not data:
                        return
                    self.got += data
                # Split in the middle of a packet, as a stream may be.
                whole = b"+" + packet(answer)
                self._socket.sendall(whole[:3])
                time.sleep(0.002)
                self._socket.sendall(whole[3:])

    def join(self) -> None:
        """Wait for its end; the client then sees a closed connection."""
        self._thread.join(5)
        assert not self._thread.is_alive()
        assert self.client.wait_stop().kind is StopKind.CLOSED
        self._ours.close()


def test_gdb_packets_and_registers() -> None:
    words = b"".join((i * 0x01010101).to_bytes(4, "little") for i in range(17)).hex().encode()
    stub = Stub([words, b"OK", b"T05thread:01;awatch:58102000;"])
    assert stub.client.registers() == tuple(i * 0x01010101 for i in range(17))
    stub.client.send([write_register(16, 0x01000000), b"c"])
    assert stub.client.running is True
    stub.client.expect_ok(1)
    assert stub.client.wait_stop().kind is StopKind.WATCHPOINT
    assert stub.got.startswith(b"$g#67$P19=00000001#")
    stub.join()


@pytest.mark.parametrize(
    ("text", "kind", "status"),
    [
        (b"W07", StopKind.EXIT, 7),
        (b"T05thread:01;", StopKind.BREAKPOINT, 0),
        (b"T02thread:01;", StopKind.INTERRUPT, 0),
        (b"T05thread:p01.01;watch:40004000;", StopKind.WATCHPOINT, 0),
    ],
)
def test_gdb_stops(text: bytes, kind: StopKind, status: int) -> None:
    stub = Stub([text])
    stub.client.send([b"c"])
    stop = stub.client.wait_stop()
    assert (stop.kind, stop.status) == (kind, status)
    stub.join()


def test_gdb_errors() -> None:
    stub = Stub([b"E14"])
    stub.client.send([b"Z4,0,4"])
    with pytest.raises(ToolError, match="E14"):
        stub.client.expect_ok(1)
    stub.join()
    ours, theirs = socket.socketpair()
    with theirs, pytest.raises(ToolError, match=r"did not answer within 0\.05 s"):
        GdbClient(ours, 0.05).ask(b"g")
    ours.close()


def test_fault_in_words() -> None:
    memory = {
        faults.CFSR: 0x00008200, faults.HFSR: 1 << 30, faults.BFAR: 0x11F00000,
        **{0x30007F00 + 4 * i: v for i, v in enumerate((1, 2, 3, 4, 12, 0x10000201, 0x10000100, 0x21000000))},
        0x10000100: 0x6800,
    }  # fmt: skip

    def read(address: int, size: int) -> bytes:
        return b"".join(memory.get(a, 0).to_bytes(4, "little") for a in range(address, address + size, 4))[:size]

    registers = (*[0] * 13, 0x30007F00, 0xFFFFFFF9, 0x10000040, 3)
    text = faults.describe(faults.read_fault(registers, read), lambda a: f"<{a:#x}>")
    assert text.startswith("CPU fault: HardFault: precise bus error on a data access, address 0x11f00000\n")
    assert "at <0x10000100>, called from <0x10000201>" in text
    assert "r12=0x0000000c" in text
    registers = (*[0] * 13, 0x30007F00, 0xFFFFFFFD, 0x10000040, 6)
    memory[faults.CFSR] = 1 << 19
    text = faults.describe(faults.read_fault(registers, read), str)
    assert text.startswith("CPU fault: UsageFault: FP or MVE instruction while the unit is off (CPACR)\n")
    assert " pc=" not in text  # the frame is on the other stack


@pytest.mark.parametrize(
    ("chunks", "ended", "kept"),
    [
        ([b"abc\x04def", b"more"], "eot", b"abc\x04"),
        ([b"abc EXIT", b"THESIM\nrest"], "tag", b"abc EXITTHESIM"),
        ([b"E", b"X", b"IT", b"THESI", b"M!"], "tag", b"EXITTHESIM"),
        ([b"EXITTHESI", b"\x04M"], "eot", b"EXITTHESI\x04"),
        ([b"nothing"], "", b"nothing"),
    ],
)
def test_console_ends(chunks: list[bytes], ended: str, kept: bytes, tmp_path: Path) -> None:
    path = tmp_path / "out"
    console = Console(str(path), True, "EXITTHESIM")
    for chunk in chunks:
        console.take(chunk)
    console.close()
    assert (console.ended, path.read_bytes()) == (ended, kept)


def test_console_full_disk() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    console = Console("/dev/full", False, "")
    with pytest.raises(ConfigError, match="cannot write"):
        console.take(b"text")
    console.close()


def test_alarm_breaks_a_long_run() -> None:
    with Signals() as signals:
        with pytest.raises(Interrupted), signals.breakable(0.05):
            _work_for_ever()
        assert signals.received == 0
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.received == signal.SIGTERM
        with pytest.raises(Interrupted), signals.breakable(None):
            pass
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def _work_for_ever() -> None:
    total = np.zeros(10)
    while True:
        total += 1


def test_versions() -> None:
    assert check_version((7, 2, 22)) == ""
    assert check_version((10, 0, 2)) == ""
    assert "untested" in check_version((9, 1, 0))
    assert "untested" in check_version((11, 0, 0))
    with pytest.raises(ToolError, match=r"QEMU 6\.2\.0 is too old"):
        check_version((6, 2, 0))


def test_missing_qemu_says_how_to_get_it() -> None:
    with pytest.raises(ToolError, match=r"(?s)qemu-system-arm was not found.*apt-get install qemu-system-arm"):
        find_qemu({"PATH": "/nowhere"})
    with pytest.raises(ToolError, match=r"/no/such was not found"):
        find_qemu({"CORSTONE_QEMU": "/no/such", "PATH": os.environ["PATH"]})
