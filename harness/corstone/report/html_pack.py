"""What lies behind a case, packed into a line of the page: JSON, a NUL, then all series as planes of float32 bytes.

A series is an array in the data and ``{"f32": [first, count]}`` in the JSON. Of all series together the first bytes of
each number come first, then the second ones and so on, which packs better than number by number; NaN stands for what
cannot be drawn. The whole is deflated and in base64, which holds nothing that could end its element. ``page.js`` undoes
it; writing decimals and reading them again took most of the time of a report.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_LARGEST = float(np.finfo(np.float32).max)
LEVEL = 4


def pack(data: dict[str, Any]) -> str:
    """One line, without its end; ``data`` may hold arrays of numbers, [N], beside what JSON has."""
    series: list[npt.NDArray[Any]] = []
    at = 0

    def kept(value: object) -> dict[str, list[int]]:
        nonlocal at
        if not isinstance(value, np.ndarray):
            raise TypeError(f"{type(value).__name__} cannot be packed")
        series.append(value)
        at += value.size
        return {"f32": [at - value.size, value.size]}

    text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=kept).encode()
    packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = packer.compress(text + b"\0" + _planes(series)) + packer.flush()
    return base64.b64encode(packed).decode()


def _planes(series: list[npt.NDArray[Any]]) -> bytes:
    if not series:
        return b""
    values = np.concatenate(series).astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    # A difference may be larger than a float32 can be; it is drawn as the largest.
    floats = np.clip(values, -_LARGEST, _LARGEST).astype("<f4")
    return bytes(floats.view(np.uint8).reshape(-1, 4).T.tobytes())


def unpack(line: str) -> dict[str, Any]:
    """The data again, as the page sees it: series as lists, None where there is nothing to draw."""
    text, _, planes = zlib.decompress(base64.b64decode(line), -zlib.MAX_WBITS).partition(b"\0")
    floats = np.frombuffer(np.frombuffer(planes, np.uint8).reshape(4, -1).T.tobytes(), "<f4")

    def revived(found: dict[str, Any]) -> Any:
        if list(found) != ["f32"]:
            return found
        first, count = found["f32"]
        return [float(v) if np.isfinite(v) else None for v in floats[first : first + count]]

    data: dict[str, Any] = json.loads(text, object_hook=revived)
    return data
