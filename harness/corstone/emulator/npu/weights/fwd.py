"""The FWD weight format of U85: a header with a table, then fixed-width weights or table indices.

Source: ethos-u.md section 6.2. A 256-bit header: bit 0 raw, bit 1 small table, bits 104-111 zero_adjust, bits 112-255
sixteen nine-bit entries with the sign in the lowest bit. Raw weights are eight bits, less zero_adjust.
Leaves out the order of the weights (``order``).
"""

from __future__ import annotations

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.types import Bytes, Ints

_HEADER = 32
_ENTRIES = 16


def decode(data: Bytes, count: int) -> Ints:
    """The first ``count`` weights, int64 ``[count]``.

    Raises
    ------
    NpuError: kind ``weights``, when the stream is shorter than that.
    """
    raw = bool(data.size and data[0] & 1)
    width = 8 if raw else 2 if data.size and data[0] & 2 else 4
    needed = _HEADER + (count * width + 7) // 8
    if data.size < needed:
        raise NpuError("weights", f"{count} FWD weights need {needed} bytes, the stream has {data.size}")
    payload = data[_HEADER:needed]
    if raw:
        adjust = int(data[13:14].view(np.int8)[0])
        return payload[:count].view(np.int8).astype(np.int64) + adjust
    header = int.from_bytes(data[:_HEADER].tobytes(), "little")
    entries = np.array([header >> (112 + 9 * n) & 0x1FF for n in range(_ENTRIES)], np.int64)
    weights = np.where(entries & 1, -(entries >> 1), entries >> 1)
    fields = payload[:, None] >> np.arange(0, 8, width, dtype=np.uint8) & ((1 << width) - 1)
    found: Ints = weights[fields.reshape(-1)[:count]]
    return found
