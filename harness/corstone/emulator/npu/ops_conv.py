"""Convolution, depthwise convolution, and the matrix product with weights from IFM2.

Integer sums are taken as floating-point matrix products, which is exact while every partial sum is an integer that the
type holds: float32 to 2^24, float64 to 2^53. The bound is the largest channel's sum of weight magnitudes (real
weights, not their type's range) times the largest input magnitude; it is checked for each operation's weights, and
decides between the types. The order in which a library adds does not matter then.
The input is multiplied as stored, without subtracting its zero point: padding is set to the zero point instead, and
``zero_point * sum(weights)`` is taken off afterwards with the bias.
Source: ethos-u.md sections 4, 5.1, 5.3, 5.8 and 6. What outlives an operation is in ``accumulators``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from corstone.emulator.npu.accumulators import Accumulation, build_accumulation, require_plain_accumulator
from corstone.emulator.npu.blocks import build_block
from corstone.emulator.npu.channels import RecordSource, build_records
from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.machine import Cost, Machine
from corstone.emulator.npu.operands import Input, Output, build_input, build_output
from corstone.emulator.npu.output import ChannelScale, FloatFinish, OutputStage, float_finish
from corstone.emulator.npu.plan import Compute, Plan
from corstone.emulator.npu.stage import build_stage, is_global, ofm_scale
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.streams import build_streams
from corstone.emulator.npu.types import Array, Bytes, Ints, bounds
from corstone.emulator.npu.weights.order import DEPTH_FIRST, DEPTHWISE, PART_KERNEL, Layout
from corstone.emulator.npu.weights.source import FLOAT32_EXACT, FLOAT64_EXACT, Prepared, WeightSource
from corstone.emulator.npu.window import Window, build_window

_STREAM_NAMES = ("WEIGHT", "WEIGHT1", "WEIGHT2", "WEIGHT3")
_CHUNK = 1 << 17
"""Elements of a working array: large enough for a matrix product, small enough for the cache."""
_ACCUMULATOR_BITS = {"I32": 32, "I40": 40, "I48": 48}


def build_conv(machine: Machine, regs: Registers, *, depthwise: bool = False, weights_ifm2: bool = False) -> Plan:
    """The plan of a CONV or DEPTHWISE operation.

    Raises
    ------
    NpuError: for registers never set, shapes that do not fit, and forms that are not modelled.
    """
    output = build_output(machine, regs, nowhere=not weights_ifm2)
    window = build_window(regs, output.shape[:2])
    depth = regs["IFM_DEPTH_M1"] + 1
    if depthwise and depth != output.shape[2]:
        raise NpuError("parse", f"a depthwise IFM has depth {depth}, its OFM {output.shape[2]}")
    source = build_input(machine, regs, "IFM", (*window.stored, depth))
    if source.dtype.itemsize > 2:
        raise NpuError("unsupported", f"convolution of {source.dtype} data is not modelled")
    accumulator = regs.choice("ACC_FORMAT", "format")
    if accumulator not in _ACCUMULATOR_BITS:
        raise NpuError("unsupported", f"accumulator format {accumulator} is not modelled")
    most = (1 << (_ACCUMULATOR_BITS[accumulator] - 1)) - 1
    block = build_block(machine, regs, weights=True)
    if weights_ifm2:
        require_plain_accumulator(machine, regs)
        return _build_product(machine, regs, output, window, source, most)
    if is_global(regs):
        raise NpuError("unsupported", "convolution with a global scale is not modelled")
    records = build_records(machine, regs, output.shape[2])
    layouts = _layouts(machine, regs, window, source, output, block.size[2], block.micro[2], depthwise)
    streams = build_streams(machine, regs, "WEIGHT_REGION", _STREAM_NAMES[: len(layouts)])
    reach = max(*map(abs, bounds(source.dtype)), abs(source.zero_point))
    weights = WeightSource(streams, layouts, reach)
    stage = build_stage(machine, regs, None)
    kind = Depthwise if depthwise else Convolution
    accumulation = build_accumulation(machine, regs, output, block)
    return kind(source, output, stage, window, weights, records, most, accumulation)


def _layouts(
    machine: Machine,
    regs: Registers,
    window: Window,
    source: Input,
    output: Output,
    block: int,
    micro: int,
    depthwise: bool,
) -> tuple[Layout, ...]:
    """The order of weights in each stream."""
    config = machine.config
    if regs.field("KERNEL_STRIDE", "decomposition4x4"):
        raise NpuError("unsupported", "decomposition of kernels into 4x4 parts is not modelled")
    traversal = PART_KERNEL if regs.field("KERNEL_STRIDE", "part_kernel") else DEPTH_FIRST
    sparse = fast = False
    streams = 1
    if config.weight_format:
        fast = regs.choice("WEIGHT_FORMAT", "format") == "FWD"
        sparse = bool(regs.field("WEIGHT_FORMAT", "sparse"))
        streams = config.streams
        if sparse and (fast or depthwise):
            raise NpuError("unsupported", "sparse weights with FWD or depthwise are not modelled")
        if fast and depthwise:
            raise NpuError("unsupported", "FWD weights of a depthwise convolution are not modelled")
    elif config.cores > 1 and regs.field("PARALLEL_MODE", "depth_split"):
        streams = min(config.cores, output.shape[2])
    one = Layout(
        order=config.weight_order,
        macs=config.macs,
        channels=output.shape[2],
        kernel=window.taps,
        depth=1 if depthwise else source.shape[2],
        block=block,
        micro=micro,
        bits=8 * source.dtype.itemsize,
        traversal=DEPTHWISE if depthwise else traversal,
        stride=window.stride,
        dilation=window.dilation,
        sparse=sparse,
        fast=fast,
        streams=streams,
    )
    return (one,) if fast else tuple(replace(one, stream=n) for n in range(streams))


class _Weighted(Compute):
    """What convolutions share: their parts, the accumulator's check, and the two forms of the output stage."""

    def __init__(
        self,
        source: Input,
        output: Output,
        stage: OutputStage,
        window: Window,
        weights: WeightSource,
        records: RecordSource,
        most: int,
        accumulation: Accumulation,
    ) -> None:
        elements = math.prod(output.shape)
        first = weights.layouts[0]
        macs = elements * math.prod(window.taps) * first.depth
        read = source.size_bytes + weights.size_bytes + records.size_bytes
        inputs = (source,) if accumulation.loaded is None else (source, accumulation.loaded)
        super().__init__(inputs, output, Cost(macs, read, output.size_bytes, elements + first.size))
        self.stage = stage
        self.window = window
        self.weights = weights
        self.records = records
        self.most = most
        self.accumulation = accumulation
        self.in_place = accumulation.loaded
        self._finisher: tuple[object, tuple[bytes, ...], _Finisher] | None = None

    def run(self, machine: Machine, pointers: list[int]) -> Array | None:
        """See ``Plan``; without an OFM the sums stay in the accumulators."""
        if not self.accumulation.only:
            return super().run(machine, pointers)
        machine.accumulators = self._accumulated(machine, pointers)
        return None

    def _accumulated(self, machine: Machine, pointers: list[int]) -> Ints:
        """The sums with those that are kept, without bias, int64 ``[H, W, O]``."""
        source = self.inputs[0]
        weights = self.weights.load(machine, pointers)
        self._check_exact(weights)
        out = np.empty(self.output.shape, np.int64)
        for rows, sums in self.sums(source.load(machine, pointers), source.zero_point, weights):
            out[rows] = sums
        out -= source.zero_point * weights.column
        before = self.accumulation.before(machine, pointers, self.output.shape)
        if before is not None:
            out += before
        check_accumulator(out, self.most)
        return out

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        if not self.accumulation.plain:
            channels = self.records.decode(self.records.read(machine, pointers))
            sums = self._accumulated(machine, pointers)
            check_accumulator(sums + channels.bias, self.most)
            return self.stage.finish(sums, machine.internal, channels)
        source = self.inputs[0]
        weights = self.weights.load(machine, pointers)
        finish = self._finish(weights, self.records.read(machine, pointers))
        out = np.empty(self.output.shape, self.stage.dtype)
        for rows, sums in self.sums(source.load(machine, pointers), source.zero_point, weights):
            out[rows] = finish(sums, machine.internal)
        return out

    def _finish(self, weights: Prepared, records: tuple[bytes, ...]) -> _Finisher:
        """The output stage for these weights and records, made once."""
        kept = self._finisher
        if kept is not None and kept[0] is weights.token and kept[1] == records:
            return kept[2]
        reach = self._check_exact(weights)
        channels = self.records.decode(records)
        # The input is multiplied with its zero point in it.
        channels = replace(channels, bias=channels.bias - self.inputs[0].zero_point * weights.column)
        most = None if 2 * reach + int(np.abs(channels.bias).max(initial=0)) <= self.most else self.most
        finisher = _Finisher(self.stage, channels, float_finish(self.stage, channels, reach), most)
        self._finisher = (weights.token, records, finisher)
        return finisher

    def _check_exact(self, weights: Prepared) -> int:
        """The largest sum there can be, which the matrix product holds exactly."""
        reach = weights.magnitude * self.weights.reach
        exact = FLOAT32_EXACT if weights.matrix.dtype == np.float32 else FLOAT64_EXACT
        if reach > exact:
            raise NpuError("overflow", f"sums up to {reach} are not exact in {weights.matrix.dtype}")
        return reach

    def sums(self, values: Array, zero_point: int, weights: Prepared) -> Iterator[tuple[slice, Array]]:
        """Rows of the OFM with their sums, float ``[rows, W, O]``, over the IFM as stored."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Finisher:
    """From float sums to stored elements; ``most`` bounds the accumulator where it could be passed, else None."""

    stage: OutputStage
    channels: ChannelScale
    floats: FloatFinish | None
    most: int | None

    def __call__(self, sums: Array, internal: Bytes) -> Array:
        if self.most is not None:
            check_accumulator(sums.astype(np.int64) + self.channels.bias, self.most)
        if self.floats is not None:
            return self.floats.finish(sums, internal)
        return self.stage.finish(sums.astype(np.int64), internal, self.channels)


class Convolution(_Weighted):
    """Every output channel sums over all input channels under the kernel."""

    def sums(self, values: Array, zero_point: int, weights: Prepared) -> Iterator[tuple[slice, Array]]:
        """See ``_Weighted``."""
        window, (height, width, channels) = self.window, self.output.shape
        length = weights.matrix.shape[0]
        step = max(1, _CHUNK // (width * max(length, channels)))
        exact = weights.matrix.dtype
        patches = values if window.trivial else self._patches(pad_to(values, zero_point, window, exact))
        for top in range(0, height, step):
            part = patches[top : top + step].astype(exact, order="C", copy=False)
            rows: Array = part.reshape(-1, length) @ weights.matrix
            yield slice(top, top + step), rows.reshape(*part.shape[:2], channels)

    def _patches(self, padded: Array) -> Array:
        """What lies under the kernel at every position, a view ``[H, W, KH, KW * C]`` or ``[H, W, KH, KW, C]``."""
        window, (row, column, element) = self.window, padded.strides
        (high, wide), depth = window.taps, padded.shape[2]
        outer = (*window.output, high)
        steps = (row * window.stride[0], column * window.stride[1], row * window.dilation[0])
        if window.dilation[1] == 1:
            # Neighbouring columns lie together, so that one run can be copied at once.
            return np.lib.stride_tricks.as_strided(padded, (*outer, wide * depth), (*steps, element), writeable=False)
        shape, strides = (*outer, wide, depth), (*steps, column * window.dilation[1], element)
        return np.lib.stride_tricks.as_strided(padded, shape, strides, writeable=False)


class Depthwise(_Weighted):
    """Every output channel sums over the kernel in its own input channel.

    Columns and channels are taken together as one long row, so that one tap of a whole row of positions is one product
    with the tap's weights repeated. With a horizontal stride the columns are first sorted by their remainder.
    """

    def sums(self, values: Array, zero_point: int, weights: Prepared) -> Iterator[tuple[slice, Array]]:
        """See ``_Weighted``."""
        window, (height, width, channels) = self.window, self.output.shape
        padded = pad_to(values, zero_point, window, weights.matrix.dtype)
        step = max(1, _CHUNK // (width * channels))
        groups = list(self._groups(padded, np.tile(weights.matrix, (1, width))))
        for top in range(0, height, step):
            rows = min(step, height - top)
            sums = np.zeros((rows, width * channels), weights.matrix.dtype)
            for view, factors in groups:
                sums += np.einsum("yxrc,yxc->rc", view[:, :, top : top + rows], factors)
            yield slice(top, top + rows), sums.reshape(rows, width, channels)

    def _groups(self, padded: Array, factors: Array) -> Iterator[tuple[Array, Array]]:
        """Views ``[KY, KX, H, W * C]`` of the taps whose columns have one remainder, with their factors."""
        window = self.window
        (high, wide), (down, across) = window.taps, window.stride
        factors = factors.reshape(high, wide, -1)
        length = factors.shape[2]
        for phase in range(across):
            taps = [x for x in range(wide) if x * window.dilation[1] % across == phase]
            if not taps:
                continue
            columns = np.ascontiguousarray(padded[:, phase::across])
            row, column, element = columns.strides
            first = taps[0] * window.dilation[1] // across
            between = (taps[1] - taps[0]) * window.dilation[1] // across if len(taps) > 1 else 0
            view = np.lib.stride_tricks.as_strided(
                columns[:, first:],
                (high, len(taps), window.output[0], length),
                (row * window.dilation[0], column * between, row * down, element),
                writeable=False,
            )
            yield view, factors[:, taps]


def pad_to(values: Array, zero_point: int, window: Window, exact: np.dtype[np.floating]) -> Array:  # type: ignore[type-arg]
    """The IFM in a floating type, upscaled and padded with its zero point, contiguous ``[H, W, C]``."""
    if window.upscale != "NONE":
        return np.ascontiguousarray(window.expand(values.astype(exact), zero_point))
    if not window.padded:
        return values.astype(exact)
    (top, left), (height, width) = window.before, window.size
    out = np.empty((height + top + window.after[0], width + left + window.after[1], values.shape[2]), exact)
    out[:top] = zero_point
    out[top + height :] = zero_point
    out[top : top + height, :left] = zero_point
    out[top : top + height, left + width :] = zero_point
    out[top : top + height, left : left + width] = values
    return out


def check_accumulator(sums: Ints, most: int) -> None:
    """Refuse sums that the accumulator cannot hold; hardware would wrap, and no reference defines that.

    Raises
    ------
    NpuError: kind ``overflow``.
    """
    low, high = int(sums.min()), int(sums.max())
    if low < -most - 1 or high > most:
        worst = low if low < -most - 1 else high
        raise NpuError("overflow", f"an accumulator of {most.bit_length() + 1} bits cannot hold {worst}")


def _build_product(machine: Machine, regs: Registers, output: Output, window: Window, source: Input, most: int) -> Plan:
    if not window.trivial:
        raise NpuError("unsupported", f"weights from IFM2 with kernel {window.kernel} are not modelled")
    if not is_global(regs):
        raise NpuError("unsupported", "weights from IFM2 with per-channel scales are not modelled")
    shape = (1, output.shape[2], source.shape[2])
    second = build_input(machine, regs, "IFM2", shape)
    if second.dtype.itemsize > 2:
        raise NpuError("unsupported", f"weights from IFM2 of {second.dtype} are not modelled")
    return Product(source, second, output, build_stage(machine, regs, ofm_scale(machine, regs)), most)


class Product(Compute):
    """CONV with weights from IFM2: a matrix product of two feature maps, without bias, globally scaled."""

    def __init__(self, source: Input, second: Input, output: Output, stage: OutputStage, most: int) -> None:
        elements = math.prod(output.shape)
        read = source.size_bytes + second.size_bytes
        super().__init__((source, second), output, Cost(elements * source.shape[2], read, output.size_bytes, elements))
        self.stage = stage
        self.most = most

    def compute(self, machine: Machine, pointers: list[int]) -> Array:
        """See ``Compute``."""
        first, second = (item.load(machine, pointers).astype(np.float64) - item.zero_point for item in self.inputs)
        bound = np.abs(first).max() * np.abs(second).max() * first.shape[2]
        if bound > FLOAT64_EXACT:
            raise NpuError("overflow", f"sums up to {bound} are not exact in float64")
        sums = (first.reshape(-1, first.shape[2]) @ second[0].T).astype(np.int64)
        check_accumulator(sums, self.most)
        return self.stage.finish(sums.reshape(self.output.shape), machine.internal)
