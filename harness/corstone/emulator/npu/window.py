"""The window of a pool or convolution: kernel, stride, dilation, padding, upscaling, and the IFM size they imply.

Source: ethos-u.md sections 3.2 (KERNEL_*, IFM_PAD_*, IFM_UPSCALE) and 4 (the IFM size is not encoded).
Leaves out what is done with the elements of a window.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.state import Registers
from corstone.emulator.npu.types import Array

Pair = tuple[int, int]


@dataclass(frozen=True)
class Window:
    """How an OFM position maps to IFM elements. Pairs are (vertical, horizontal).

    ``kernel`` is the dilated size in elements, ``taps`` the number of taps; ``before`` and ``after`` the padding;
    ``upscale`` is NONE, NEAREST or ZEROS (by two); ``stored`` the IFM's size in memory, ``size`` after upscaling.
    """

    kernel: Pair
    stride: Pair
    dilation: Pair
    before: Pair
    after: Pair
    upscale: str
    output: Pair
    size: Pair
    stored: Pair

    @property
    def taps(self) -> Pair:
        """Taps of the kernel without the gaps of its dilation."""
        return (
            (self.kernel[0] - 1) // self.dilation[0] + 1,
            (self.kernel[1] - 1) // self.dilation[1] + 1,
        )

    @property
    def padded(self) -> bool:
        """Whether any side is padded."""
        return any(self.before + self.after)

    @property
    def trivial(self) -> bool:
        """Whether the window is the element itself."""
        return self.kernel == (1, 1) and self.stride == (1, 1) and not self.padded and self.upscale == "NONE"

    def expand(self, values: Array, zero: int, fill: int | None = None) -> Array:
        """Upscale and pad ``[H, W, C]``; inserted elements are ``zero``, and so is padding unless ``fill`` is given."""
        if self.upscale != "NONE":
            values = self._upscaled(values, zero)
        if not self.padded:
            return values
        (top, left), (bottom, right) = self.before, self.after
        height, width, depth = values.shape
        padding = zero if fill is None else fill
        out = np.full((height + top + bottom, width + left + right, depth), padding, values.dtype)
        out[top : top + height, left : left + width] = values
        return out

    def _upscaled(self, values: Array, zero: int) -> Array:
        height, width = self.size
        if self.upscale == "NEAREST":
            return values.repeat(2, axis=0).repeat(2, axis=1)[:height, :width]
        out = np.full((2 * values.shape[0], 2 * values.shape[1], values.shape[2]), zero, values.dtype)
        out[::2, ::2] = values
        return out[:height, :width]

    def tap(self, expanded: Array, y: int, x: int) -> Array:
        """The elements under tap (y, x) of every OFM position, a ``[H, W, C]`` view of the expanded IFM."""
        top, left = y * self.dilation[0], x * self.dilation[1]
        bottom = top + (self.output[0] - 1) * self.stride[0] + 1
        right = left + (self.output[1] - 1) * self.stride[1] + 1
        return expanded[top : bottom : self.stride[0], left : right : self.stride[1]]

    def columns(self, expanded: Array, x: int) -> Array:
        """The elements under horizontal tap ``x`` in every row of the expanded IFM, ``[H', W, C]``."""
        left = x * self.dilation[1]
        right = left + (self.output[1] - 1) * self.stride[1] + 1
        return expanded[:, left : right : self.stride[1]]

    def rows(self, expanded: Array, y: int) -> Array:
        """The elements under vertical tap ``y`` of an array that has OFM columns already, ``[H, W, C]``."""
        top = y * self.dilation[0]
        bottom = top + (self.output[0] - 1) * self.stride[0] + 1
        return expanded[top : bottom : self.stride[0]]

    def valid(self) -> Array:
        """How many taps of each OFM position lie inside the IFM, int64 ``[H, W]``."""
        counts = [
            self._valid_axis(axis, np.arange(self.output[axis]) * self.stride[axis] - self.before[axis])
            for axis in (0, 1)
        ]
        both: Array = counts[0][:, None] * counts[1][None, :]
        return both

    def _valid_axis(self, axis: int, start: Array) -> Array:
        taps = start[:, None] + np.arange(self.taps[axis]) * self.dilation[axis]
        inside: Array = ((taps >= 0) & (taps < self.size[axis])).sum(axis=1)
        return inside


def build_window(regs: Registers, output: Pair) -> Window:
    """The window of the registers, for an OFM of (height, width) ``output``.

    Raises
    ------
    NpuError: kind ``parse``, for registers never set, a kernel that its dilation does not divide, or an IFM that comes
        out empty.
    """
    kernel = (regs["KERNEL_HEIGHT_M1"] + 1, regs["KERNEL_WIDTH_M1"] + 1)
    bits = {name: regs.field("KERNEL_STRIDE", name) for name in ("x_lsb", "x_msb", "y_lsb", "y_msb")}
    stride = (bits["y_lsb"] + 2 * bits["y_msb"] + 1, bits["x_lsb"] + 2 * bits["x_msb"] + 1)
    dilation = (regs.field("KERNEL_STRIDE", "dilation_y") + 1, regs.field("KERNEL_STRIDE", "dilation_x") + 1)
    before = (regs["IFM_PAD_TOP"], regs["IFM_PAD_LEFT"])
    after = (regs["IFM_PAD_BOTTOM"], regs["IFM_PAD_RIGHT"])
    upscale = regs.choice("IFM_UPSCALE", "mode")
    size = tuple((output[a] - 1) * stride[a] + kernel[a] - before[a] - after[a] for a in (0, 1))
    if min(size) < 0:
        raise NpuError("parse", f"kernel {kernel}, padding {before} and {after} leave an IFM of {size}")
    if any((kernel[a] - 1) % dilation[a] for a in (0, 1)):
        raise NpuError("parse", f"kernel {kernel} is not a multiple of its dilation {dilation}")
    stored = size if upscale == "NONE" else tuple((n + 1) // 2 for n in size)
    return Window(kernel, stride, dilation, before, after, upscale, output, (size[0], size[1]), (stored[0], stored[1]))
