"""One call from raw bytes to everything the readers of this folder find."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from corstone.firmware.protocol import FirmwareLog, read_firmware
from corstone.transcript.executorch import ExecutorchLog, dumped_elements, read_executorch
from corstone.transcript.lines import TARGET, Line, split_lines, unprintable
from corstone.transcript.metrics import executorch_counters, mlek_counters
from corstone.transcript.mlek import MlekLog, read_mlek
from corstone.transcript.simulator import SimulatorLog, read_simulator

_LIMIT = 512 << 10


@dataclass(frozen=True)
class Transcript:
    """A console read as evidence. ``eot`` says that byte 4 came; ``garbage`` counts bytes no console text has."""

    lines: tuple[Line, ...] = ()
    mlek: MlekLog = field(default_factory=MlekLog)
    executorch: ExecutorchLog = field(default_factory=ExecutorchLog)
    simulator: SimulatorLog = field(default_factory=SimulatorLog)
    firmware: FirmwareLog = field(default_factory=FirmwareLog)
    counters: dict[str, int] = field(default_factory=dict)
    eot: bool = False
    size_bytes: int = 0
    garbage: int = 0

    @cached_property
    def text(self) -> str:
        """All lines as one text."""
        return "\n".join(line.text for line in self.lines)

    @property
    def target_lines(self) -> tuple[str, ...]:
        """Text of the lines that are not the simulator's."""
        return tuple(line.text for line in self.lines if line.source == TARGET)

    @property
    def last_target_line(self) -> str:
        """The last thing the target said; empty when it said nothing."""
        return next((line.text for line in reversed(self.lines) if line.source == TARGET), "")

    def tail(self, count: int = 12) -> str:
        """The last lines, as one text."""
        return "\n".join(line.text for line in self.lines[-count:])


def read_transcript(raw: bytes) -> Transcript:
    """Read a transcript; of a very long one the first and last 256 KB, and all of its dumped elements.

    Any bytes are accepted: what is not understood is left out, nothing raises.
    """
    text = raw if len(raw) <= _LIMIT else raw[: _LIMIT // 2] + b"\n" + raw[-_LIMIT // 2 :]
    lines = split_lines(text)
    target = [line.text for line in lines if line.source == TARGET]
    every = [line.text for line in lines]
    return Transcript(
        lines=lines,
        mlek=read_mlek(target),
        executorch=replace(read_executorch(target), elements=dumped_elements(raw)),
        simulator=read_simulator(every),
        firmware=read_firmware(text),
        counters=mlek_counters("\n".join(target)) | executorch_counters(target),
        eot=b"\x04" in raw,
        size_bytes=len(raw),
        garbage=unprintable(text),
    )
