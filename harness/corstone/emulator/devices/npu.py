"""The NPU's register interface: what the driver sees; the command stream itself runs in ``corstone.emulator.npu``.

Offers: identification, soft reset with PROT, the queue, base addresses, run to completion on CMD bit 0, the interrupt,
STATUS with its faults, the PMU. Lacks: timing, concurrency (a run is over when CMD's write is), stop requests in the
middle, the debug windows. Register behaviour: hal_ethos_u ethosu_device_u55_u65.c and ethosu_device_u85.c, and what
the real driver needs of it. Accesses to anything without a row are kept in ``seen``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from corstone.emulator.devices.npu_registers import DEBUG_RANGES, PMU, registers
from corstone.emulator.devices.pmu import Counts, Pmu
from corstone.emulator.npu.differences import DIFFERENCES

if TYPE_CHECKING:
    from corstone.emulator.npu import NpuError, RunStats
    from corstone.targets import Target

_ID, _STATUS, _CMD, _RESET = 0x000, 0x004, 0x008, 0x00C
_QBASE0, _QBASE1, _QREAD, _QSIZE, _PROT, _CONFIG = 0x010, 0x014, 0x018, 0x020, 0x024, 0x028
_BASEP = 0x080
_RUN, _CLEAR_IRQ, _STOP = 1, 2, 0x10
_Q_ENABLES = 0xC

IRQ_RAISED, BUS_STATUS, RESET_STATUS, PARSE_ERROR, END_REACHED = 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5


class RunFailed(Exception):
    """The command stream ended in a fault. ``error`` says which."""

    def __init__(self, error: NpuError) -> None:
        super().__init__(str(error))
        self.error = error


class Npu:
    """One Ethos-U behind its registers.

    ``execute`` runs the stream of (address, size, base addresses) and returns what it counted, or raises ``RunFailed``.
    ``irq`` is called with the level of the line when it changes.
    """

    def __init__(
        self, target: Target, execute: Callable[[int, int, list[int]], RunStats], irq: Callable[[bool], None]
    ) -> None:
        self.name = "NPU"
        self.target = target
        self.runs = 0
        self.seen: Counter[str] = Counter()
        self._rows = registers(target.product)
        self._execute = execute
        self._irq = irq
        self._line = False
        self._pmu = Pmu(PMU[target.product], DIFFERENCES[target.product].axi_bytes)
        self._values: dict[int, int] = {}
        self.reset()

    def reset(self) -> None:
        """Power-on state: secure and privileged bits clear."""
        self._soft_reset(0)

    def read(self, offset: int) -> int:
        """Value of the register; 0 where there is none."""
        counted = self._pmu.read(offset)
        if counted is not None:
            return counted
        if offset == _STATUS:
            return self._status | self._history << 16
        if offset not in self._rows:
            self._note("read", offset)
            return 0
        return self._values[offset]

    def write(self, offset: int, value: int) -> None:
        """Write the register and do what the hardware does on it."""
        row = self._rows.get(offset)
        if row is None or not row.mask:
            # Writing 0 to the high half of a 32-bit address loses nothing and is worth no note.
            if row is None or value:
                self._note("write", offset)
            return
        value &= row.mask
        if self._pmu.write(offset, value):
            return
        if offset == _CMD:
            self._command(value)
        elif offset == _RESET:
            self._soft_reset(value)
        else:
            self._values[offset] = value
            if offset in (_QBASE0, _QBASE1, _QSIZE):
                self._status &= ~END_REACHED

    def _command(self, value: int) -> None:
        self._values[_CMD] = value & _Q_ENABLES
        self._history &= ~(value >> 16)
        if value & _CLEAR_IRQ:
            self._status &= ~IRQ_RAISED
            self._drive()
        if value & _RUN:
            self._run()

    def _soft_reset(self, protection: int) -> None:
        self._values = {offset: row.reset for offset, row in self._rows.items()}
        self._values[_ID] = self.target.id
        self._values[_CONFIG] = self.target.config
        self._values[_PROT] = self._values[_RESET] = protection
        self._pmu.reset()
        self._status = 0  # the reset is over at once: reset_status never reads 1
        self._history = 0
        self._drive()

    def _run(self) -> None:
        """To the end of the stream, inside the write to CMD."""
        self.runs += 1
        size = self._values[_QSIZE]
        address = self._values[_QBASE0] | self._values[_QBASE1] << 32
        bases = [self._values[_BASEP + 8 * i] | self._values[_BASEP + 8 * i + 4] << 32 for i in range(8)]
        try:
            stats = self._execute(address, size, bases)
        except RunFailed as failed:
            error = failed.error
            self._status |= BUS_STATUS if error.kind == "bus" else PARSE_ERROR
            self._values[_QREAD] = max(error.offset, 0)
        else:
            self._status |= END_REACHED
            self._history |= stats.irq_mask | stats.stop_mask
            self._values[_QREAD] = stats.qread
            self._pmu.add(
                Counts(
                    max(stats.cycles, 1),
                    stats.macs // self.target.macs,
                    stats.bytes_read,
                    stats.bytes_written,
                    size,
                )
            )
        self._status |= IRQ_RAISED
        self._drive()

    def _drive(self) -> None:
        level = bool(self._status & IRQ_RAISED)
        if level != self._line:
            self._line = level
            self._irq(level)

    def _note(self, what: str, offset: int) -> None:
        debug = any(low <= offset < high for low, high in DEBUG_RANGES)
        self.seen[f"{what} {offset:#05x}" + (" (debug window)" if debug else "")] += 1
