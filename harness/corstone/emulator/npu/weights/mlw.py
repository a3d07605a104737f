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
_ONES = [number.bit_count() for number in range(1 << _SYMBOLS)]
_ONES_ARRAY = np.array(_ONES)
_NOWHERE = np.zeros(0, np.int64)
_MASKS = [(1 << width) - 1 for width in range(_SYMBOLS + 1)]


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


def decode(data: Bytes, count: int) -> Array:
    """The first ``count`` weights of a stream, int16 ``[count]``, nine-bit signed values.

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
    return np.concatenate(parts) if parts else np.zeros(0, np.int16)


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
    """Where the parts of a slice's chunks lie, bit positions, int64, one entry a chunk that has weights or runs.

    ``unary``: the weights' first unary words; ``second``: their second ones; ``remainders``: their remainders.
    """

    unary: Ints
    second: Ints
    remainders: Ints
    run_unary: Ints
    run_remainders: Ints


def _slice(bits: BitString, position: int, header: _Slice, palette: _Palette, room: int) -> tuple[Array, int]:
    """The weights of a slice with their zero runs, and the position behind it."""
    if header.length > room:
        raise NpuError("weights", f"a slice of {header.length} weights, where the operation has room for {room}")
    if header.uncompressed and header.runs < 0:
        return _fixed(bits, position, header, palette)
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
    out = np.zeros(header.length + int(zeros.sum()), np.int16)
    out[places] = weights
    return out, position


def _fixed(bits: BitString, position: int, header: _Slice, palette: _Palette) -> tuple[Array, int]:
    """A slice with neither unary parts nor runs: fields of one width, one after the other."""
    end = position + header.length * header.remainder
    if end > bits.bits:
        raise _cut(bits)
    places = position + np.arange(header.length) * header.remainder
    return _weights(bits.fields(places, header.remainder), palette), end


def _walk(bits: BitString, position: int, header: _Slice) -> tuple[_Chunks, int]:
    """Find where each chunk's parts lie, and the position behind the slice.

    This loop is the cost of decoding: it follows one chunk after the other and looks at nothing but lengths.
    """
    return _walk_weights(bits, position, header) if header.runs < 0 else _walk_both(bits, position, header)


def _walk_weights(bits: BitString, position: int, header: _Slice) -> tuple[_Chunks, int]:
    """Weights without runs: the loop finds the starts of chunks, from which the rest follows."""
    words, end, ones, masks, width = bits.words, bits.bits, _ONES, _MASKS, header.remainder
    truncated, left, pending = header.truncated, header.length, 0
    starts: list[int] = []
    start_at = starts.append
    while left > 0:
        if position > end:
            raise _cut(bits)
        start_at(position)
        high = ones[words[position >> 3] >> (position & 7) & 0xFFF]
        position += _SYMBOLS
        # The remainders of a chunk lie in the one behind it.
        rest = pending * width + high
        pending = _SYMBOLS
        if not truncated:
            pending -= ones[words[position >> 3] >> (position & 7) & masks[high]]
        position += rest
        left -= pending
    unary = np.asarray(starts, np.int64)
    second = unary + _SYMBOLS
    behind = second + _ONES_ARRAY[bits.fields(unary, _SYMBOLS)]
    remainders = np.append(behind[1:], position)
    position += (pending + left) * width
    if position > end:
        raise _cut(bits)
    return _Chunks(unary, second, remainders, _NOWHERE, _NOWHERE), position


def _walk_both(bits: BitString, position: int, header: _Slice) -> tuple[_Chunks, int]:
    """Weights and runs, where each waits for the other when it is ahead."""
    words, end, ones = bits.words, bits.bits, _ONES
    found_at: tuple[list[int], ...] = ([], [], [], [], [])
    unary_at, second_at, rest_at, run_at, run_rest_at = (places.append for places in found_at)
    width, run_width, coded, truncated = header.remainder, header.runs, not header.uncompressed, header.truncated
    length, run_count = header.length, header.length + header.new_palette
    run_bits = _run_bits(header)
    run_mask = _MASKS[run_bits]
    symbols = _symbol_count(header)
    weights = runs = 0
    # Weights and runs of the chunk before, whose remainders come next; -1 when it had none.
    pending = run_pending = -1
    while True:
        ahead = weights - runs
        take = ahead < _AHEAD and weights < length
        take_runs = ahead >= 0 and runs < run_count
        high = 0
        if take:
            unary_at(position)
            if coded:
                high = ones[words[position >> 3] >> (position & 7) & 0xFFF]
                position += _SYMBOLS
        run_found = -1
        if take_runs:
            run_at(position)
            run_found = run_bits - ones[words[position >> 3] >> (position & 7) & run_mask]
            position += run_bits
        found = -1
        if take:
            second_at(position)
            found = symbols
            if not truncated:
                found -= ones[words[position >> 3] >> (position & 7) & _MASKS[high]]
            position += high
        if pending >= 0:
            rest_at(position)
            position += pending * width
        if run_pending >= 0:
            run_rest_at(position)
            position += run_pending * run_width
        if position > end:
            raise _cut(bits)
        if found < 0 and run_found < 0:
            return _Chunks(*(np.asarray(places, np.int64) for places in found_at)), position
        # Symbols beyond the slice's count have no remainders.
        pending, run_pending = found, run_found
        if found >= 0:
            weights += found
            if weights > length:
                pending -= weights - length
        if run_found >= 0:
            runs += run_found
            if runs > run_count:
                run_pending -= runs - run_count


def _symbol_count(header: _Slice) -> int:
    return 8 if header.uncompressed and header.remainder > 5 else _SYMBOLS


def _run_bits(header: _Slice) -> int:
    return 12 if header.runs < 3 else 8


def _symbols(bits: BitString, chunks: _Chunks, header: _Slice) -> Ints:
    """The coded value of each weight of a slice, int64 ``[length]``."""
    count = _symbol_count(header)
    if header.uncompressed:
        code = np.zeros((chunks.unary.size, count), np.int16)
    else:
        code = _places(bits, chunks.unary, count)
        # Each 1 takes the next bit of the second word.
        before = np.cumsum(code, axis=1, dtype=np.int16) - code
        code += bits.fields(chunks.second, _SYMBOLS).astype(np.int16)[:, None] >> before & code
    ends = np.ones_like(code, bool) if header.truncated else code < 2
    return _golomb(bits, code, ends, chunks.remainders, header.remainder, header.length)


def _runs(bits: BitString, chunks: _Chunks, header: _Slice) -> Ints:
    """The length of each zero run of a slice, int64."""
    unary = _places(bits, chunks.run_unary, _run_bits(header))
    count = header.length + header.new_palette
    return _golomb(bits, unary, unary == 0, chunks.run_remainders, header.runs, count)


def _places(bits: BitString, positions: Ints, width: int) -> Array:
    """The bits of fields of at most 12 bits at ``positions`` [n], one by one, int16 ``[n, width]``."""
    places: Array = bits.fields(positions, width).astype(np.int16)[:, None] >> np.arange(width, dtype=np.int16) & 1
    return places


def _golomb(bits: BitString, code: Array, ends: Array, remainders: Ints, width: int, count: int) -> Ints:
    """Quotients (sums of ``code`` up to each end) with their remainders of ``width`` bits.

    Shapes: ``code`` and ``ends`` ``[chunks, symbols]``, ``remainders`` ``[chunks]``; the result ``[count]``.
    """
    where = np.flatnonzero(ends)[:count]
    if where.size < count:
        raise NpuError("weights", "a slice of the weight stream ends inside a symbol")
    quotient: Ints = np.cumsum(code, dtype=np.int64)[where]
    quotient[1:] -= quotient[:-1].copy()
    if not width:
        return quotient
    chunk = where // code.shape[1]
    # Of a chunk's remainders the first belongs to the first symbol that ends in it.
    first = np.searchsorted(chunk, np.arange(code.shape[0]))
    quotient <<= width
    quotient += bits.fields((remainders - first * width)[chunk] + np.arange(count) * width, width)
    return quotient


def _weights(values: Ints, palette: _Palette) -> Array:
    """Coded values to signed weights: a palette index or a direct value; the lowest bit is the sign."""
    if values.max(initial=0) >= 512:
        raise NpuError("weights", f"the weight stream holds the value {int(values.max())}, beyond nine bits")
    size = palette.values.size
    coded = np.arange(512) - size + palette.offset
    coded[:size] = palette.values
    signed = np.where(coded & 1, -(coded >> 1), coded >> 1).astype(np.int16)
    weights: Array = signed[values]
    return weights
