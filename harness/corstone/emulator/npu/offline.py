"""Run one delegate on the NPU model without a board: its blob, input bytes in, output bytes out.

What ExecuTorch's Ethos-U backend does around the NPU, as far as the NPU can see it: inputs are copied into the scratch
area, outputs out of it (ethos-u.md 2.4). The areas have their exact sizes, with nothing mapped behind them, so that an
access outside one is a fault. Leaves out the CPU, the driver and every operator outside the delegate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from corstone.causes import Cause
from corstone.emulator.npu.config import NpuConfig
from corstone.emulator.npu.interpreter import execute
from corstone.emulator.npu.memory import ArrayMemory
from corstone.emulator.npu.stats import Limits, RunStats
from corstone.emulator.npu.trace import Trace
from corstone.errors import ConfigError
from corstone.formats.vela import VelaBlob, VelaTensor

WEIGHTS_BASE = 0x9000_0000
SCRATCH_BASE = 0xA000_0000
FAST_BASE = 0x3100_0000
FAST_SIZE = 384 << 10
"""The fast scratch of region 2, which only Vela's Dedicated_Sram modes use; a delegate does not say its size."""
FILL = 0xA5
"""What scratch holds before a run: hardware does not clear it, and no result may depend on it."""


@dataclass(frozen=True)
class DelegateRun:
    """What a delegate wrote, in the order of its outputs, and what the run counted."""

    outputs: tuple[bytes, ...]
    stats: RunStats


def run_delegate(
    blob: VelaBlob,
    inputs: Sequence[bytes],
    trace: Trace | None = None,
    limits: Limits | None = None,
    fill: int = FILL,
    fast_size: int = FAST_SIZE,
) -> DelegateRun:
    """Execute a delegate on raw input bytes, one for each of its inputs.

    Raises
    ------
    ConfigError: the inputs do not fit the delegate, or its CONFIG is that of no known target.
    NpuError: the NPU stops with an error.
    """
    target = blob.payload.target
    if target is None:
        raise ConfigError(f"CONFIG {blob.payload.config:#010x} is that of no known target", cause=Cause.WRONG_TARGET)
    weights = np.frombuffer(blob.weights, np.uint8).copy()
    scratch = np.full(blob.scratch_size, fill, np.uint8)
    _check(blob.inputs, inputs)
    for tensor, data in zip(blob.inputs, inputs, strict=True):
        scratch[tensor.offset : tensor.offset + tensor.size_bytes] = np.frombuffer(data, np.uint8)
    memory = ArrayMemory()
    memory.add(WEIGHTS_BASE, weights, writable=False)
    memory.add(SCRATCH_BASE, scratch)
    memory.add(FAST_BASE, np.full(fast_size, fill, np.uint8))
    config = NpuConfig.for_target(target.name)
    stats = execute(blob.payload.stream, (WEIGHTS_BASE, SCRATCH_BASE, FAST_BASE), memory, config, trace, limits)
    outputs = tuple(scratch[t.offset : t.offset + t.size_bytes].tobytes() for t in blob.outputs)
    return DelegateRun(outputs, stats)


def _check(tensors: Sequence[VelaTensor], inputs: Sequence[bytes]) -> None:
    if len(inputs) != len(tensors):
        raise ConfigError(f"the delegate has {len(tensors)} inputs, {len(inputs)} were given", cause=Cause.BAD_INPUT)
    for number, (tensor, data) in enumerate(zip(tensors, inputs, strict=True)):
        if len(data) != tensor.size_bytes:
            message = f"input {number} of the delegate has {tensor.size_bytes} bytes, {len(data)} were given"
            raise ConfigError(message, cause=Cause.BAD_INPUT)
