"""Memory transport: ``--data`` puts program, inputs and a canary at the runner's addresses, ``--dump`` takes outputs.

Tensors lie one after the other without padding. The canary is random per boot and reaches a little past the outputs, so
that bytes written beyond the end are seen too. ``--dump`` is known from Arm's reference guide and in no public log.
"""

from __future__ import annotations

import os
from pathlib import Path

from corstone.boards.transports.base import OutputState, Parcel, State, against_canary, is_plain_file, read_at_most
from corstone.causes import Cause
from corstone.errors import ConfigError
from corstone.runners import Window

GUARD = 64


class Memory:
    """One boot's worth of memory transport."""

    roles: tuple[str, ...] = ()

    def __init__(self, window: Window) -> None:
        self._window = window
        self._canary = b""

    def send(self, work: Path, parcel: Parcel) -> tuple[list[str], dict[str, object]]:
        """Write the files and name them by short relative names.

        Raises
        ------
        ConfigError: something does not fit the runner's window.
        """
        window = self._window
        inputs = b"".join(parcel.inputs)
        outputs_size = sum(parcel.output_sizes)
        _fits("the program", len(parcel.program), window.program_size)
        _fits("the inputs", len(inputs), window.inputs_size)
        _fits("the outputs", outputs_size, window.outputs_size - GUARD)
        self._canary = os.urandom(outputs_size + GUARD)
        (work / "program.pte").write_bytes(parcel.program)
        (work / "canary.bin").write_bytes(self._canary)
        arguments = ["--data", f"program.pte@0x{window.program:08x}"]
        if inputs:
            (work / "inputs.bin").write_bytes(inputs)
            arguments += ["--data", f"inputs.bin@0x{window.inputs:08x}"]
        arguments += ["--data", f"canary.bin@0x{window.outputs:08x}"]
        arguments += ["--dump", f"outputs.bin@0x{window.outputs:08x},{len(self._canary)}"]
        return arguments, {}

    def collect(self, work: Path, parcel: Parcel) -> tuple[OutputState, ...]:
        """Cut the dump into outputs, each compared with the canary below it."""
        names = [f"out-{i}.bin" for i in range(len(parcel.output_sizes))]
        path = work / "outputs.bin"
        if not is_plain_file(path):
            return tuple(
                OutputState(name, size, State.MISSING, 0, b"", "the simulator wrote no dump")
                for name, size in zip(names, parcel.output_sizes, strict=True)
            )
        dump = read_at_most(path, len(self._canary))
        states = []
        offset = 0
        for name, size in zip(names, parcel.output_sizes, strict=True):
            data = dump[offset : offset + size]
            if len(data) < size:
                detail = f"the dump ends after {len(dump)} of {len(self._canary)} bytes"
                states.append(OutputState(name, size, State.SHORT, len(data), data, detail))
            else:
                states.append(against_canary(name, data, self._canary[offset : offset + size]))
            offset += size
        beyond = dump[offset : offset + GUARD]
        if states and states[-1].state is State.COMPLETE and beyond != self._canary[offset : offset + len(beyond)]:
            last = states[-1]
            detail = "bytes beyond the end of the last output were written"
            states[-1] = OutputState(last.name, last.expected, State.LONG, last.expected + 1, last.data, detail)
        return tuple(states)


def _fits(what: str, size: int, room: int) -> None:
    if size > room:
        raise ConfigError(
            f"{what} take {size} bytes, the runner has room for {room}",
            cause=Cause.UNSUPPORTED,
            hint="use a runner with another transport (--runner)",
        )
