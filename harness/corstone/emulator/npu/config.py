"""NPU configurations: what of a target the functional model needs, as rows of data.

Sources: ethos-u.md sections 1.3, 4 (LUT storage) and 6.3, 6.4 (micro-blocks); the register values come from
``corstone.targets``, what all targets of a product share from ``differences``. Leaves out clocks and memory ports: the
model counts, it does not time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from corstone.emulator.npu.differences import DIFFERENCES, Differences
from corstone.targets import Target, target

Microblock = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class NpuConfig(Differences):
    """One NPU: its product's facts (``Differences``) and its own.

    Units: sizes in bytes, micro-blocks as (height, width) -> depth in elements.
    ``internal_size`` bytes can be reached by DMA with the internal bit; tables start at ``lut_base`` there and take
    ``lut_size``. ``cores`` share the OFM depth on U65, ``streams`` are the weight streams of U85.
    """

    target: Target
    internal_size: int
    lut_base: int
    lut_size: int
    microblocks: dict[Microblock, int]
    cores: int
    streams: int

    @property
    def name(self) -> str:
        """The Vela name."""
        return self.target.name

    @property
    def product(self) -> str:
        """``U55``, ``U65`` or ``U85``."""
        return self.target.product

    @property
    def macs(self) -> int:
        """MACs a cycle."""
        return self.target.macs

    @staticmethod
    def for_target(name: str) -> NpuConfig:
        """The configuration of a target by its Vela name.

        Raises
        ------
        ConfigError: no such target.
        """
        return _configuration(name)


@dataclass(frozen=True)
class _Row:
    shram_kib: int
    microblocks: dict[Microblock, int]
    cores: int = 1
    streams: int = 1


# shram_kib is per core. On U55-32 and U55-64 the tables share their two banks with accumulators, which does not show
# to a sequential model.
_ROWS: dict[str, _Row] = {
    "ethos-u55-32": _Row(16, {(1, 1): 4}),
    "ethos-u55-64": _Row(16, {(1, 1): 8}),
    "ethos-u55-128": _Row(24, {(1, 2): 8}),
    "ethos-u55-256": _Row(48, {(2, 2): 8}),
    "ethos-u65-256": _Row(48, {(2, 2): 8}),
    "ethos-u65-512": _Row(48, {(2, 2): 8}, cores=2),
    "ethos-u85-128": _Row(0, {(1, 2): 8, (1, 1): 16}),
    "ethos-u85-256": _Row(0, {(1, 2): 16, (1, 4): 8, (2, 2): 8}),
    "ethos-u85-512": _Row(0, {(2, 2): 16, (1, 4): 16}, streams=2),
    "ethos-u85-1024": _Row(0, {(2, 2): 32, (1, 4): 32, (2, 4): 16}, streams=4),
    "ethos-u85-2048": _Row(0, {(2, 2): 64, (1, 4): 64, (4, 4): 16}, streams=4),
}

_LUT_SIZE = 2048


@cache
def _configuration(name: str) -> NpuConfig:
    npu = target(name)
    row = _ROWS[name]
    internal = row.shram_kib * 1024 or _LUT_SIZE
    return NpuConfig(
        **vars(DIFFERENCES[npu.product]),
        target=npu,
        internal_size=internal,
        lut_base=internal - _LUT_SIZE,
        lut_size=_LUT_SIZE,
        microblocks=row.microblocks,
        cores=row.cores,
        streams=row.streams,
    )
