"""A bench for single NPU operations: feature maps placed by name, registers set by name, one operation run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from corstone.emulator.npu import ArrayMemory, Limits, NpuConfig, RunStats, execute
from corstone.emulator.npu.assemble import Assembler

BASE, SIZE, SLOT = 0xA000_0000, 1 << 20, 1 << 16
PLACES = {"IFM": 0, "IFM2": 4 * SLOT, "OFM": 8 * SLOT, "DATA": 12 * SLOT}


class Bench:
    """One operation: registers are set through ``a``, maps through ``place``; ``run`` gives the OFM."""

    def __init__(self, target: str) -> None:
        self.config = NpuConfig.for_target(target)
        self.a = Assembler(self.config.product)
        self.memory = ArrayMemory()
        self.data = self.memory.add(BASE, np.zeros(SIZE, np.uint8))
        self.bases = [BASE, BASE]
        self.stats = RunStats()
        self._shape: tuple[int, ...] = ()
        self._dtype = np.dtype("i1")
        self._defaults()

    @property
    def u85(self) -> bool:
        return self.config.product == "U85"

    def _defaults(self) -> None:
        a = self.a
        for side in ("TOP", "LEFT", "RIGHT", "BOTTOM"):
            a.set(f"IFM_PAD_{side}", 0)
        a.set("IFM_UPSCALE", 0)
        self.kernel(1, 1)
        a.set("ACTIVATION", function="LUT_NONE" if self.u85 else "NONE").set("ACTIVATION_MIN", -128)
        a.set("ACTIVATION_MAX", 127).set("OFM_SCALE", 1, shift=0)
        (high, wide), depth = next(iter(self.config.microblocks.items()))
        a.set("OFM_BLK_HEIGHT_M1", high - 1).set("OFM_BLK_WIDTH_M1", wide - 1).set("OFM_BLK_DEPTH_M1", depth - 1)
        if self.u85:
            a.set("ACC_FORMAT", microblock=f"{high}x{wide}")
            a.set("IFM_BROADCAST", 0).set("IFM2_BROADCAST", 0)
            a.set("IFM_SCALE", 1, shift=0).set("IFM2_SCALE", 1, shift=0)
        else:
            a.set("ACC_FORMAT", format="I32").set("IFM2_BROADCAST", 0)

    def kernel(self, high: int, wide: int, **stride: int) -> None:
        self.a.set("KERNEL_HEIGHT_M1", high - 1).set("KERNEL_WIDTH_M1", wide - 1).set("KERNEL_STRIDE", **stride)

    def place(self, name: str, values: NDArray[Any], zero: int = 0, **precision: Any) -> None:
        """An input map ``[H, W, C]`` in NHWC."""
        raw = np.ascontiguousarray(values).tobytes()
        self.data[PLACES[name] : PLACES[name] + len(raw)] = np.frombuffer(raw, np.uint8)
        high, wide, deep = values.shape
        self._map(name, values.dtype, (high, wide, deep), zero, precision)
        if name == "IFM":
            self.a.set("IFM_DEPTH_M1", deep - 1)

    def output(self, shape: tuple[int, int, int], dtype: str, zero: int = 0, **precision: Any) -> None:
        """The OFM."""
        self._shape, self._dtype = shape, np.dtype(dtype)
        self._map("OFM", self._dtype, shape, zero, {"scale": "GLOBAL"} | precision)
        self.a.set("OFM_HEIGHT_M1", shape[0] - 1).set("OFM_WIDTH_M1", shape[1] - 1).set("OFM_DEPTH_M1", shape[2] - 1)
        limits = np.iinfo(self._dtype)
        if self._dtype.itemsize < 4:
            self.a.set("ACTIVATION_MIN", int(limits.min)).set("ACTIVATION_MAX", int(limits.max))

    def _map(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], zero: int, precision: dict[str, Any]
    ) -> None:
        a, (high, wide, deep) = self.a, shape
        a.set(f"{name}_REGION", 1)
        for tile in range(4):
            a.set(f"{name}_BASE{tile}", PLACES[name])
        a.set(f"{name}_HEIGHT0_M1", high - 1).set(f"{name}_HEIGHT1_M1", high - 1).set(f"{name}_WIDTH0_M1", wide - 1)
        size = dtype.itemsize
        a.set(f"{name}_STRIDE_Y", wide * deep * size).set(f"{name}_STRIDE_X", deep * size).set(f"{name}_STRIDE_C", size)
        a.set(f"{name}_ZERO_POINT", zero)
        signed = int(dtype.kind == "i")
        a.set(f"{name}_PRECISION", signed=signed, bits=str(8 * size), **precision)

    def table(self, entries: NDArray[Any], slot: int = 0) -> None:
        """DMA a table into the internal memory."""
        raw = entries.tobytes()
        self.data[PLACES["DATA"] : PLACES["DATA"] + len(raw)] = np.frombuffer(raw, np.uint8)
        a = self.a.set("DMA0_SRC_REGION", region=1).set("DMA0_SRC", PLACES["DATA"])
        a.set("DMA0_DST_REGION", internal=1).set("DMA0_DST", self.config.lut_base + 256 * slot)
        a.set("DMA0_LEN", len(raw)).op("DMA_START")

    def run(self, name: str, limits: Limits | None = None, **operands: Any) -> NDArray[Any]:
        """Run the operation behind what was set so far, and give the OFM."""
        stream = self.a.stream() + Assembler(self.config.product).op(name, **operands).op("STOP", mask=1).stream()
        self.stats = execute(stream, self.bases, self.memory, self.config, limits=limits)
        count = int(np.prod(self._shape)) * self._dtype.itemsize
        return self.data[PLACES["OFM"] : PLACES["OFM"] + count].view(self._dtype).reshape(self._shape)


@pytest.fixture
def bench() -> Callable[[str], Bench]:
    """Makes a ``Bench`` for a target."""
    return Bench
