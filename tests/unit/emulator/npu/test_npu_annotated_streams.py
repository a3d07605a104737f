"""The two streams that are annotated word by word in the fact sheet (sections 9 and 10), built by name and run."""

from __future__ import annotations

import numpy as np
import pytest

from corstone.emulator.npu import ArrayMemory, NpuConfig, NpuError, TraceRecord, execute
from corstone.emulator.npu.assemble import Assembler

WEIGHTS, SCRATCH = 0x9000_0000, 0xA000_0000


def acos_int8() -> Assembler:
    """acos int8, ethos-u55-128, 256 elements: a 1x1 AVERAGE with a table."""
    a = Assembler("U55")
    a.set("DMA0_SRC_REGION", region=0).set("DMA0_SRC", 0)
    a.set("DMA0_DST_REGION", region=3, internal=1).set("DMA0_DST", 0x5800)
    a.set("DMA0_LEN", 0x100).op("DMA_START")
    for name in ("IFM", "OFM"):
        a.set(f"{name}_REGION", 1)
        for tile in range(4):
            a.set(f"{name}_BASE{tile}", 0)
        a.set(f"{name}_HEIGHT0_M1", 0).set(f"{name}_HEIGHT1_M1", 0).set(f"{name}_WIDTH0_M1", 0)
        a.set(f"{name}_DEPTH_M1", 255)
        a.set(f"{name}_STRIDE_Y", 0x100).set(f"{name}_STRIDE_X", 0x100).set(f"{name}_STRIDE_C", 1)
        a.set(f"{name}_ZERO_POINT", 0)
    a.set("OFM_HEIGHT_M1", 0).set("OFM_WIDTH_M1", 0)
    a.set("IFM_PRECISION", signed=1).set("IFM_UPSCALE", 0)
    for side in ("TOP", "LEFT", "RIGHT", "BOTTOM"):
        a.set(f"IFM_PAD_{side}", 0)
    a.set("OFM_PRECISION", signed=1, scale="GLOBAL", round="NATURAL")
    a.set("KERNEL_HEIGHT_M1", 0).set("KERNEL_WIDTH_M1", 0).set("KERNEL_STRIDE", 0)
    a.set("ACTIVATION", function="TABLE_0").set("ACTIVATION_MIN", -128).set("ACTIVATION_MAX", 127)
    a.set("OFM_SCALE", 0x4038_3800, shift=30)
    a.set("OFM_BLK_HEIGHT_M1", 0).set("OFM_BLK_WIDTH_M1", 1).set("OFM_BLK_DEPTH_M1", 127)
    a.set("IFM_IB_END", 6).set("AB_START", 14).set("ACC_FORMAT", 0).set("BLOCKDEP", 0)
    return a.op("DMA_WAIT").op("POOL", mode="AVERAGE").op("STOP", mask=0xFFFF)


def run(stream: bytes, target: str, weights: np.ndarray, scratch: np.ndarray, trace=None):  # type: ignore[no-untyped-def,type-arg]
    memory = ArrayMemory()
    memory.add(WEIGHTS, weights.view(np.uint8), writable=False)
    memory.add(SCRATCH, scratch.view(np.uint8))
    return execute(stream, [WEIGHTS, SCRATCH, SCRATCH], memory, NpuConfig.for_target(target), trace)


def test_acos_int8_table_is_looked_up_after_the_rescale() -> None:
    table = np.random.default_rng(1).integers(-128, 128, 256).astype(np.int8)
    codes = np.arange(-128, 128).astype(np.int8)
    scratch = codes.copy()
    stats = run(acos_int8().stream(), "ethos-u55-128", table, scratch)
    # Plain Python integers: 0x40383800 >> 30 is a factor of 1.0034, rounded half up, clamped to int8.
    expected = [table[min(max((int(c) * 0x40383800 + (1 << 29)) >> 30, -128), 127) + 128] for c in codes]
    assert scratch.tolist() == expected
    assert (stats.stop_mask, stats.ops, stats.qread) == (0xFFFF, 2, len(acos_int8().stream()))
    assert stats.operations == {"DMA_START": 1, "POOL.AVERAGE": 1}


def test_trace_gives_every_command_in_order_and_the_feature_map() -> None:
    class Hook:
        wants_ofm = True

        def __init__(self) -> None:
            self.records: list[TraceRecord] = []

        def __call__(self, record: TraceRecord) -> None:
            self.records.append(record)

    hook, scratch = Hook(), np.arange(256, dtype=np.uint8)
    run(acos_int8().stream(), "ethos-u55-128", np.zeros(256, np.int8), scratch, hook)
    offsets = [record.offset for record in hook.records]
    assert offsets == sorted(set(offsets))
    assert [r.name for r in hook.records if r.kind == "op"] == ["DMA_START", "DMA_WAIT", "POOL", "STOP"]
    pool = next(r for r in hook.records if r.name == "POOL")
    assert pool.operands == {"mode": "AVERAGE"}
    assert pool.ofm is not None
    assert pool.ofm.shape == (1, 1, 256)
    assert pool.tensors is not None
    assert pool.tensors["IFM"]["address"] == [SCRATCH]


def test_a_region_that_was_not_given_is_a_bus_fault_with_its_place() -> None:
    stream = acos_int8().stream()
    with pytest.raises(NpuError) as caught:
        execute(stream, [0], ArrayMemory(), NpuConfig.for_target("ethos-u55-128"))
    assert (caught.value.kind, caught.value.name) == ("bus", "DMA_START")
    assert f"{caught.value.offset:#x}" in str(caught.value)
