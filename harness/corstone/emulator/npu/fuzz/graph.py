"""Write TOSA graphs: tensors with a shape and an integer type, and one method an operator.

A thin layer over the serializer of tosa-tools that adds what every operator needs (zero points, shapes, multipliers as
constants). Shapes are those of the TOSA 1.0 specification: NHWC feature maps, OHWI weights. Leaves out floating point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corstone.emulator.npu.types import Array

_DTYPES = {"i8": "INT8", "i16": "INT16", "i32": "INT32", "i48": "INT48", "bool": "BOOL"}
NUMPY: dict[str, Any] = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i48": np.int64, "bool": np.bool_}


@dataclass(frozen=True)
class Tensor:
    """A tensor of the graph; ``dtype`` is ``i8``, ``i16``, ``i32``, ``i48`` or ``bool``."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Graph:
    """A TOSA graph under construction."""

    def __init__(self) -> None:
        import tosa_serializer as ts

        self._ts: Any = ts
        self._out: Any = ts.TosaSerializer("", targetMajor=1, targetMinor=0, targetPatch=0, targetDraft=False)
        self.inputs: list[Tensor] = []
        self._count = 0

    def input(self, shape: Sequence[int], dtype: str) -> Tensor:
        """A graph input."""
        tensor = self._new(shape, dtype)
        self._out.addInputTensor(self._ts.TosaSerializerTensor(tensor.name, list(shape), self._dtype(dtype)))
        self.inputs.append(tensor)
        return tensor

    def const(self, values: Array, dtype: str) -> Tensor:
        """A constant."""
        data = np.ascontiguousarray(values, NUMPY[dtype])
        tensor = self._new(data.shape, dtype)
        self._out.addConst(list(data.shape), self._dtype(dtype), data, name=tensor.name)
        return tensor

    def op(
        self, op: str, inputs: Sequence[Tensor | str], shape: Sequence[int], dtype: str, **attributes: Any
    ) -> Tensor:
        """Any operator by its TOSA name; the attribute's name is the operator's in camel case."""
        out = self._out.addIntermediate(list(shape), self._dtype(dtype))
        attribute = self._ts.TosaSerializerAttribute()
        getattr(attribute, _attribute(op))(**attributes)
        names = [item if isinstance(item, str) else item.name for item in inputs]
        self._out.addOperator(getattr(self._ts.Op, op), names, [out.name], attribute)
        return Tensor(out.name, tuple(shape), dtype)

    def finish(self, outputs: Sequence[Tensor]) -> bytes:
        """Name the outputs and serialize."""
        block = self._out.currRegion.currBasicBlock
        for tensor in outputs:
            self._out.addOutputTensor(block.tensors[tensor.name])
        data: bytes = self._out.serialize()
        return data

    def conv2d(
        self,
        x: Tensor,
        weights: Array,
        bias: Array,
        pad: Sequence[int],
        stride: Sequence[int],
        dilation: Sequence[int],
        zero_point: int,
        *,
        depthwise: bool = False,
    ) -> Tensor:
        """CONV2D or DEPTHWISE_CONV2D to its accumulator type. ``weights`` OHWI, or HWCM for depthwise."""
        kernel = weights.shape[:2] if depthwise else weights.shape[1:3]
        channels = weights.shape[2] * weights.shape[3] if depthwise else weights.shape[0]
        size = [
            (x.shape[1 + a] - 1 + pad[2 * a] + pad[2 * a + 1] - (kernel[a] - 1) * dilation[a]) // stride[a] + 1
            for a in (0, 1)
        ]
        wide = "i48" if x.dtype == "i16" else "i32"
        inputs = (x, self.const(weights, "i8"), self.const(bias, wide), *self._zeros(x, zero_point))
        return self.op(
            "DEPTHWISE_CONV2D" if depthwise else "CONV2D",
            inputs,
            (x.shape[0], *size, channels),
            wide,
            pad=list(pad),
            stride=list(stride),
            dilation=list(dilation),
            local_bound=False,
            acc_type=self._dtype(wide),
        )

    def transpose_conv2d(
        self, x: Tensor, weights: Array, bias: Array, pad: Sequence[int], stride: Sequence[int], zero_point: int
    ) -> Tensor:
        """TRANSPOSE_CONV2D to its accumulator type; ``weights`` OHWI."""
        size = [(x.shape[1 + a] - 1) * stride[a] + pad[2 * a] + pad[2 * a + 1] + weights.shape[1 + a] for a in (0, 1)]
        wide = "i48" if x.dtype == "i16" else "i32"
        inputs = (x, self.const(weights, "i8"), self.const(bias, wide), *self._zeros(x, zero_point))
        return self.op(
            "TRANSPOSE_CONV2D",
            inputs,
            (x.shape[0], *size, weights.shape[0]),
            wide,
            out_pad=list(pad),
            stride=list(stride),
            local_bound=False,
            acc_type=self._dtype(wide),
        )

    def matmul(self, a: Tensor, b: Tensor, zero_a: int, zero_b: int) -> Tensor:
        """MATMUL of ``[N, H, C]`` and ``[N, C, W]``."""
        wide = "i48" if a.dtype == "i16" else "i32"
        zeros = [self.const(np.array([zero]), t.dtype) for t, zero in ((a, zero_a), (b, zero_b))]
        return self.op("MATMUL", (a, b, *zeros), (a.shape[0], a.shape[1], b.shape[2]), wide)

    def pool(
        self, x: Tensor, op: str, kernel: Sequence[int], stride: Sequence[int], pad: Sequence[int], zeros: Sequence[int]
    ) -> Tensor:
        """MAX_POOL2D, or AVG_POOL2D with (input, output) zero points."""
        size = [(x.shape[1 + a] + pad[2 * a] + pad[2 * a + 1] - kernel[a]) // stride[a] + 1 for a in (0, 1)]
        shape = (x.shape[0], *size, x.shape[3])
        common = {"kernel": list(kernel), "stride": list(stride), "pad": list(pad)}
        if op == "MAX_POOL2D":
            return self.op(op, (x,), shape, x.dtype, **common, nan_mode=self._ts.NanPropagationMode.PROPAGATE)
        inputs = (x, *(self.const(np.array([zero]), x.dtype) for zero in zeros))
        return self.op(op, inputs, shape, x.dtype, **common, acc_type=self._dtype("i32"))

    def rescale(
        self,
        x: Tensor,
        dtype: str,
        scales: Sequence[float],
        zero_in: int = 0,
        zero_out: int = 0,
        *,
        double_round: bool = False,
    ) -> Tensor:
        """RESCALE by one scale, or by one a channel."""
        wide = x.dtype != "i48"
        pairs = [quantized_scale(scale, 31 if wide else 15) for scale in scales]
        rounding = self._ts.RoundingMode.DOUBLE_ROUND if double_round else self._ts.RoundingMode.SINGLE_ROUND
        inputs = (
            x,
            self.const(np.array([m for m, _ in pairs]), "i32" if wide else "i16"),
            self.const(np.array([s for _, s in pairs]), "i8"),
            self.const(np.array([zero_in]), x.dtype),
            self.const(np.array([zero_out]), dtype),
        )
        return self.op(
            "RESCALE",
            inputs,
            x.shape,
            dtype,
            scale32=wide,
            rounding_mode=rounding,
            per_channel=len(scales) > 1,
            input_unsigned=False,
            output_unsigned=False,
        )

    def mul(self, a: Tensor, b: Tensor, shape: Sequence[int], shift: int = 0) -> Tensor:
        """MUL to int32."""
        return self.op("MUL", (a, b, self.const(np.array([shift]), "i8")), shape, "i32")

    def clamp(self, x: Tensor, low: int, high: int) -> Tensor:
        """CLAMP."""
        limits = {
            name: list(np.array([value], NUMPY[x.dtype]).tobytes())
            for name, value in (("min_val", low), ("max_val", high))
        }
        return self.op("CLAMP", (x,), x.shape, x.dtype, **limits, nan_mode=self._ts.NanPropagationMode.PROPAGATE)

    def reduce(self, x: Tensor, op: str, axis: int) -> Tensor:
        """REDUCE_SUM, REDUCE_MAX or REDUCE_MIN."""
        shape = tuple(1 if n == axis else size for n, size in enumerate(x.shape))
        extra = {} if op == "REDUCE_SUM" else {"nan_mode": self._ts.NanPropagationMode.PROPAGATE}
        return self.op(op, (x,), shape, x.dtype, axis=axis, **extra)

    def shape_const(self, values: Sequence[int]) -> str:
        """A constant of TOSA's shape type; its name."""
        self._count += 1
        name = f"shape_{self._count}"
        self._out.addConst([len(values)], self._ts.DType.SHAPE, np.array(values, np.int64), name=name)
        return name

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """RESHAPE."""
        return self.op("RESHAPE", (x, self.shape_const(shape)), shape, x.dtype)

    def transpose(self, x: Tensor, perms: Sequence[int]) -> Tensor:
        """TRANSPOSE."""
        return self.op("TRANSPOSE", (x,), [x.shape[p] for p in perms], x.dtype, perms=list(perms))

    def slice(self, x: Tensor, start: Sequence[int], size: Sequence[int]) -> Tensor:
        """SLICE."""
        return self.op("SLICE", (x, self.shape_const(start), self.shape_const(size)), size, x.dtype)

    def pad(self, x: Tensor, padding: Sequence[int], value: int) -> Tensor:
        """PAD by (before, behind) of each axis."""
        shape = [size + padding[2 * n] + padding[2 * n + 1] for n, size in enumerate(x.shape)]
        return self.op("PAD", (x, self.shape_const(padding), self.const(np.array([value]), x.dtype)), shape, x.dtype)

    def resize(
        self, x: Tensor, scale: Sequence[int], offset: Sequence[int], border: Sequence[int], mode: str
    ) -> Tensor:
        """RESIZE; ``scale`` is (y numerator, y denominator, x numerator, x denominator)."""
        size = [((x.shape[1 + a] - 1) * scale[2 * a] - offset[a] + border[a]) // scale[2 * a + 1] + 1 for a in (0, 1)]
        dtype = x.dtype
        if mode == "BILINEAR":
            dtype = "i48" if x.dtype == "i16" else "i32"
        inputs = (x, self.shape_const(scale), self.shape_const(offset), self.shape_const(border))
        shape = (x.shape[0], *size, x.shape[3])
        return self.op("RESIZE", inputs, shape, dtype, mode=getattr(self._ts.ResizeMode, mode))

    def argmax(self, x: Tensor, axis: int) -> Tensor:
        """ARGMAX."""
        shape = [size for n, size in enumerate(x.shape) if n != axis]
        return self.op("ARGMAX", (x,), shape, "i32", axis=axis, nan_mode=self._ts.NanPropagationMode.PROPAGATE)

    def _zeros(self, x: Tensor, zero_point: int) -> tuple[Tensor, Tensor]:
        return self.const(np.array([zero_point]), x.dtype), self.const(np.array([0]), "i8")

    def _new(self, shape: Sequence[int], dtype: str) -> Tensor:
        self._count += 1
        return Tensor(f"t{self._count}", tuple(shape), dtype)

    def _dtype(self, name: str) -> Any:
        return getattr(self._ts.DType, _DTYPES[name])


def _attribute(op: str) -> str:
    special = {"ARGMAX": "ArgMax", "MATMUL": "MatMul", "INTDIV": "IntDiv"}
    camel = special.get(op) or "".join(part.capitalize() for part in op.split("_"))
    return f"{camel}Attribute"


def quantized_scale(scale: float, bits: int) -> tuple[int, int]:
    """A scale as multiplier and right shift, the multiplier with ``bits`` bits."""
    mantissa, exponent = np.frexp(scale)
    multiplier, shift = round(float(mantissa) * (1 << bits)), bits - int(exponent)
    if multiplier == 1 << bits:
        multiplier, shift = multiplier >> 1, shift - 1
    if shift > 62:
        multiplier, shift = multiplier >> min(31, shift - 62), 62
    return multiplier, max(shift, 2)
