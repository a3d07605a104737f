"""How the products differ in what they compute, as one row of facts each; code asks a fact and never a product's name.

Every fact is from ethos-u.md, sections in brackets. Other differences are rows of data elsewhere: commands and their
fields (``instructions``), registers (``devices/npu_registers``), targets (``config``). Leaves out what does not show to
a sequential model: clocks, memory ports, SHRAM banks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class WeightOrder(StrEnum):
    """How a stream walks the weights."""

    DEALT = "dealt"
    """Micro-blocks in order, whole channels dealt out to the cores (6.3)."""
    INTERLEAVED = "interleaved"
    """Input blocks forwards and backwards by turns, four channels a stream in turn (6.4)."""


class TableForm(StrEnum):
    """What ACTIVATION says of a table."""

    SLOT = "slot"
    """One of eight slots; clip range and OFM type say what is looked up (3.2)."""
    TYPED = "typed"
    """The function names both types, a field of its own the place in units of the table's size (3.2)."""


@dataclass(frozen=True, kw_only=True)
class Differences:
    """What one product does in its own way.

    Memory
        axi_bytes: moved by one data beat (7).
        dma_mode_registers: those that hold a stride mode, the first decides (3.2); none means always 1D.
        dma_modes: modelled stride modes (5.9).
    Blocks and weights
        block_limit: largest OFM block as (height, width, depth), from the widths of its registers (3.2).
        chooses_microblock: ACC_FORMAT names the micro-block, the target offers several (3.2, 6.4).
        weight_order: see there. weight_format: WEIGHT_FORMAT tells FWD and sparse weights, and all weight streams of a
        target are in use (3.2, 6.2); else a depth split over cores is asked for by PARALLEL_MODE (3.2).
        record_form: layout of the per-channel records, ``output.read_records``; record_by_accumulator: followed by the
        accumulator's format (5.3). record_rounding_optional: without an OFM_SCALE the records round NATURAL (5.3).
    Arithmetic
        accumulator_input: accumulators may start from an earlier operation or IFM2, and stay for a later one (3.4).
        rounding_register: holds the OFM's rounding (3.2); double_rounding: with a ``dbl_rnd`` field (3.3, 5.2).
        ofm_scale_bits: width of OFM_SCALE's multiplier (3.3).
        unscaled_pools: pools and elementwise operations without global scale are not scaled at all (5.2).
        average_always_divides: by the number of valid taps; else only with padding (5.7).
        tables: see ``TableForm``.
    Elementwise
        scale_per_operand: IFM_SCALE and IFM2_SCALE each with shift and rounding, also of unary operations and both
        signs of LRELU; else OPA/OPB scales for ADD and SUB, and OFM_SCALE as LRELU's alpha (5.6).
        broadcast_operands: the feature maps with a broadcast register (3.2). scalar_register: their scalar value;
        scalar_is_wide: 32 bits whatever the operand's type, else of that type (3.2, 3.3).
        operand_swap: IFM2_BROADCAST can exchange the operands (3.2).
    Output
        ofm_permutes: OFM_PRECISION has transpose and reverse (3.2, 3.4).
    """

    axi_bytes: int
    dma_mode_registers: tuple[str, ...]
    dma_modes: tuple[str, ...]
    block_limit: tuple[int, int, int]
    chooses_microblock: bool
    weight_order: WeightOrder
    weight_format: bool
    record_form: str
    record_by_accumulator: bool
    record_rounding_optional: bool
    accumulator_input: bool
    rounding_register: str
    double_rounding: bool
    ofm_scale_bits: int
    unscaled_pools: bool
    average_always_divides: bool
    tables: TableForm
    scale_per_operand: bool
    broadcast_operands: tuple[str, ...]
    scalar_register: str
    scalar_is_wide: bool
    operand_swap: bool
    ofm_permutes: bool


_U55 = Differences(
    axi_bytes=8,
    dma_mode_registers=(),
    dma_modes=("1D",),
    block_limit=(32, 64, 128),
    chooses_microblock=False,
    weight_order=WeightOrder.DEALT,
    weight_format=False,
    record_form="U55",
    record_by_accumulator=False,
    record_rounding_optional=False,
    accumulator_input=False,
    rounding_register="OFM_PRECISION",
    double_rounding=False,
    ofm_scale_bits=32,
    unscaled_pools=True,
    average_always_divides=False,
    tables=TableForm.SLOT,
    scale_per_operand=False,
    broadcast_operands=("IFM2",),
    scalar_register="IFM2_SCALAR",
    scalar_is_wide=False,
    operand_swap=True,
    ofm_permutes=False,
)

_U65 = replace(
    _U55,
    axi_bytes=16,
    # Its 2D and 3D modes are not modelled: Vela does not write them.
    dma_mode_registers=("DMA0_SRC_REGION", "DMA0_DST_REGION"),
)

_U85 = Differences(
    axi_bytes=16,
    dma_mode_registers=("DMA0_SRC_REGION",),
    dma_modes=("1D", "2D", "3D"),
    block_limit=(128, 128, 1024),
    chooses_microblock=True,
    weight_order=WeightOrder.INTERLEAVED,
    weight_format=True,
    record_form="U85",
    record_by_accumulator=True,
    record_rounding_optional=True,
    accumulator_input=True,
    rounding_register="OFM_SCALE",
    double_rounding=True,
    ofm_scale_bits=31,
    unscaled_pools=False,
    average_always_divides=True,
    tables=TableForm.TYPED,
    scale_per_operand=True,
    broadcast_operands=("IFM", "IFM2"),
    scalar_register="OP_SCALAR",
    scalar_is_wide=True,
    operand_swap=False,
    ofm_permutes=True,
)

DIFFERENCES: dict[str, Differences] = {"U55": _U55, "U65": _U65, "U85": _U85}
"""The row of each product, by ``Target.product``."""
