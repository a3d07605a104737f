"""The OFM block: what of it a functional model must know, its depth and its micro-block, and what makes it wrong.

Blocks say how the hardware splits its work. Results do not depend on them except through the order of weights, so a
wrong block is reported and never guessed at. Source: ethos-u.md sections 3.2, 6.3 and 6.4; that blocks are multiples
of the micro-block (for depth at least of 8, or of the whole micro-block when that is smaller) holds in all programs
measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Machine
from corstone.emulator.npu.state import Registers

_DEPTH_STEP = 8


@dataclass(frozen=True)
class Block:
    """Block and micro-block as (height, width, depth) in elements."""

    size: tuple[int, int, int]
    micro: tuple[int, int, int]


def build_block(machine: Machine, regs: Registers, *, weights: bool = False) -> Block:
    """The block of an operation; one with ``weights`` needs whole micro-blocks of depth.

    Raises
    ------
    NpuError: kind ``parse``, when registers were never set or the hardware has no such block.
    """
    size = (regs["OFM_BLK_HEIGHT_M1"] + 1, regs["OFM_BLK_WIDTH_M1"] + 1, regs["OFM_BLK_DEPTH_M1"] + 1)
    config = machine.config
    if config.chooses_microblock:
        high, wide = (int(n) for n in regs.choice("ACC_FORMAT", "microblock").split("x"))
        if (high, wide) not in config.microblocks:
            raise NpuError("parse", f"{config.name} has no micro-block of {high}x{wide}")
    else:
        ((high, wide),) = config.microblocks
    micro = (high, wide, config.microblocks[high, wide])
    step = micro if weights else (high, wide, min(micro[2], _DEPTH_STEP))
    if any(n % m or n > most for n, m, most in zip(size, step, config.block_limit, strict=True)):
        raise NpuError(
            "parse",
            f"an OFM block of {size} is not made of micro-blocks of {step}, or larger than {config.block_limit}",
        )
    return Block(size, micro)
