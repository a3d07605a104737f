"""Per-channel bias, multiplier and shift from the 10-byte records in memory.

Source: ethos-u.md section 5.3. On U65-512 in depth-split mode SCALE holds the even channels, SCALE1 the odd ones.
Leaves out the record's layout (``output.read_records``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.output import ChannelScale, read_records
from corstone.emulator.npu.scaling import Rounding
from corstone.emulator.npu.stage import ofm_rounding
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.streams import StreamSource, build_streams
from corstone.emulator.npu.types import Ints


@dataclass(frozen=True)
class RecordSource:
    """Where the records of an operation lie: one stream a core."""

    streams: tuple[StreamSource, ...]
    channels: int
    layout: str
    rounding: Rounding
    dbl_rnd: int

    @property
    def size_bytes(self) -> int:
        """Bytes read."""
        return sum(stream.length for stream in self.streams)

    def read(self, machine: Machine, pointers: list[int]) -> tuple[bytes, ...]:
        """The bytes of the streams: what ``decode`` takes, and what tells one set of records from another."""
        return tuple(stream.read(machine, pointers).tobytes() for stream in self.streams)

    def decode(self, data: tuple[bytes, ...]) -> ChannelScale:
        """The records of all channels."""
        parts: list[tuple[Ints, Ints, Ints]] = []
        for core, stream in enumerate(data):
            count = len(range(core, self.channels, len(data)))
            parts.append(read_records(np.frombuffer(stream, np.uint8), count, self.layout))
        if len(parts) == 1:
            return ChannelScale(*parts[0], self.rounding, self.dbl_rnd)
        merged = []
        for kind in range(3):
            whole = np.empty(self.channels, np.int64)
            for core, part in enumerate(parts):
                whole[core :: len(parts)] = part[kind]
            merged.append(whole)
        return ChannelScale(merged[0], merged[1], merged[2], self.rounding, self.dbl_rnd)

    def load(self, machine: Machine, pointers: list[int]) -> ChannelScale:
        """Read and decode."""
        return self.decode(self.read(machine, pointers))


def build_records(machine: Machine, regs: Registers, channels: int) -> RecordSource:
    """The records for ``channels`` OFM channels.

    Raises
    ------
    NpuError: kind ``parse``, for registers never set.
    """
    config = machine.config
    layout = config.record_form
    if config.record_by_accumulator:
        layout += " " + regs.choice("ACC_FORMAT", "format")
    split = config.cores > 1 and regs.field("PARALLEL_MODE", "depth_split") and channels > 1
    names = ("SCALE", "SCALE1") if split else ("SCALE",)
    streams = build_streams(machine, regs, "SCALE_REGION", names)
    if config.record_rounding_optional and not regs.is_set("OFM_SCALE"):
        return RecordSource(streams, channels, layout, Rounding.NATURAL, 0)
    rounding, dbl_rnd = ofm_rounding(machine, regs)
    return RecordSource(streams, channels, layout, rounding, dbl_rnd)
