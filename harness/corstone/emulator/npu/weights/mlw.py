"""The SWD ("mlw") weight stream: Golomb-Rice coded weights and zero runs in slices and chunks.

A slice has a header (run-length divisor, length, weight divisor, palette) and chunks of up to twelve symbols. A chunk
holds unary parts, then the remainders that belong to the chunk before. Where a chunk starts depends on the one before,
so finding the starts is a loop over chunks; reading all symbols of a slice is then done on arrays.
Source: ethos-u.md section 6.1 (mlw_decode.c of Vela). Leaves out the order of the weights (``order``). Never trusts the
stream: reading past its end, values beyond nine bits, and more weights than asked for are errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from corstone.emulator.npu.errors import NpuError
from corstone.emulator.npu.types import Array, Bytes, Ints
from corstone.emulator.npu.weights.bits import BitString

_NO_RUNS = 6
_END = 7
_UNCOMPRESSED = 7
_SYMBOLS = 12
_AHEAD = 8
_HEADER_BITS = 23
_PALETTE_BITS = 13


@dataclass
class _Slice:
    """A slice header. ``remainder`` is the width of a weight's remainder, ``runs`` that of a run's, -1 without runs."""

    length: int
    remainder: int
    uncompressed: bool
    truncated: bool
    runs: int
    new_palette: bool


@dataclass(frozen=True)
class _Palette:
    """``values`` by index, then direct values from ``offset``."""

    values: Ints
    offset: int
    bits: int


def decode(data: Bytes, count: int) -> Ints:
    """The first ``count`` weights of a stream, int64 ``[count]``, nine-bit signed values.

    Raises
    ------
    NpuError: kind ``weights``, when the stream is corrupt or holds another number of weights.
    """
    bits = BitString(data)
    position, found = 0, 0
    palette: _Palette | None = None
    parts: list[Array] = []
    while True:
        if position + 3 > bits.bits:
            break
        runs = bits.field(position, 3)
        if runs == _END:
            # The rest of the byte is padding; a new stream, or more padding, may follow.
            position = (position + 10) // 8 * 8
            palette = None
            continue
        if found >= count and palette is None:
            break
        header, palette, position = _header(bits, position, palette)
        weights, position = _slice(bits, position, header, palette, count - found)
        parts.append(weights)
        found += weights.size
    if found != count:
        raise NpuError("weights", f"the weight stream holds {found} weights, the operation needs {count}")
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _header(bits: BitString, position: int, palette: _Palette | None) -> tuple[_Slice, _Palette, int]:
    if position + _HEADER_BITS > bits.bits:
        raise _cut(bits)
    runs = bits.field(position, 3)
    length = bits.field(position + 3, 15) + 1
    divisor = bits.field(position + 18, 3)
    truncated, new_palette = bits.field(position + 21, 1), bits.field(position + 22, 1)
    position += _HEADER_BITS
    if runs in (4, 5):
        raise NpuError("weights", f"zero-run divisor {runs} does not exist")
    if new_palette:
        palette, position = _palette(bits, position)
    elif palette is None:
        raise NpuError("weights", "the first slice of the weight stream has no palette")
    uncompressed = divisor == _UNCOMPRESSED
    if uncompressed:
        entries = palette.values.size
        divisor = (entries - 1).bit_length() if entries else palette.bits
    elif divisor > 5:
        raise NpuError("weights", f"weight divisor {divisor} does not exist")
    header = _Slice(length, divisor, uncompressed, bool(truncated), -1 if runs == _NO_RUNS else runs, bool(new_palette))
    return header, palette, position


def _palette(bits: BitString, position: int) -> tuple[_Palette, int]:
    if position + _PALETTE_BITS > bits.bits:
        raise _cut(bits)
    offset, size = bits.field(position, 5), bits.field(position + 5, 5)
    width = bits.field(position + 10, 3) + 2
    position += _PALETTE_BITS
    size += size > 0
    if position + size * width > bits.bits:
        raise _cut(bits)
    values = bits.fields(position + width * np.arange(size), width)
    return _Palette(values, offset, width), position + size * width


def _cut(bits: BitString) -> NpuError:
    return NpuError("weights", f"the weight stream ends inside a slice ({bits.bits // 8} bytes)")


@dataclass
class _Chunks:
    """What the walk over the chunks of a slice found, by chunk that has weights or runs.

    ``unary``: their first unary words; ``second``: the weights' second ones; ``remainders``: where theirs start.
    """

    unary: list[int]
    second: list[int]
    remainders: list[int]
    run_unary: list[int]
    run_remainders: list[int]


def _slice(bits: BitString, position: int, header: _Slice, palette: _Palette, room: int) -> tuple[Array, int]:
    """The weights of a slice with their zero runs, and the position behind it."""
    if header.length > room:
        raise NpuError("weights", f"a slice of {header.length} weights, where the operation has room for {room}")
    chunks, position = _walk(bits, position, header)
    values = _symbols(bits, chunks, header)
    weights = _weights(values, palette)
    if header.runs < 0:
        return weights, position
    zeros = _runs(bits, chunks, header)
    if header.length + int(zeros.sum()) > room:
        raise NpuError("weights", f"zero runs beyond the {room} weights that the operation has room for")
    # Zeros stand before the first weight only where the palette is new.
    lead = int(zeros[0]) if header.new_palette else 0
    behind = zeros[1:] if header.new_palette else zeros
    places = lead + np.arange(header.length) + np.concatenate([[0], np.cumsum(behind[:-1])])
    out = np.zeros(header.length + int(zeros.sum()), np.int64)
    out[places] = weights
    return out, position


def _walk(bits: BitString, position: int, header: _Slice) -> tuple[_Chunks, int]:
    """Find where each chunk's parts lie."""
    words, end = bits.words, bits.bits
    chunks = _Chunks([], [], [], [], [])
    length, width = header.length, header.remainder
    with_runs = header.runs >= 0
    run_count = length + header.new_palette if with_runs else 0
    run_bits = 12 if header.runs < 3 else 8
    symbols = 8 if header.uncompressed and width > 5 else _SYMBOLS
    weights = runs = weights_read = runs_read = 0
    pending = run_pending = 0
    while True:
        ahead = weights - runs if with_runs else 0
        take = ahead < _AHEAD and weights < length
        take_runs = with_runs and ahead >= 0 and runs < run_count
        found = run_found = unary = 0
        if take and not header.uncompressed:
            unary = words[position >> 3] >> (position & 7) & 0xFFF
            position += 12
        if take_runs:
            run_unary = words[position >> 3] >> (position & 7) & ((1 << run_bits) - 1)
            position += run_bits
            run_found = run_bits - run_unary.bit_count()
            chunks.run_unary.append(run_unary)
            runs += run_found
        if take:
            ones = unary.bit_count()
            second = words[position >> 3] >> (position & 7) & ((1 << ones) - 1)
            position += ones
            found = symbols if header.truncated else symbols - second.bit_count()
            chunks.unary.append(unary)
            chunks.second.append(second)
            weights += found
        if pending >= 0 and len(chunks.remainders) < len(chunks.unary) - take:
            chunks.remainders.append(position)
            read = min(pending, length - weights_read)
            weights_read += read
            position += read * width
        if run_pending >= 0 and len(chunks.run_remainders) < len(chunks.run_unary) - take_runs:
            chunks.run_remainders.append(position)
            read = min(run_pending, run_count - runs_read)
            runs_read += read
            position += read * header.runs
        if position > end:
            raise _cut(bits)
        if not (take or take_runs):
            return chunks, position
        pending, run_pending = found, run_found


def _symbols(bits: BitString, chunks: _Chunks, header: _Slice) -> Ints:
    """The coded value of each weight of a slice, int64 ``[length]``."""
    symbols = 8 if header.uncompressed and header.remainder > 5 else _SYMBOLS
    unary = np.asarray(chunks.unary, np.int64)[:, None] >> np.arange(symbols) & 1
    second = np.asarray(chunks.second, np.int64)[:, None] >> (np.cumsum(unary, axis=1) - unary) & unary
    code = unary + second
    ends = np.ones_like(code, bool) if header.truncated else code < 2
    return _golomb(bits, code, ends, np.asarray(chunks.remainders, np.int64), header.remainder, header.length)


def _runs(bits: BitString, chunks: _Chunks, header: _Slice) -> Ints:
    """The length of each zero run of a slice, int64."""
    unary = np.asarray(chunks.run_unary, np.int64)[:, None] >> np.arange(12 if header.runs < 3 else 8) & 1
    count = header.length + header.new_palette
    return _golomb(bits, unary, unary == 0, np.asarray(chunks.run_remainders, np.int64), header.runs, count)


def _golomb(bits: BitString, code: Ints, ends: Array, remainders: Ints, width: int, count: int) -> Ints:
    """Quotients (sums of ``code`` up to each end) with their remainders of ``width`` bits.

    Shapes: ``code`` and ``ends`` ``[chunks, symbols]``, ``remainders`` ``[chunks]``; the result ``[count]``.
    """
    where = np.flatnonzero(ends)[:count]
    if where.size < count:
        raise NpuError("weights", "a slice of the weight stream ends inside a symbol")
    total = np.cumsum(code)[where]
    quotient = np.diff(total, prepend=0)
    if not width:
        return quotient
    chunk = where // code.shape[1]
    first = np.searchsorted(chunk, np.arange(code.shape[0]))
    position = remainders[chunk] + (np.arange(count) - first[chunk]) * width
    return (quotient << width) + bits.fields(position, width)


def _weights(values: Ints, palette: _Palette) -> Ints:
    """Coded values to signed weights: a palette index or a direct value; the lowest bit is the sign."""
    if values.max(initial=0) >= 512:
        raise NpuError("weights", f"the weight stream holds the value {int(values.max())}, beyond nine bits")
    size = palette.values.size
    table = np.arange(512) - size + palette.offset
    table[:size] = palette.values
    coded = table[values]
    return np.where(coded & 1, -(coded >> 1), coded >> 1)
