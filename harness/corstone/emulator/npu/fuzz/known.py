"""Differences that are the compiler's: combinations that Vela 5.1.0 compiles to a stream that says something else.

Each was read off the stream itself (a dropped slice offset, padding on the wrong side, strides of another shape), so no
model of the NPU could give the reference's answer. A case that differs and holds such a combination is counted under
its name; the same combination often compiles correctly, and is then judged like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

_APART = ("conv_apart", "depthwise_apart")
_WINDOWED = ("conv", "depthwise", "depthwise_multiplier", "transpose_conv", "max_pool", "avg_pool", *_APART)
_REDUCES = ("reduce_extreme", "reduce_sum", "argmax")
_SHAPES = ("reshape", "transpose", "pad", "concat", "slice", "tile", "reverse")


@dataclass(frozen=True)
class Divergence:
    """A combination by name; ``applies`` looks at the operators in order, the target, and what went wrong."""

    name: str
    reason: str
    applies: Callable[[Sequence[str], str, str], bool]


def _follows(names: Sequence[str], first: Sequence[str], second: Sequence[str]) -> bool:
    return any(a in first and b in second for a, b in pairwise(names))


DIVERGENCES = (
    Divergence(
        "slice-window",
        "the slice's offset is lost, or its consumer's padding moves to the other side",
        lambda names, _target, _detail: _follows(names, ("slice",), (*_WINDOWED, "matmul", "resize_nearest")),
    ),
    Divergence(
        "slice-reduce",
        "the reduction runs over the whole axis and not over the slice",
        lambda names, _target, _detail: _follows(names, ("slice",), _REDUCES),
    ),
    Divergence(
        "reshape-bricks",
        "a tensor stored in bricks of one shape is read in bricks of another",
        lambda names, _target, _detail: "reshape" in names,
    ),
    Divergence(
        "reduce-write",
        "a reduction takes on the shape or strides of what reshapes or moves its result",
        lambda names, _target, _detail: _follows(names, _REDUCES, (*_SHAPES, "matmul")),
    ),
    Divergence(
        "elementwise-write",
        "an elementwise operation fused with what follows writes with the strides of its own shape",
        lambda names, _target, _detail: _follows(names, ("clz", "abs", "bitwise", "shift", "compare"), _SHAPES),
    ),
    Divergence(
        "multiplier-write",
        "a depthwise convolution with a multiplier writes its last transpose without the strides of what follows",
        lambda names, _target, _detail: _follows(names, ("depthwise_multiplier",), (*_SHAPES, *_APART)),
    ),
    Divergence(
        "apart-write",
        "a convolution that is taken apart writes its transpose with strides times the dilation, or drops its padding",
        lambda names, _target, _detail: _follows(names, _APART, ("transpose", *_REDUCES)),
    ),
    Divergence(
        "apart-depth",
        "the second depth of a strided depthwise convolution reads the first one's channels",
        lambda names, target, _detail: "u85" in target and "depthwise_apart" in names,
    ),
    Divergence(
        "apart-accumulators",
        "parts with fewer channels are accumulated one after the other, and then kept for all channels at once",
        lambda _names, _target, detail: "are kept for an OFM of shape" in detail,
    ),
    Divergence(
        "shift-clamp",
        "a clamp fused into a shift is dropped, since shifts do not clip",
        lambda names, _target, _detail: _follows(names, ("shift",), ("clamp",)),
    ),
    Divergence(
        "transpose-table",
        "a table behind a transpose is dropped; its operation repeats the one before",
        lambda names, _target, _detail: _follows(names, ("transpose",), ("table",)),
    ),
    Divergence(
        "table-memory",
        "on U55-32 and U55-64 a table is sometimes sent past the end of the internal memory",
        lambda _names, target, detail: target in ("ethos-u55-32", "ethos-u55-64") and "internal memory" in detail,
    ),
    Divergence(
        "padding-stripe",
        "a stripe of a convolution lies in the padding so far that its input would have fewer than no rows",
        lambda _names, _target, detail: "leave an IFM of" in detail,
    ),
    Divergence(
        "resize-matmul",
        "a resize that copies is read by a matrix product as one row, and padding stands for the others",
        lambda names, _target, _detail: _follows(names, ("resize_nearest",), ("matmul",)),
    ),
    Divergence(
        "matmul-concat",
        "on U55 and U65 the sums of a matrix product are written at the start of the joined tensor, not in their place",
        lambda names, target, _detail: "u85" not in target and _follows(names, ("matmul",), ("concat",)),
    ),
    Divergence(
        "reduce-bricks",
        "a sum that another reduction reads is stored in bricks, in the room of a plain tensor, over its own input",
        lambda names, _target, detail: _follows(names, _REDUCES, _REDUCES) and "overlap fault" in detail,
    ),
    Divergence(
        "padding-average",
        "an AVERAGE is given windows that lie in the padding altogether",
        lambda _names, _target, detail: "in the padding altogether" in detail,
    ),
)


def known_divergence(names: Sequence[str], target: str, detail: str) -> str:
    """The name of the first combination that explains a difference, empty for none."""
    return next((known.name for known in DIVERGENCES if known.applies(names, target, detail)), "")
